"""Amounts of wagers: what a typed number becomes (rule 7.2). Pure."""

from __future__ import annotations

from cardroom.contracts.table.v1.view_pb2 import LegalActions


def nearest_total(legal: LegalActions, typed: int) -> int | None:
    """The legal bet or raise nearest to a typed total for the street; None when no raise is legal.

    A typed amount moves to the nearest unit (halfway: down); the smallest and the largest are always exact.
    """
    if not legal.HasField("raise_min"):
        return None
    low, high = legal.raise_min, legal.raise_max
    if typed <= low:
        return low
    if typed >= high:
        return high
    unit = max(1, legal.unit)
    below = max(low, typed // unit * unit)
    above = min(high, typed // unit * unit + unit)
    return below if typed - below <= above - typed else above
