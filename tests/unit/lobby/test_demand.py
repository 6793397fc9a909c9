"""How many tables there should be at some stakes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.lobby.domain.demand import Demand, Situation, Standing, names_to_open, tables_to_close
from cardroom.lobby.domain.tables import TableState
from cardroom.lobby.settings import LobbySettings, StakesSettings
from tests.unit.lobby.offering import STAKES

DEMAND = Demand("Oak", STAKES, open_seats_min=2, tables_max=3)
PATIENCE = timedelta(minutes=5)
LONG = timedelta(hours=1)


def table(number: int, kept: int = 0, **changes: Any) -> Standing:
    """The lobby's table of that number, open and long without players where nobody sits."""
    name = "Oak" if number == 1 else f"Oak {number}"
    standing = Standing(f"t{number}", name, TableState.OPEN, 6, kept, 0, True, LONG)
    return replace(standing, **changes)


def opened(*tables: Standing, waiting: int = 0, demand: Demand = DEMAND) -> list[str]:
    return names_to_open(demand, Situation(tables, waiting))


def closed(*tables: Standing, waiting: int = 0, demand: Demand | None = DEMAND) -> list[str]:
    return tables_to_close(demand, Situation(tables, waiting), PATIENCE)


def test_the_first_table_is_opened_before_anybody_comes() -> None:
    assert opened() == ["Oak"]


def test_another_table_is_opened_when_too_few_seats_are_open() -> None:
    assert opened(table(1, kept=4)) == []
    assert opened(table(1, kept=5)) == ["Oak 2"]


def test_a_table_that_is_being_opened_counts_and_one_that_is_being_closed_does_not() -> None:
    assert opened(table(1, kept=6), table(2, state=TableState.OPENING)) == []
    assert opened(table(1, kept=6), table(2, state=TableState.CLOSING)) == ["Oak 3"], "its name is still in use"


def test_an_operators_table_at_the_same_stakes_counts() -> None:
    assert opened(table(9, is_by_demand=False, name="Ours")) == []


def test_a_name_that_is_free_again_is_taken_first() -> None:
    assert opened(table(1, kept=6), table(3, kept=6)) == ["Oak 2"]


def test_players_who_wait_are_a_demand_for_as_many_seats() -> None:
    demand = replace(DEMAND, tables_max=9)
    assert opened(table(1, kept=6), waiting=4, demand=demand) == ["Oak 2"]
    assert opened(table(1, kept=6), waiting=5, demand=demand) == ["Oak 2", "Oak 3"]


def test_there_are_never_more_tables_than_allowed() -> None:
    full = [table(number, kept=6) for number in (1, 2, 3)]
    assert opened(*full) == []
    assert opened(*full[:2], waiting=50) == ["Oak 3"]


def test_after_a_refusal_nothing_is_opened_for_a_while() -> None:
    assert names_to_open(DEMAND, Situation((), 0, was_refused=True)) == []


def test_the_latest_empty_table_is_closed_when_the_others_have_enough_open_seats() -> None:
    assert closed(table(1, kept=2), table(2), table(3)) == ["t3", "t2"]
    assert closed(table(1, kept=4), table(2)) == ["t2"]
    assert closed(table(1, kept=5), table(2)) == []


def test_the_last_table_stays() -> None:
    assert closed(table(1)) == []
    assert closed(table(1), table(2)) == ["t2"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"kept": 1},
        {"waiting": 1},
        {"is_by_demand": False},
        {"empty_for": timedelta(minutes=4, seconds=59)},
        {"state": TableState.OPENING},
        {"state": TableState.CLOSING},
    ],
)
def test_a_table_is_not_closed_while_anybody_sits_comes_or_waits_or_it_is_not_the_lobbys_own(
    wanted: dict[str, Any],
) -> None:
    assert closed(table(1, kept=1), table(2, **wanted)) == []
    assert closed(table(2, **wanted), demand=None) == []


def test_seats_for_those_who_wait_are_not_closed() -> None:
    assert closed(table(1, kept=1), table(2), waiting=3) == ["t2"]
    assert closed(table(1, kept=1), table(2), waiting=4) == []


