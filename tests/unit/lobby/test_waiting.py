"""Who is next in line, for how long a seat is kept, what ends a wait, and who may take a seat meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.rooms import Room
from cardroom.lobby.domain.waiting import (
    KEPT_FOR,
    WAIT_MAX,
    Ended,
    Entry,
    Facts,
    Stay,
    looked_at,
    next_reservations,
    places,
    seat_to_take,
)
from tests.unit.lobby.lines import NOW, at_table, for_stakes, kept, room

UNTIL = NOW + KEPT_FOR


def served(line: list[Entry], *rooms: Room) -> dict[str, tuple[str, int]]:
    """Who gets which seat of which table."""
    found = next_reservations(line, rooms, UNTIL)
    return {one.player_id: (one.reservation.table_id, one.reservation.seat) for one in found if one.reservation}


# Who is next


def test_who_joined_first_gets_the_seat_whichever_list_it_was() -> None:
    assert served([at_table(1, "p"), for_stakes(2, "q")], room(kept="abcde")) == {"p": ("A", 6)}
    assert served([at_table(2, "p"), for_stakes(1, "q")], room(kept="abcde")) == {"q": ("A", 6)}


def test_as_many_get_a_seat_as_there_are() -> None:
    line = [at_table(number, player) for number, player in enumerate("pqrs", 1)]
    assert served(line, room(kept="a.c.ef")) == {"p": ("A", 2), "q": ("A", 4)}


def test_a_list_of_another_table_or_of_other_stakes_gets_nothing_here() -> None:
    other = replace(for_stakes(2, "q"), wanted=replace(for_stakes(2, "q").wanted, ante=5))
    assert served([at_table(1, "p", "B"), other, for_stakes(3, "r", seats=9)], room()) == {}


def test_for_stakes_it_is_the_liveliest_table_and_seats_given_count() -> None:
    line = [for_stakes(1, "p"), for_stakes(2, "q"), for_stakes(3, "r")]
    assert served(line, room("A", kept="ab"), room("B", kept="cdef")) == {"p": ("B", 5), "q": ("B", 6), "r": ("A", 3)}


def test_nobody_is_kept_two_seats() -> None:
    assert served([at_table(1, "p"), for_stakes(2, "p")], room(), room("B")) == {"p": ("A", 1)}
    assert served([kept(at_table(1, "p", "B"), "B"), for_stakes(2, "p")], room()) == {}


def test_who_is_taking_a_seat_is_passed_over() -> None:
    assert served([replace(at_table(1, "p"), seating_id="s"), at_table(2, "q")], room(kept="abcde")) == {"q": ("A", 6)}


lines = st.lists(
    st.builds(
        lambda player, table, seats: (player, table, seats),
        st.sampled_from("pqrstu"),
        st.sampled_from(["A", "B", "", ""]),
        st.sampled_from([0, 2, 3]),
    ),
    max_size=12,
)


@given(lines, st.integers(0, 2), st.integers(0, 3))
def test_nobody_with_a_fitting_seat_left_goes_without_and_nobody_is_overtaken(
    wishes: list[tuple[str, str, int]], taken_a: int, taken_b: int
) -> None:
    rooms = [room("A", kept="xy"[:taken_a], seats=2), room("B", kept="vwz"[:taken_b], seats=3)]
    sizes = {"A": 2, "B": 3}
    line = [
        at_table(number, player, table, sizes[table]) if table else for_stakes(number, player, seats)
        for number, (player, table, seats) in enumerate(wishes, 1)
    ]
    found = served(line, *rooms)
    assert len(set(found.values())) == len(found)
    free = {(one.table_id, seat) for one in rooms for seat in one.free_seats}
    assert set(found.values()) <= free
    left = free - set(found.values())
    for entry in line:
        if entry.player_id not in found:
            fitting = [one for one in rooms if entry.wants(one.table_id, one.stakes)]
            assert not [one for one in fitting if any(table == one.table_id for table, _ in left)]
            # Whoever has one of those seats was there before.
            for player, (table_id, _) in found.items():
                if table_id in {one.table_id for one in fitting}:
                    assert min(e.number for e in line if e.player_id == player) < entry.number


# What becomes of an entry


def test_a_kept_seat_lapses_after_60_s_and_not_before() -> None:
    assert timedelta(seconds=60) == KEPT_FOR
    entry = kept(at_table(1, "p"))
    assert looked_at(entry, Facts(), UNTIL - timedelta(microseconds=1)) == entry
    assert looked_at(entry, Facts(), UNTIL).ended is Ended.LAPSED


def test_sitting_down_rests_the_entry_then_ends_it() -> None:
    entry = kept(at_table(1, "p"))
    resting = looked_at(entry, Facts(Stay.BEGUN, "s", sits_on_the_kept_seat=True), UNTIL)
    assert (resting.seating_id, resting.reservation, resting.ended) == ("s", entry.reservation, None)
    assert looked_at(resting, Facts(Stay.SAT, "s", sits_on_the_kept_seat=True), UNTIL).ended is Ended.SEATED


def test_10_5_a_seat_elsewhere_gives_up_the_one_that_is_kept() -> None:
    resting = looked_at(kept(at_table(1, "p")), Facts(Stay.BEGUN, "s"), NOW)
    assert (resting.seating_id, resting.reservation) == ("s", None)


def test_a_seating_that_fails_leaves_what_was_left_of_the_60_s() -> None:
    resting = replace(kept(at_table(1, "p")), seating_id="s")
    facts = Facts(Stay.REFUSED, "s", sits_on_the_kept_seat=True)
    assert looked_at(resting, facts, UNTIL - timedelta(seconds=1)) == kept(at_table(1, "p"))
    assert looked_at(resting, facts, UNTIL).ended is Ended.LAPSED
    assert looked_at(replace(for_stakes(1, "p"), seating_id="s"), facts, NOW) == for_stakes(1, "p")


def test_a_tables_list_ends_with_the_table_and_a_list_of_stakes_does_not() -> None:
    assert looked_at(at_table(1, "p"), Facts(list_is_closed=True), NOW).ended is Ended.TABLE_CLOSED
    back = looked_at(kept(for_stakes(1, "p")), Facts(kept_seats_table_is_open=False), NOW)
    assert back == for_stakes(1, "p")


def test_a_wait_ends_after_12_hours_unless_a_seat_is_kept_by_then() -> None:
    late = NOW + WAIT_MAX + timedelta(seconds=1)
    assert looked_at(for_stakes(1, "p"), Facts(), NOW + WAIT_MAX) == for_stakes(1, "p")
    assert looked_at(for_stakes(1, "p"), Facts(), late).ended is Ended.EXPIRED
    entry = kept(for_stakes(1, "p"), seconds=WAIT_MAX.total_seconds() + 30)
    assert looked_at(entry, Facts(), late) == entry


def test_what_is_over_stays_over() -> None:
    over = replace(kept(at_table(1, "p")), ended=Ended.LEFT)
    assert looked_at(over, Facts(Stay.SAT, "s"), UNTIL) == over


# Who may take a seat


def test_with_nobody_in_line_any_free_seat_is_anybodys() -> None:
    assert seat_to_take(0, "n", room(kept="a.c"), []) == 2
    assert seat_to_take(5, "n", room(kept="a.c"), []) == 5


@pytest.mark.parametrize(("asked", "reason"), [(0, "TABLE_FULL"), (3, "TABLE_FULL")])
def test_a_full_table_is_full_kept_seats_included(asked: int, reason: str) -> None:
    no = seat_to_take(asked, "n", room(kept="abcdep"), [])
    assert isinstance(no, Refusal)
    assert no.reason == reason
    assert "waiting list" in no.message


def test_a_seat_that_is_kept_for_another_is_taken() -> None:
    no = seat_to_take(6, "n", room(kept="abcd.p"), [])
    assert isinstance(no, Refusal)
    assert no.reason == "SEAT_TAKEN"


def test_the_player_for_whom_it_is_kept_takes_it_also_when_others_wait() -> None:
    line = [at_table(2, "q"), for_stakes(3, "r")]
    assert seat_to_take(0, "p", room(kept="abcdep"), line) == 6
    assert seat_to_take(6, "p", room(kept="abcdep"), line) == 6


def test_a_newcomer_does_not_jump_the_line_but_takes_what_it_leaves() -> None:
    line = [at_table(1, "p"), for_stakes(2, "p"), for_stakes(3, "q")]
    assert seat_to_take(0, "n", room(kept="abcd"), line) is None
    assert seat_to_take(0, "n", room(kept="abc"), line) == 4


def test_who_is_in_line_has_only_those_before_them_in_front() -> None:
    line = [at_table(1, "p"), at_table(2, "q")]
    assert seat_to_take(0, "p", room(kept="abcde"), line) == 6
    assert seat_to_take(0, "q", room(kept="abcde"), line) is None


# Places


def test_a_place_counts_the_players_before_on_every_list_that_competes() -> None:
    line = [for_stakes(1, "p"), at_table(2, "q"), for_stakes(3, "r", 6), for_stakes(4, "s", 9), at_table(5, "t")]
    assert places(line) == {"e1": 1, "e2": 2, "e3": 2, "e4": 2, "e5": 4}


def test_a_place_counts_players_not_entries_and_never_oneself() -> None:
    line = [for_stakes(1, "p"), at_table(2, "p"), at_table(3, "q")]
    assert places(line) == {"e1": 1, "e2": 1, "e3": 2}


def test_who_has_a_seat_in_prospect_is_in_nobodys_way_and_has_no_place() -> None:
    line = [kept(at_table(1, "p")), for_stakes(2, "p"), replace(at_table(3, "q"), seating_id="s"), at_table(4, "r")]
    assert places(line) == {"e2": 1, "e4": 1}


def test_another_tables_list_is_another_line() -> None:
    assert places([at_table(1, "p", "B"), at_table(2, "q"), for_stakes(3, "r")]) == {"e1": 1, "e2": 1, "e3": 1}


@given(lines)
def test_the_first_place_at_a_table_is_the_one_that_its_next_seat_goes_to(wishes: list[tuple[str, str, int]]) -> None:
    # One entry per player and list, as everywhere.
    once = list(dict.fromkeys((player, table, 0 if table else seats) for player, table, seats in wishes))
    line = [
        at_table(number, player, table, 3) if table else for_stakes(number, player, seats)
        for number, (player, table, seats) in enumerate(once, 1)
    ]
    place = places(line)
    for table_id in ("A", "B"):
        first = next(iter(served(line, room(table_id, kept="xy", seats=3))), None)
        at_this_table = [entry for entry in line if entry.table_id == table_id]
        for entry in at_this_table:
            assert (place[entry.entry_id] == 1) == (entry.player_id == first)
