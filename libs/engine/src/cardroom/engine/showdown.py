"""Who shows, who mucks, and who wins what (8.5 to 8.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cardroom.engine.pots import Pot

__all__ = ["Award", "award", "order_of_showing", "shows"]


class Award(NamedTuple):
    """A pot that was won; `wins` are (who, chips), left of the button first."""

    amount: int
    eligible: tuple[int, ...]
    wins: tuple[tuple[int, int], ...]


def order_of_showing(live: Sequence[int], first: int) -> list[int]:
    """`live` clockwise from `first`; with -1 (the street was checked) from the left of the button."""
    return [p for p in live if p >= first] + [p for p in live if p < first]


def shows(player: int, claims: Callable[[int], Sequence[int]], shown: Sequence[int], pots: Sequence[Pot]) -> bool:
    """Whether `player` shows: in some contested pot they can win, their hand is as good as every hand shown for it.

    `claims` gives a player one rank for each part of a pot, lower is better; `shown` is who has shown so far.
    """
    mine = claims(player)
    for pot in pots:
        if player not in pot.eligible or len(pot.eligible) < 2:
            continue
        rivals = [claims(other) for other in shown if other in pot.eligible]
        if any(all(mine[part] <= rival[part] for rival in rivals) for part in range(len(mine))):
            return True
    return False


def award(pots: Sequence[Pot], claims: Callable[[int], Sequence[int]], mucked: Sequence[int]) -> list[Award]:
    """Judge each pot by itself (8.7). `claims` ranks a player's hand; it is only asked where a pot is contested."""
    return [Award(pot.amount, pot.eligible, _wins(pot, claims, mucked)) for pot in pots]


def _wins(pot: Pot, claims: Callable[[int], Sequence[int]], mucked: Sequence[int]) -> tuple[tuple[int, int], ...]:
    if len(pot.eligible) == 1:
        return ((pot.eligible[0], pot.amount),)
    contenders = [player for player in pot.eligible if player not in mucked]
    if not contenders:
        contenders = [max(pot.eligible, key=mucked.index)]
    if len(contenders) == 1:
        return ((contenders[0], pot.amount),)
    ranks = {player: claims(player) for player in contenders}
    parts = len(ranks[contenders[0]])
    won = dict.fromkeys(contenders, 0)
    share, odd = divmod(pot.amount, parts)
    for part in range(parts):
        best = min(rank[part] for rank in ranks.values())
        winners = [player for player in contenders if ranks[player][part] == best]
        _share_out(share + (part < odd), winners, won)
    return tuple([(player, chips) for player, chips in won.items() if chips])


def _share_out(chips: int, winners: Sequence[int], won: dict[int, int]) -> None:
    """Equal shares; what is left goes one chip each, starting left of the button (8.7)."""
    share, odd = divmod(chips, len(winners))
    for place, player in enumerate(winners):
        won[player] += share + (place < odd)
