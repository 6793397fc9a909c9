"""How good a hold'em hand is: before the flop by Bill Chen's formula, after it by a small simulation. Pure."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from random import Random
from typing import Final

from cardroom.engine.cards import DECK, Card
from cardroom.engine.ranks import holdem_high

_ACE: Final = 12
_QUEEN: Final = 10
_HIGH_CARD_POINTS: Final = {12: 10.0, 11: 8.0, 10: 7.0, 9: 6.0}
_GAP_PENALTY: Final = (0, 1, 2, 4)
_GAP_PENALTY_MAX: Final = 5
_BOARD_SIZE: Final = 5

# An opponent's hand outside their range is drawn again, but not forever.
_REDRAWS_MAX: Final = 8


def chen_score(hole: Sequence[Card]) -> float:
    """Chen's formula: from -1 for the worst hands to 20 for a pair of aces."""
    low, high = sorted(card // 4 for card in hole)
    points = _HIGH_CARD_POINTS.get(high, (high + 2) / 2)
    if low == high:
        return float(max(5.0, math.ceil(points * 2)))
    if hole[0] % 4 == hole[1] % 4:
        points += 2
    gap = high - low - 1
    points -= _GAP_PENALTY[gap] if gap < len(_GAP_PENALTY) else _GAP_PENALTY_MAX
    if gap <= 1 and high < _QUEEN:
        points += 1
    return float(math.ceil(points))


def preflop_percentile(hole: Sequence[Card]) -> float:
    """The part of all starting hands that is at least as good: 0.005 for aces, 1.0 for the worst."""
    return _percentiles()[_pair(hole[0], hole[1])]


def equity(
    hole: Sequence[Card], board: Sequence[Card], opponents: int, rng: Random, samples: int, *, top: float = 1.0
) -> float:
    """The part of the pot that the hand wins on average against that many opponents, by `samples` random run-outs.

    `top` is the opponents' range: they hold one of the best `top` of all starting hands (1.0: anything).
    """
    percentiles = _percentiles()
    out = set(hole) | set(board)
    stub = [card for card in DECK if card not in out]
    missing = _BOARD_SIZE - len(board)
    won = 0.0
    for _ in range(samples):
        drawn = rng.sample(stub, missing + 2 * opponents)
        full_board = (*board, *drawn[:missing])
        mine = holdem_high(hole, full_board)
        best, ties = mine, 1
        used = set(drawn)
        for place in range(missing, len(drawn), 2):
            theirs = (drawn[place], drawn[place + 1])
            if top < 1.0 and percentiles[_pair(*theirs)] > top:
                theirs = _redraw(stub, used, rng, top)
            rank = holdem_high(theirs, full_board)
            if rank < best:
                best = rank
                break
            ties += rank == mine
        if best == mine:
            won += 1.0 / ties
    return won / samples


def _redraw(stub: list[Card], used: set[Card], rng: Random, top: float) -> tuple[Card, Card]:
    """A hand in the range from cards not yet used, or after some tries the best one seen."""
    percentiles = _percentiles()
    best: tuple[Card, Card] | None = None
    for _ in range(_REDRAWS_MAX):
        first, second = rng.sample(stub, 2)
        if first in used or second in used:
            continue
        if best is None or percentiles[_pair(first, second)] < percentiles[_pair(*best)]:
            best = (first, second)
            if percentiles[_pair(*best)] <= top:
                break
    if best is None:
        left = [card for card in stub if card not in used]
        best = (left[0], left[1])
    used.update(best)
    return best


def _pair(first: Card, second: Card) -> int:
    return first * 52 + second if first < second else second * 52 + first


@functools.cache
def _percentiles() -> dict[int, float]:
    scores = {_pair(a, b): chen_score((a, b)) for a, b in itertools.combinations(DECK, 2)}
    ordered = sorted(scores.values(), reverse=True)
    at_least: dict[float, float] = {}
    for place, score in enumerate(ordered, start=1):
        at_least[score] = place / len(ordered)
    return {pair: at_least[score] for pair, score in scores.items()}
