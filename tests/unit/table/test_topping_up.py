"""Topping up: between hands, up to the biggest buy-in (rule 10.4); buying back in (10.2)."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.errors import Refused
from cardroom.table.domain.step import ToppedUp
from tests.unit.table.driver import CALL, SEAT_2_WINS, Driver, only, player_id, told

MOST = 4000


def broke() -> Driver:
    """Seat 1 has just lost everything."""
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    table.act(CALL)
    assert table.at(1).stack == 0
    return table


def test_10_4_between_hands_the_chips_come_at_once() -> None:
    table = Driver(500, 500)
    decision = table.top_up(1, 300)
    assert decision.answer == ToppedUp("top-up", 300)
    assert decision.topped_up == (decision.answer,)
    assert (only(decision, "stack_changed").seat, only(decision, "stack_changed").stack) == (1, 800)


def test_10_4_during_a_hand_they_wait_for_its_end() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    waits = table.top_up(3, 300)
    assert waits.answer is None
    assert waits.changes
    assert not waits.events
    ended = table.fold_out()
    assert ended.topped_up == (ToppedUp("top-up", 300),)
    assert only(ended, "stack_changed").stack == table.at(3).stack
    assert table.state.chips() == 1800


def test_10_4_never_above_the_biggest_buy_in() -> None:
    table = Driver(MOST - 100, 500)
    assert table.top_up(1, 300).answer.added == 100
    assert table.at(1).stack == MOST


def test_10_4_who_has_more_than_the_biggest_buy_in_gets_none_and_loses_none() -> None:
    table = Driver(MOST, 500)
    decision = table.top_up(1, 300)
    assert decision.answer.added == 0
    assert told(decision) == []
    assert table.at(1).stack == MOST


def test_a_top_up_sent_twice_during_a_hand_counts_once() -> None:
    table = Driver(500, 500)
    table.deal()
    table.top_up(1, 300)
    again = table.top_up(1, 300)
    assert again.answer is None
    assert not again.changes
    table.fold_out()
    assert table.state.chips() == 1300


def test_one_top_up_at_a_time() -> None:
    table = Driver(500, 500)
    table.deal()
    table.top_up(1, 300)
    with pytest.raises(Refused) as refused:
        table.top_up(1, 300, "another")
    assert refused.value.reason == "TOP_UP_PENDING"


@pytest.mark.parametrize("amount", [0, -5, (1 << 50) + 1])
def test_an_amount_that_is_none_is_refused(amount: int) -> None:
    with pytest.raises(Refused) as refused:
        Driver(500).top_up(1, amount)
    assert refused.value.reason == "INVALID_STACK"
    assert "bring 1 to 4000 chips; what the stack is short of 4000 is added" in refused.value.message


def test_10_4_leaving_cancels_it() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    table.top_up(2, 300)
    table.leave(2)
    ended = table.fold_out()
    assert ended.topped_up == (ToppedUp("top-up", 0),)
    assert ended.ended[0].final_stack == 490


def test_10_4_nothing_is_added_for_who_is_leaving_or_has_left() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    leaving = table.turn.seat
    table.leave(leaving)
    assert table.top_up(leaving, 300).answer == ToppedUp("top-up", 0)
    late = table.do(do.TopUp("stay that is over", "late", 300))
    assert late.answer == ToppedUp("late", 0)
    assert late.changes


def test_10_2_who_lost_everything_buys_back_in_and_plays_again() -> None:
    table = broke()
    assert table.at(1).is_sitting_out
    assert table.at(1).out_since_ms == table.now
    decision = table.top_up(1, 300)
    assert told(decision) == ["stack_changed", "seat_status_changed", "next_deal_scheduled"]
    assert table.at(1).can_play
    assert table.at(1).out_since_ms == 0


def test_10_4_a_top_up_that_waited_keeps_a_player_who_lost_everything_in_the_game() -> None:
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    table.top_up(1, 300)
    ended = table.act(CALL)
    assert "seat_status_changed" not in told(ended)
    assert table.at(1).can_play
    assert table.at(1).stack == 300


def test_10_1_who_lost_everything_and_then_sits_out_by_choice_does_so_with_new_chips() -> None:
    table = broke()
    asked = table.do(do.SitOut(player_id(1)))
    assert only(asked, "seat_status_changed").reason == view.STATUS_REASON_PLAYER
    assert asked.answer.version == table.state.version
    assert not table.do(do.SitOut(player_id(1))).changes
    table.top_up(1, 300)
    assert table.state.status_of(table.at(1)) == view.SEAT_STATUS_SITTING_OUT


def test_10_1_who_sits_out_by_choice_still_does_after_buying_back_in() -> None:
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    table.do(do.SitOut(player_id(1)))
    table.act(CALL)
    table.top_up(1, 300)
    assert table.state.status_of(table.at(1)) == view.SEAT_STATUS_SITTING_OUT
    assert table.do(do.ComeBack(player_id(1))).answer.status == view.SEAT_STATUS_PLAYING
