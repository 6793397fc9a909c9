"""Sitting out and coming back, asked again by a repeat that was held up on its way (10.1): it changes nothing."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.errors import Refused
from cardroom.table.records import pack_table, unpack_table
from tests.unit.table.driver import CALL, SEAT_2_WINS, Driver, player_id

PLAYING, OUT = view.SEAT_STATUS_PLAYING, view.SEAT_STATUS_SITTING_OUT


def sit_out(table: Driver) -> do.SitOut:
    """Player 1 asks to sit out, knowing the table as it is."""
    return do.SitOut(player_id(1), table.state.version)


def come_back(table: Driver) -> do.ComeBack:
    """Player 1 asks to play again, knowing the table as it is."""
    return do.ComeBack(player_id(1), table.state.version)


def changes_nothing(table: Driver, command: do.Command, status: view.SeatStatus.ValueType) -> bool:
    """Whether the command changes nothing, and is answered with this status."""
    decision = table.do(command)
    return (decision.changes, decision.answer.status, decision.answer.version) == (False, status, table.state.version)


def test_10_1_a_repeat_at_once_is_answered_like_the_first() -> None:
    table = Driver(500, 500)
    asked = sit_out(table)
    first = table.do(asked).answer
    assert changes_nothing(table, asked, OUT)
    assert (first.status, first.version) == (OUT, table.state.version)


def test_10_1_a_repeat_does_not_sit_out_who_has_come_back_since() -> None:
    table = Driver(500, 500)
    asked = sit_out(table)
    table.do(asked)
    table.do(come_back(table))
    assert changes_nothing(table, asked, PLAYING)
    assert table.do(sit_out(table)).changes, "asked anew it counts"


def test_10_1_a_repeat_does_not_bring_back_who_sits_out_again() -> None:
    table = Driver(500, 500)
    table.do(sit_out(table))
    asked = come_back(table)
    table.do(asked)
    table.do(sit_out(table))
    assert changes_nothing(table, asked, OUT)
    assert table.do(come_back(table)).changes


def test_10_1_a_repeat_does_not_bring_back_whom_the_table_has_sat_out_since() -> None:
    table = Driver(500, 500)
    table.deal()
    asked = come_back(table)
    assert changes_nothing(table, asked, PLAYING), "they played already"
    table.do(do.SetConnected(player_id(1), False))
    table.absent(1)
    assert changes_nothing(table, asked, OUT)


@pytest.mark.parametrize("seat", [1, 3], ids=["the same seat", "another seat"])
def test_10_1_a_repeat_of_an_earlier_stay_does_nothing_in_this_one(seat: int) -> None:
    table = Driver(500, 500)
    asked = sit_out(table)
    table.do(asked)
    back = come_back(table)
    table.do(back)
    table.leave(1)
    table.seat(seat, 500, player=1)
    assert changes_nothing(table, asked, PLAYING)
    table.do(sit_out(table))
    assert changes_nothing(table, back, OUT)


def test_10_1_what_the_player_had_not_seen_of_others_does_not_matter() -> None:
    table = Driver(500, 500, 500)
    asked = sit_out(table)
    table.deal()
    table.do(do.SitOut(player_id(2)))
    assert table.do(asked).answer.status == OUT


def test_10_1_who_goes_broke_while_asking_to_sit_out_stays_out_also_with_new_chips() -> None:
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    asked = sit_out(table)
    table.act(CALL)
    assert table.at(1).is_out_of_chips
    assert table.do(asked).changes
    table.top_up(1, 500)
    assert table.state.status_of(table.at(1)) == OUT
    table.do(come_back(table))
    assert changes_nothing(table, asked, PLAYING)


def test_10_1_new_chips_after_a_repeat_do_not_make_it_count() -> None:
    table = Driver(20, 500)
    asked = sit_out(table)
    table.do(asked)
    table.do(come_back(table))
    table.deal(SEAT_2_WINS)
    table.act(CALL)
    table.top_up(1, 500)
    assert changes_nothing(table, asked, PLAYING)


def test_10_1_a_new_owner_knows_a_repeat_too() -> None:
    table = Driver(500, 500)
    asked = sit_out(table)
    table.do(asked)
    table.do(come_back(table))
    table.state = unpack_table(pack_table(table.state))
    table.do(do.TakeOver())
    assert changes_nothing(table, asked, PLAYING)


def test_who_does_not_say_what_they_saw_is_obeyed_whenever_it_comes() -> None:
    table = Driver(500, 500)
    table.do(do.SitOut(player_id(1)))
    table.do(do.ComeBack(player_id(1)))
    assert table.do(do.SitOut(player_id(1))).answer.status == OUT


@pytest.mark.parametrize("ask", [do.SitOut, do.ComeBack])
@pytest.mark.parametrize("ahead", [-(2**63), -1_000, 1, 2**62])
def test_a_version_that_nobody_can_have_seen_is_refused(ask: type[do.SitOut | do.ComeBack], ahead: int) -> None:
    table = Driver(500, 500)
    seen = max(ahead + table.state.version, -(2**63))
    with pytest.raises(Refused, match=f"has not had version {seen}: send the last one") as refused:
        table.do(ask(player_id(1), seen))
    assert refused.value.reason == "VERSION_UNKNOWN"
