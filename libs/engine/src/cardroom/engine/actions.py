"""What a player may say at their turn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = ["CALL", "CHECK", "FOLD", "Action", "ActionKind", "Call", "Check", "Fold", "RaiseTo"]


@dataclass(frozen=True, slots=True)
class Fold:
    """Give the hand up. Accepted at any turn (5.9)."""


@dataclass(frozen=True, slots=True)
class Check:
    """Pass without a wager to match."""


@dataclass(frozen=True, slots=True)
class Call:
    """Match the wager, or go all-in for less."""


@dataclass(frozen=True, slots=True)
class RaiseTo:
    """Bet or raise to `amount`, the player's total for the street (5.1)."""

    amount: int

    def __post_init__(self) -> None:
        if type(self.amount) is not int:
            raise TypeError(f"raise to {self.amount!r}: chips are whole numbers")


Action = Fold | Check | Call | RaiseTo

FOLD: Final = Fold()
CHECK: Final = Check()
CALL: Final = Call()


class ActionKind(Enum):
    """What an action was, as told afterwards."""

    FOLD = "fold"
    CHECK = "check"
    CALL = "call"
    BET = "bet"
    RAISE = "raise"
