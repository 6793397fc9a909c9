"""Cards: whole numbers inside, text outside.

A card is `4 * rank + suit`, rank 0 (deuce) to 12 (ace), suit 0 to 3 in the order clubs, diamonds, hearts, spades: the
order in which 8.8 ranks suits, and the numbering of the hand-rank library. `UNKNOWN` (-1, text `??`) stands for a card
that a record does not tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cardroom.engine.errors import CardsError

__all__ = ["DECK", "RANKS", "SUITS", "UNKNOWN", "Card", "parse", "text"]

Card = int
"""0 to 51, or UNKNOWN."""

RANKS: Final = "23456789TJQKA"
SUITS: Final = "cdhs"
UNKNOWN: Final[Card] = -1
DECK: Final[tuple[Card, ...]] = tuple(range(52))

_TEXTS: Final = {4 * r + s: rank + suit for r, rank in enumerate(RANKS) for s, suit in enumerate(SUITS)} | {
    UNKNOWN: "??"
}
_CARDS: Final = {name: card for card, name in _TEXTS.items()}


def parse(cards: str) -> tuple[Card, ...]:
    """`"AhKd"` or `"Ah Kd"` to cards. Raises CardsError for anything else, and for a known card named twice."""
    packed = cards.replace(" ", "")
    try:
        found = tuple([_CARDS[packed[i : i + 2]] for i in range(0, len(packed), 2)])
    except KeyError as error:
        raise CardsError(f"{cards!r}: {error.args[0]!r} is not a card; write rank and suit, as in 'AhTd2c'") from None
    known = [card for card in found if card != UNKNOWN]
    if len(set(known)) != len(known):
        raise CardsError(f"{cards!r} names a card twice")
    return found


def text(cards: Iterable[Card]) -> str:
    """Cards to `"AhKd"`."""
    try:
        return "".join([_TEXTS[card] for card in cards])
    except KeyError as error:
        raise CardsError(f"{error.args[0]!r} is not a card: cards are 0 to 51") from None
