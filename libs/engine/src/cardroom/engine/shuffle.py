"""The shuffle (2.1): Fisher-Yates over randomness that the caller brings."""

from __future__ import annotations

from collections.abc import Callable

from cardroom.engine.cards import DECK, Card

__all__ = ["shuffled_deck"]


def shuffled_deck(randbelow: Callable[[int], int]) -> tuple[Card, ...]:
    """A full deck in an order drawn with `randbelow(n)`, which must be uniform over 0 to n-1 (`secrets.randbelow` is).

    Every one of the 52! orders is equally likely, because the draws 52, 51, … 2 name each order exactly once.
    """
    deck = list(DECK)
    for last in range(51, 0, -1):
        pick = randbelow(last + 1)
        deck[last], deck[pick] = deck[pick], deck[last]
    return tuple(deck)