def test_at_stakes_that_are_not_wanted_any_more_every_empty_table_is_closed() -> None:
    assert closed(table(1), table(2, kept=1), table(3), demand=None) == ["t3", "t1"]


tables = st.builds(
    table,
    number=st.integers(1, 9),
    kept=st.integers(0, 6),
    waiting=st.integers(0, 1),
    is_by_demand=st.booleans(),
    state=st.sampled_from([TableState.OPENING, TableState.OPEN, TableState.CLOSING]),
    empty_for=st.sampled_from([timedelta(), LONG]),
)


@given(
    standing=st.lists(tables, max_size=6, unique_by=lambda one: one.table_id),
    waiting=st.integers(0, 30),
    least=st.integers(1, 12),
    most=st.integers(1, 8),
)
def test_what_is_opened_is_enough_or_all_that_is_allowed_and_nothing_is_opened_and_closed_at_once(
    standing: list[Standing], waiting: int, least: int, most: int
) -> None:
    demand = Demand("Oak", STAKES, least, most)
    situation = Situation(standing, waiting)
    names, gone = names_to_open(demand, situation), tables_to_close(demand, situation, PATIENCE)
    assert not (names and gone)
    seats, needed = situation.open_seats + 6 * len(names), least + waiting
    live = len([one for one in standing if one.state is not TableState.CLOSING])
    assert seats >= needed or live + len(names) >= most
    assert not names or seats - 6 < needed, "not one more than needed"
    assert not names or live + len(names) <= most
    assert len({*names, *(one.name for one in standing)}) == len(names) + len(standing)
    left = [one for one in standing if one.table_id not in gone]
    assert not gone or Situation(left, waiting).open_seats >= needed
    assert names_to_open(demand, Situation(left, waiting)) == names, "what is closed is not opened again"


def test_an_opening_is_known_by_stakes_and_number() -> None:
    other = replace(DEMAND, stakes=replace(STAKES, ante=1))
    renamed = replace(DEMAND, name="Elm", open_seats_min=9, tables_max=9)
    assert len({DEMAND.request_id(1), DEMAND.request_id(2), other.request_id(1)}) == 3
    assert renamed.request_id(1) == DEMAND.request_id(1)


def settings(*stakes: dict[str, Any]) -> LobbySettings:
    return LobbySettings(stakes=tuple(StakesSettings(**one) for one in stakes))


def test_settings_fill_in_what_is_usual() -> None:
    (demand,) = settings({"name": "Oak", "small_blind": 10}).demands
    assert (demand.open_seats_min, demand.tables_max) == (1, 10)
    assert demand.stakes == STAKES


def test_settings_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[{"name": "Oak", "small_blind": 5, "seats": 9, "open_seats_min": 3, "tables_max": 4}]'
    monkeypatch.setenv("CARDROOM_LOBBY_STAKES", text)
    (demand,) = LobbySettings().demands
    assert (demand.stakes.big_blind, demand.stakes.seats, demand.open_seats_min, demand.tables_max) == (10, 9, 3, 4)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"small_blind": 0}, "a small blind of 0 is not allowed: 1 to"),
        ({"seats": 10}, "10 seats are not allowed: 2 to 9"),
        ({"ante": 21}, "an ante of 21 is not allowed: 0 to the big blind, 20"),
        ({"min_buy_in": 3000}, "buy-ins from 3000 to 2000 are not allowed"),
        ({"name": ""}, "is no table's name"),
        ({"name": "x" * 38}, "is no table's name"),
        ({"open_seats_min": 0}, "greater than or equal to 1"),
        ({"tables_max": 0}, "greater than or equal to 1"),
        ({"game": "GAME_POT_LIMIT_OMAHA"}, "GAME_NO_LIMIT_HOLDEM"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_unsound_stakes_are_refused_at_start(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        settings({"name": "Oak", "small_blind": 10, **wrong})


def test_the_same_stakes_or_name_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        settings({"name": "Oak", "small_blind": 10}, {"name": "Oak", "small_blind": 5})
    with pytest.raises(ValueError, match="same stakes are there twice"):
        settings({"name": "Oak", "small_blind": 10}, {"name": "Elm", "small_blind": 10, "max_buy_in": 2000})
