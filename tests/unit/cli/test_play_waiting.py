"""What a person who waits is told."""

from __future__ import annotations

import pytest

from cardroom.cli.play.waiting import in_steps, sentences, stakes_in_words
from cardroom.client import wanted_stakes
from cardroom.contracts.lobby.v1 import waiting_pb2 as pb
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.contracts.table.v1.view_pb2 import Stakes

TABLES = {"t": Table(table_id="t", name="Amber", stakes=Stakes(min_buy_in=800, max_buy_in=2000, seats=6))}


def told(*entries: pb.WaitingEntry, available: int = 10_000, left: float = 60.0) -> list[str]:
    return sentences(entries, TABLES, available, lambda _: left)


def in_line(position: int, **where: object) -> pb.WaitingEntry:
    return pb.WaitingEntry(state=pb.WAITING_STATE_WAITING, position=position, **where)  # type: ignore[arg-type]


def test_a_place_in_each_line() -> None:
    stakes = wanted_stakes(1000, 2000, seats=6)
    assert told(in_line(3, table_id="t"), in_line(1, stakes=stakes)) == [
        "You are number 3 in line for Amber.",
        "You are number 1 in line for any table at 1,000/2,000 with 6 seats.",
        "q leaves the line.",
    ]


def test_a_kept_seat_with_what_is_left_and_what_to_type() -> None:
    kept = pb.WaitingEntry(table_id="t", state=pb.WAITING_STATE_SEAT_RESERVED)
    kept.reserved.CopyFrom(pb.ReservedSeat(table_id="t", seat=4))
    assert told(kept, left=41.2) == [
        "Seat 4 of Amber is kept for you for 42 s.",
        "How many chips do you bring, 800 to 2,000? [2,000] (q gives it up)",
    ]
    assert "800 to 950? [950]" in told(kept, available=950)[1]


def test_a_seat_that_is_being_taken() -> None:
    taking = pb.WaitingEntry(table_id="t", state=pb.WAITING_STATE_SITTING_DOWN)
    taking.reserved.CopyFrom(pb.ReservedSeat(table_id="t", seat=4))
    assert told(taking)[0] == "Seat 4 of Amber is yours; the chips are on their way."


@pytest.mark.parametrize(("seconds", "shown"), [(60, 60), (59, 60), (30, 30), (29.5, 30), (15, 15), (3, 5), (90, 90)])
def test_lines_of_text_tell_the_time_in_steps(seconds: float, shown: float) -> None:
    assert in_steps(seconds) == shown


def test_stakes_as_people_say_them() -> None:
    assert stakes_in_words(wanted_stakes(10, 20)) == "10/20"
