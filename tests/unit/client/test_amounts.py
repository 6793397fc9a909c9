"""Rule 7.2: a typed amount moves to the nearest unit; smallest and all-in are always exact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.client.amounts import nearest_total
from cardroom.contracts.table.v1.view_pb2 import LegalActions
from cardroom.engine.legal import LegalActions as EngineLegalActions


def legal(low: int, high: int, unit: int) -> LegalActions:
    return LegalActions(can_fold=True, raise_min=low, raise_max=high, unit=unit, all_in_total=high)


@pytest.mark.parametrize(
    ("typed", "total"),
    [(0, 40), (40, 40), (44, 40), (45, 40), (46, 50), (120, 120), (1233, 1230), (1236, 1237), (99999, 1237)],
)
def test_7_2_a_typed_amount_moves_to_the_nearest_legal_total(typed: int, total: int) -> None:
    assert nearest_total(legal(40, 1237, 10), typed) == total


def test_7_2_without_a_legal_raise_there_is_no_total() -> None:
    assert nearest_total(LegalActions(can_fold=True, can_check=True), 100) is None


@given(low=st.integers(1, 300), spread=st.integers(0, 1000), unit=st.integers(1, 60), typed=st.integers(0, 2000))
def test_7_2_client_and_engine_move_a_typed_amount_to_the_same_total(
    low: int, spread: int, unit: int, typed: int
) -> None:
    engine = EngineLegalActions(1, 20, low, low + spread, False, unit, None, low + spread)
    assert nearest_total(legal(low, low + spread, unit), typed) == engine.nearest(typed)
