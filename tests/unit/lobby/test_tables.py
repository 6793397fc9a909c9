"""Stakes, names, seats and rates of tables on offer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cardroom.lobby.domain.tables import (
    Offer,
    Stakes,
    Table,
    checked_buy_in,
    checked_name,
    checked_seat,
    checked_stakes,
    hands_per_hour,
)
from cardroom.lobby.errors import Refused

GAMES = frozenset({1})
SOUND = Stakes(game=1, small_blind=10, big_blind=20, ante=0, min_buy_in=800, max_buy_in=2000, seats=6)


def test_buy_in_limits_are_40_and_100_big_blinds_unless_said() -> None:
    filled = checked_stakes(replace(SOUND, min_buy_in=0, max_buy_in=0), GAMES)
    assert (filled.min_buy_in, filled.max_buy_in) == (800, 2000)
    assert checked_stakes(replace(SOUND, max_buy_in=5000), GAMES).max_buy_in == 5000


@pytest.mark.parametrize(
    "wrong",
    [
        {"game": 2},
        {"small_blind": 0, "big_blind": 0},
        {"small_blind": -10, "big_blind": -20},
        {"big_blind": 21},
        {"ante": -1},
        {"ante": 21},
        {"seats": 1},
        {"seats": 10},
        {"min_buy_in": 2001},
        {"min_buy_in": 19},
        {"max_buy_in": -5},
        {"max_buy_in": 2**62},
    ],
)
def test_unsound_stakes_are_refused_with_what_would_be_right(wrong: dict[str, int]) -> None:
    with pytest.raises(Refused) as raised:
        checked_stakes(replace(SOUND, **wrong), GAMES)
    assert raised.value.refusal.reason == "INVALID_STAKES"


@pytest.mark.parametrize("name", ["A", "Bronze 10/20", "x" * 40, "Café"])
def test_a_name_of_1_to_40_printable_characters_is_one(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\tb", "a ", "\u202eevil"])
def test_other_names_are_none(name: str) -> None:
    with pytest.raises(Refused):
        checked_name(name)


@pytest.mark.parametrize(("seat", "fine"), [(-1, False), (0, True), (1, True), (6, True), (7, False)])
def test_a_seat_is_one_of_the_tables_or_any(seat: int, fine: bool) -> None:
    assert (checked_seat(seat, SOUND) is None) is fine


@pytest.mark.parametrize(("chips", "fine"), [(799, False), (800, True), (2000, True), (2001, False), (0, False)])
def test_a_buy_in_is_within_the_limits(chips: int, fine: bool) -> None:
    assert (checked_buy_in(chips, SOUND) is None) is fine


@pytest.mark.parametrize(
    ("hands", "seconds", "rate"), [(0, 10, 0), (60, 3600, 60), (60, 99_999, 60), (30, 1800, 60), (2, 1, 120)]
)
def test_hands_per_hour_is_scaled_up_while_the_table_is_young(hands: int, seconds: float, rate: int) -> None:
    assert hands_per_hour(hands, seconds) == rate


def test_free_seats_are_those_that_nobody_has() -> None:
    assert Offer(Table("t", "r", "T", SOUND), taken_seats=(1, 4)).free_seats == (2, 3, 5, 6)


def test_how_the_hands_go_is_not_what_a_table_offers() -> None:
    offer = Offer(Table("t", "r", "T", SOUND), taken_seats=(1, 4))
    assert offer.offers_the_same_as(replace(offer, average_pot=7, hands_per_hour=60))
    assert not offer.offers_the_same_as(replace(offer, taken_seats=(1,)))
    assert not offer.offers_the_same_as(replace(offer, table=replace(offer.table, name="U")))


def test_how_often_a_tables_row_was_written_is_nothing_that_players_see() -> None:
    table = Table("t", "r", "T", SOUND)
    assert Offer(replace(table, revision=7, attempts=2)) == Offer(table)
