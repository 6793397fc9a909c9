"""A hand that cannot be completed is void (rule 14.4): every chip goes back, and all is as if it had not been dealt."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.salvage import salvage
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import ToppedUp
from cardroom.table.domain.view import public_view
from cardroom.table.records import pack_table, unpack_table
from tests.unit.table.driver import CALL, FOLD, RAISE, Driver, only, player_id, rigged, told
from tests.unit.table.play import calm_action
from tests.unit.table.test_replay import entries


def in_the_middle() -> Driver:
    """Three players, hand 2, some chips in the pot, a flop on the board."""
    table = Driver(1000, 1000, 1000)
    table.deal()
    table.fold_out()
    table.deal()
    table.act(RAISE, 60)
    table.act(CALL)
    table.act(CALL)
    table.act(RAISE, 100)
    return table


def test_14_4_every_chip_put_in_goes_back() -> None:
    table = in_the_middle()
    before = {number: seat.stack for number, seat in table.state.seats.items()}
    decision = table.do(do.VoidHand())
    assert {number: seat.stack for number, seat in table.state.seats.items()} == before
    assert decision.settlement is not None
    assert [(one.player_id, one.delta) for one in decision.settlement.deltas] == [(player_id(n), 0) for n in (1, 2, 3)]
    assert decision.settlement.hand_number == 2


def test_14_4_everyone_is_told_that_the_hand_is_void() -> None:
    table = in_the_middle()
    ended = only(table.do(do.VoidHand()), "hand_ended")
    assert (ended.is_void, ended.had_showdown, ended.pot_total) == (True, False, 0)
    hand = public_view(table.state).hand
    assert (hand.hand_number, hand.is_void, hand.is_over) == (2, True, True)
    assert not hand.board
    assert not hand.pots


def test_14_4_the_same_player_pays_the_big_blind_of_the_next_hand() -> None:
    table = in_the_middle()
    was = public_view(table.state).hand
    table.do(do.VoidHand())
    again = only(table.deal(), "hand_started")
    assert again.hand_number == 3
    assert (again.button_seat, again.small_blind_seat, again.big_blind_seat) == (
        was.button_seat,
        was.small_blind_seat,
        was.big_blind_seat,
    )


def test_14_4_who_waited_for_the_big_blind_waits_for_it_again() -> None:
    table = Driver(1000, 1000, 1000)
    table.deal()
    table.seat(4, 1000)
    table.fold_out()
    table.deal()  # the big blind is on seat 4
    status = only(table.do(do.VoidHand()), "seat_status_changed")
    assert (status.seat, status.status) == (4, view.SEAT_STATUS_WAITING_FOR_BIG_BLIND)
    assert only(table.deal(), "hand_started").big_blind_seat == 4


def test_14_4_who_sat_down_on_a_left_seat_meanwhile_is_new_there() -> None:
    table = Driver(1000, 1000, 1000, 1000)
    table.deal()
    table.fold_out()
    table.do(do.SitOut(player_id(1)))
    table.deal()
    table.leave(1)
    table.seat(1, 500, player=9)
    table.do(do.VoidHand())
    assert table.state.status_of(table.at(1)) == view.SEAT_STATUS_WAITING_FOR_BIG_BLIND


def test_14_4_then_the_leaving_leave_and_top_ups_come() -> None:
    table = in_the_middle()
    table.top_up(1, 300, "one")
    table.leave(2)
    decision = table.do(do.VoidHand())
    assert [(ended.final_stack, ended.last_hand_number) for ended in decision.ended] == [(990, 2)]
    assert decision.topped_up == (ToppedUp("one", 300),)
    assert told(decision) == ["hand_ended", "stack_changed", "player_left", "next_deal_scheduled"]
    assert table.state.next_deal_ms == table.now + 2000


def test_14_4_a_repeated_action_of_a_void_hand_still_gets_its_answer() -> None:
    table = Driver(1000, 1000)
    table.deal()
    act = do.Act(table.turn.player_id, table.turn.token, CALL, 0)
    answer = table.do(act).answer
    table.do(do.VoidHand())
    assert table.do(act).answer == answer


def test_without_a_hand_there_is_none_to_be_void() -> None:
    decision = Driver(1000, 1000).do(do.VoidHand())
    assert decision.answer is True
    assert not decision.changes


def salvaged(table: Driver, snapshot: bytes, since: int) -> TableState:
    state = salvage(unpack_table(snapshot), entries(table, since))
    assert state is not None
    return state


def test_14_4_a_table_is_salvaged_from_its_log_without_the_cards() -> None:
    table = Driver(1000, 1000, 1000, 500)
    snapshot, since = pack_table(table.state), table.state.version
    table.deal()
    table.do(do.SetTimeBank(player_id(1), 9_000, 3))
    table.time_out()
    table.top_up(2, 300)
    table.seat(5, 700)
    table.do(do.SitOut(player_id(3)))
    table.do(do.SetConnected(player_id(3), False))
    table.act(CALL)
    table.leave(3)
    table.do(do.TakeOver())
    table.leave(5)
    table.seat(5, 800, player=8)
    broken = salvaged(table, snapshot, since)
    assert broken.version == table.state.version
    assert broken.seats == table.state.seats
    assert broken.timing_generation >= table.state.timing_generation
    table.state = broken
    decision = table.do(do.VoidHand())
    assert table.at(1).stack == 1000
    assert table.at(2).stack == 1300
    assert 3 not in table.state.seats
    assert table.state.chips() == 1000 + 1300 + 500 + 800
    assert decision.changes


def test_14_4_timeouts_that_sat_a_player_out_are_salvaged() -> None:
    table = Driver(1000, 1000, 1000)
    snapshot, since = pack_table(table.state), table.state.version
    table.deal()
    table.act(CALL)
    table.act(CALL)
    table.time_out()
    table.time_out()
    table.time_out()
    assert table.at(2).timeouts or table.at(3).timeouts
    assert salvaged(table, snapshot, since).seats == {
        number: replace(seat, is_played_at_once=False) for number, seat in table.state.seats.items()
    }


def test_14_4_everyone_who_waits_again_after_a_salvaged_hand_is_told() -> None:
    table = Driver(1000, 1000, 1000)
    table.deal()
    table.seat(4, 1000)
    table.fold_out()
    snapshot, since = pack_table(table.state), table.state.version
    table.deal()  # the big blind is on seat 4
    table.state = salvaged(table, snapshot, since)
    status = only(table.do(do.VoidHand()), "seat_status_changed")
    assert (status.seat, status.status) == (4, view.SEAT_STATUS_WAITING_FOR_BIG_BLIND)


def test_a_table_between_hands_has_no_hand_to_salvage() -> None:
    table = Driver(1000, 1000)
    assert salvage(unpack_table(pack_table(table.state)), []) is None


@pytest.mark.parametrize("seed", range(5))
def test_14_4_void_hands_change_nothing_whenever_they_come(seed: int) -> None:
    chance = random.Random(seed)
    table = Driver(1000, 400, 1000)
    for _ in range(10):
        table.deal(rigged("", chance.randrange(100)))
        for _ in range(chance.randrange(12)):
            if table.state.hand is not None:
                table.act(*calm_action(table.turn.view.legal, chance))
        before = {number: seat.stack for number, seat in table.state.seats.items()}
        table.do(do.VoidHand())
        assert {number: seat.stack for number, seat in table.state.seats.items()} == before
        table.deal()
        table.act(FOLD)
        while table.state.hand is not None:
            table.act(*calm_action(table.turn.view.legal, chance))
        assert table.state.chips() == 2400
