"""Registers of absent players: whatever the order of what tables say, the newest holds (rules 9.5, 10.2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cardroom.clock.domain import absences
from cardroom.clock.domain.absences import Absence


def said(generation: int, fire_at_ms: int | None = 1_000) -> Absence:
    return Absence("table", "player", generation, fire_at_ms)


@given(st.permutations([said(generation, generation * 10) for generation in range(1, 6)]), st.integers(0, 4))
def test_the_newest_generation_holds_in_any_order_and_repeated(order: list[Absence], again: int) -> None:
    known: Absence | None = None
    for one in [*order, order[again]]:
        known = absences.replaced(known, one)
    assert known == said(5, 50)


def test_an_end_of_the_absence_replaces_it_too() -> None:
    known = absences.replaced(said(1), said(2, None))
    assert known.fire_at_ms is None
    assert absences.replaced(known, said(1)) is known


def test_a_stale_answer_ends_the_telling_and_another_keeps_it_until_the_table_says_something_new() -> None:
    assert absences.answered(said(1), stale=True) == said(1, None)
    assert absences.answered(said(1), stale=False) is None
