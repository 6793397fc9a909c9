"""Offers for tests."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from cardroom.lobby.domain.tables import Offer, Stakes, Table

STAKES = Stakes(game=1, small_blind=10, big_blind=20, ante=0, min_buy_in=800, max_buy_in=2000, seats=6)


def offer(
    number: int, *, name: str = "", taken: int = 0, pot: int = 0, rate: int = 0, waiting: int = 0, **stakes: int
) -> Offer:
    """An offer whose table's id ends with the number; the first seats are taken."""
    if "small_blind" in stakes:
        stakes.setdefault("big_blind", 2 * stakes["small_blind"])
    table = Table(str(UUID(int=number)), str(UUID(int=0)), name or f"Table {number}", replace(STAKES, **stakes))
    return Offer(table, tuple(range(1, taken + 1)), pot, rate, waiting)
