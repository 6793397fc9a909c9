"""A shuffled deck that does not show itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from cardroom.engine.shuffle import shuffled_deck

__all__ = ["Deck"]


@final
class Deck:
    """52 cards in the order of the deal. Its text never names one, whoever prints it (rule 2.6)."""

    __slots__ = ("cards",)

    def __init__(self, cards: tuple[int, ...]) -> None:
        if sorted(cards) != list(range(52)):
            raise ValueError("a deck must hold each of 52 cards once")  # without naming what it holds
        self.cards = cards

    @classmethod
    def shuffled(cls, randbelow: Callable[[int], int]) -> Deck:
        """A deck in an order drawn with `randbelow(n)`, uniform over 0 to n-1 (rule 2.1)."""
        return cls(shuffled_deck(randbelow))

    @classmethod
    def from_bytes(cls, stored: bytes) -> Deck:
        """The deck that `to_bytes` wrote. Raises ValueError for anything else."""
        return cls(tuple(stored))

    def to_bytes(self) -> bytes:
        """One byte for each card. To be encrypted before it goes anywhere."""
        return bytes(self.cards)

    def __repr__(self) -> str:
        return "Deck(52 cards, face down)"

    def __reduce__(self) -> str:
        raise TypeError("a deck is not pickled: encrypt to_bytes() instead")
