"""Which table a quick seat takes, and what stakes can be asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cardroom.lobby.domain.rooms import Wanted, checked_wanted, liveliest_first, rooms_for, wanted_of
from tests.unit.lobby.lines import TEN_TWENTY, room, stakes


def names(rooms: list[object]) -> str:
    return "".join(one.table_id for one in rooms)  # type: ignore[attr-defined]


def test_the_fullest_table_comes_first_so_that_games_stay_alive() -> None:
    assert names([*liveliest_first([room("A", kept="a"), room("B", kept="bcde"), room("C", kept="fg")])]) == "BCA"


def test_players_at_the_table_count_not_seats_that_are_left() -> None:
    assert names([*liveliest_first([room("A", seats=6), room("B", kept="ab", seats=9)])]) == "BA"


def test_of_equals_it_is_the_one_with_the_fewest_seats_then_the_oldest() -> None:
    rooms = [room("A", kept="ab", seats=9), room("B", kept="cd"), room("C", kept="ef", age=3), room("D", kept="gh")]
    assert names([*liveliest_first(rooms)]) == "CBDA"


def test_a_quick_seat_leaves_full_tables_and_those_of_other_buy_ins_out() -> None:
    dear = room("B", kept="g", stakes=replace(stakes(), min_buy_in=1600))
    rooms = [room("A", kept="abcdef"), dear, room("C")]
    assert names([*rooms_for("n", 1000, rooms)]) == "C"
    assert names([*rooms_for("n", 1600, rooms)]) == "BC"


def test_a_seat_that_is_kept_for_the_player_comes_before_everything() -> None:
    rooms = [room("A", kept="abcde"), room("B", kept="ghijkn")]
    assert names([*rooms_for("n", 1000, rooms)]) == "BA"
    assert names([*rooms_for("m", 1000, rooms)]) == "A"


def test_stakes_fit_by_game_blinds_ante_and_seats_where_they_are_named() -> None:
    assert TEN_TWENTY.fits(stakes(6))
    assert TEN_TWENTY.fits(stakes(9))
    assert replace(TEN_TWENTY, seats=9).fits(stakes(9))
    assert not replace(TEN_TWENTY, seats=9).fits(stakes(6))
    assert not TEN_TWENTY.fits(stakes(ante=5))
    assert not TEN_TWENTY.fits(stakes(blind=5))
    assert wanted_of(stakes(9, ante=5)) == Wanted(1, 10, 20, 5, 9)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (Wanted(2, 10, 20), "game 2"),
        (Wanted(1, 0, 0), "small blind of 0"),
        (Wanted(1, 10, 25), "big blind of 25"),
        (Wanted(1, 10, 20, 21), "ante of 21"),
        (Wanted(1, 10, 20, 0, 10), "10 seats"),
        (Wanted(1, 10, 20, 0, 1), "1 seats"),
    ],
)
def test_stakes_that_no_table_can_have_are_refused_with_what_would_be_right(wanted: Wanted, says: str) -> None:
    no = checked_wanted(wanted, frozenset({1}))
    assert no is not None
    assert (no.code, no.reason) == ("INVALID_ARGUMENT", "INVALID_STAKES")
    assert says in no.message


def test_stakes_are_shown_as_players_say_them() -> None:
    assert Wanted(1, 10, 20).shown == "10/20"
    assert Wanted(1, 10, 20, 5, 6).shown == "10/20 with an ante of 5 and 6 seats"
