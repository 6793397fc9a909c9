"""The games as data: how many cards, which streets, how much may be bet, which hand wins.

A new game is a new row. High-low games give two rankings, one for each half of a pot; draw and stud games give
streets that deal to players.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cardroom.engine import ranks
from cardroom.engine.cards import Card

__all__ = ["Game", "Rules", "Street"]


class Street(Enum):
    """A round of betting, by the cards that open it."""

    PREFLOP = "preflop"
    FLOP = "flop"
    TURN = "turn"
    RIVER = "river"


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """What sets one game apart from another."""

    hole_cards: int
    streets: tuple[Street, ...]
    board_sizes: tuple[int, ...]
    """Cards on the board once the street of the same place in `streets` is open."""
    pot_limit: bool
    rankings: tuple[Callable[[Sequence[Card], Sequence[Card]], int], ...]
    """One for each part that a pot is cut into; lower is better."""

    def cards_needed(self, players: int) -> int:
        """Cards that a hand of so many players can use up, burned ones included (2.3)."""
        return players * self.hole_cards + self.board_sizes[-1] + len(self.streets) - 1


_STREETS = (Street.PREFLOP, Street.FLOP, Street.TURN, Street.RIVER)
_BOARD = (0, 3, 4, 5)


class Game(Enum):
    """The games that the engine deals."""

    NO_LIMIT_HOLDEM = "no-limit hold'em"
    POT_LIMIT_OMAHA = "pot-limit Omaha"

    @property
    def rules(self) -> Rules:
        """How this game is played."""
        return _RULES[self]


_RULES = {
    Game.NO_LIMIT_HOLDEM: Rules(2, _STREETS, _BOARD, pot_limit=False, rankings=(ranks.holdem_high,)),
    Game.POT_LIMIT_OMAHA: Rules(4, _STREETS, _BOARD, pot_limit=True, rankings=(ranks.omaha_high,)),
}
