"""Dealing a hand, ending it, and what comes of it: settlement, stacks, pauses, decks."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.decide import decide
from cardroom.table.domain.errors import InvariantBroken
from tests.unit.table.driver import CALL, CHECK, FOLD, RAISE, SEAT_2_WINS, Driver, only, player_id, rigged, told


def test_a_deal_tells_who_is_in_and_gives_each_player_their_own_cards() -> None:
    table = Driver(1000, 1000)
    decision = table.deal(SEAT_2_WINS)
    assert told(decision) == [
        "hand_started",
        "posted",
        "posted",
        "hole_cards_dealt",
        "hole_cards_dealt",
        "turn_started",
    ]
    assert {player: own.cards for player, own in decision.own_cards.items()} == {
        player_id(2): "AhAd",
        player_id(1): "7c2d",
    }
    assert decision.deck is SEAT_2_WINS
    assert table.state.own_cards(player_id(2)).cards == "AhAd"
    assert table.state.own_cards(player_id(9)).cards == ""


def test_3_1_the_first_button_is_where_the_draw_says() -> None:
    seats = set()
    for draw in range(3):
        table = Driver(1000, 1000, 1000)
        seats.add(only(table.deal(button_draw=draw), "hand_started").button_seat)
    assert seats == {1, 2, 3}


def test_2_5_a_deal_that_is_not_due_is_stale() -> None:
    table = Driver(1000, 1000)
    generation = table.state.timing_generation
    assert decide(table.state, do.DealHand(generation + 1, 0), table.now, rigged("")).answer is True
    table.deal()
    assert table.do(do.DealHand(generation, 0), rigged("")).answer is True


def test_a_deal_without_a_deck_stops_the_table() -> None:
    table = Driver(1000, 1000)
    with pytest.raises(InvariantBroken):
        table.do(do.DealHand(table.state.timing_generation, 0))


def test_8_4_everyone_folds_and_no_card_is_shown() -> None:
    table = Driver(1000, 1000)
    table.deal()
    decision = table.act(FOLD)
    assert told(decision) == ["action_taken", "uncalled_returned", "pot_awarded", "hand_ended", "next_deal_scheduled"]
    ended = only(decision, "hand_ended")
    assert [(one.seat, one.stack, one.delta) for one in ended.outcomes] == [(1, 990, -10), (2, 1010, 10)]
    assert (ended.had_showdown, ended.pot_total) == (False, 20)


def test_2_5_the_next_hand_comes_2_s_after_a_fold_and_5_s_after_a_showdown() -> None:
    table = Driver(1000, 1000)
    table.deal()
    assert only(table.act(FOLD), "next_deal_scheduled").at.ToMilliseconds() == table.now + 2000
    table.deal()
    table.act(CALL)
    while table.state.hand is not None:
        last = table.act(CHECK)
    assert only(last, "hand_ended").had_showdown
    assert only(last, "next_deal_scheduled").at.ToMilliseconds() == table.now + 5000


def test_a_hand_is_settled_once_with_deltas_that_sum_to_zero() -> None:
    table = Driver(1000, 500)
    table.deal(SEAT_2_WINS)
    table.act(RAISE, 1000)
    settlement = table.act(CALL).settlement
    assert settlement is not None
    assert (settlement.hand_number, settlement.currency) == (1, "PLAY")
    assert {one.player_id: (one.delta, one.stack) for one in settlement.deltas} == {
        player_id(1): (-500, 500),
        player_id(2): (500, 1000),
    }


def test_out_of_chips_means_sitting_out_and_no_next_deal() -> None:
    table = Driver(500, 500)
    table.deal(SEAT_2_WINS)
    table.act(RAISE, 500)
    decision = table.act(CALL)
    status = only(decision, "seat_status_changed")
    assert (status.seat, status.reason) == (1, view.STATUS_REASON_OUT_OF_CHIPS)
    assert "next_deal_scheduled" not in told(decision)
    assert decision.timing is not None
    assert decision.timing.WhichOneof("waiting_for") is None


def test_3_6_a_hand_that_the_blinds_decide_is_dealt_and_ended_by_one_command() -> None:
    table = Driver(10, 10)
    decision = table.deal(SEAT_2_WINS)
    assert decision.settlement is not None
    assert table.state.hand is None
    assert table.at(2).stack == 20


def test_hand_numbers_have_no_gaps_and_actions_count_from_one() -> None:
    table = Driver(1000, 1000, 1000)
    for number in (1, 2, 3):
        table.deal()
        assert (table.turn.token.hand_number, table.turn.token.action_number) == (number, 1)
        assert table.fold_out().settlement.hand_number == number  # type: ignore[union-attr]


def test_3_1_nobody_skips_the_big_blind_and_nobody_pays_it_twice_in_a_row() -> None:
    table = Driver(1000, 1000, 1000, 1000)
    blinds = []
    for _ in range(8):
        blinds.append(only(table.deal(), "hand_started").big_blind_seat)
        table.fold_out()
    assert blinds == [3, 4, 1, 2, 3, 4, 1, 2]


def test_the_same_arguments_give_the_same_decision() -> None:
    table = Driver(1000, 1000)
    command = do.DealHand(table.state.timing_generation, 1)
    one = decide(table.state, command, table.now, SEAT_2_WINS)
    two = decide(table.state, command, table.now, SEAT_2_WINS)
    assert one.events == two.events
    assert one.state.hand == two.state.hand


def test_a_refused_or_abandoned_decision_leaves_the_state_as_it_was() -> None:
    table = Driver(1000, 1000)
    table.deal()
    hand, version = table.state.hand, table.state.version
    copy = hand.copy() if hand is not None else None
    decide(table.state, do.Act(table.turn.player_id, table.turn.token, CALL, 0), table.now)
    assert table.state.hand == copy
    assert table.state.version == version
    assert not table.state.answered
