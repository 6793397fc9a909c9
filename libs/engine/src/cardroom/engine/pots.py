"""Main and side pots (8.1): who can win what from whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

__all__ = ["Pot", "split", "uncalled"]


class Pot(NamedTuple):
    """Chips, and who can win them. In `Hand.pots` and results `eligible` holds seats, left of the button first."""

    amount: int
    eligible: tuple[int, ...]


def split(paid: Sequence[int], dead: int, live: Sequence[int], all_in: Collection[int]) -> list[Pot]:
    """Cut the chips into the main pot and the side pots, in the order they arose.

    `paid[i]` is what player i put in, `dead` main-pot money of nobody's account, `live` who can still win, `all_in`
    which of them have no chips left. Only an all-in player limits what they can win, so each of their totals ends a
    pot; whoever still has chips is in every pot. Folded chips lie where their size puts them.
    """
    caps = sorted({paid[player] for player in all_in})
    if any(player not in all_in for player in live):
        top = max(paid)
        caps = [cap for cap in caps if cap < top] + [top]
    pots = []
    floor = 0
    for cap in caps:
        # What lies above every cap was folded by players who matched each other there: it stays in the last pot.
        ceiling = cap if cap != caps[-1] else max(paid)
        amount = sum([min(chips, ceiling) - floor for chips in paid if chips > floor]) + dead
        eligible = tuple([player for player in live if player not in all_in or paid[player] >= cap])
        if amount:
            pots.append(Pot(amount, eligible))
        dead = 0
        floor = cap
    return pots


def uncalled(paid: Sequence[int]) -> tuple[int, int]:
    """Who has put in more than anyone else, and by how much (8.2). The amount is 0 when somebody matched it."""
    highest = max(paid)
    second = sorted(paid)[-2]
    return paid.index(highest), highest - second
