"""Which card goes where (2.2, 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cardroom.engine.cards import UNKNOWN, Card
from cardroom.engine.errors import CardsError
from cardroom.engine.games import Rules

__all__ = ["Deal"]


@dataclass(frozen=True, slots=True)
class Deal:
    """Hole cards by place left of the button, and the board so far known (all of it, from a deck)."""

    holes: tuple[tuple[Card, ...], ...]
    board: tuple[Card, ...] = ()

    @classmethod
    def from_deck(cls, rules: Rules, players: int, deck: Sequence[Card]) -> Deal:
        """Deal one card at a time from the top, the first player left of the button first; burn before each street."""
        needed = rules.cards_needed(players)
        if len(deck) < needed or len(set(deck)) != len(deck) or UNKNOWN in deck:
            raise CardsError(
                f"a deck of {len(deck)} cards, {len(set(deck))} different: {needed} different ones are needed"
            )
        top = players * rules.hole_cards
        holes = tuple([tuple(deck[place:top:players]) for place in range(players)])
        board: list[Card] = []
        for size in rules.board_sizes[1:]:
            top += 1
            fresh = size - len(board)
            board += deck[top : top + fresh]
            top += fresh
        return cls(holes, tuple(board))
