"""Every exception of the engine, in one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cardroom.engine.legal import LegalActions

__all__ = [
    "AmountTooLarge",
    "AmountTooSmall",
    "CannotCheck",
    "CannotRaise",
    "CardsError",
    "ConfigError",
    "EngineError",
    "HandIsOver",
    "HistoryMismatch",
    "IllegalAction",
    "NotAWholeUnit",
    "NotYourTurn",
    "NothingToCall",
    "PhhError",
    "PhhHalfChips",
    "PhhUnsupported",
    "ShowdownError",
    "UnknownCardNeeded",
]


class EngineError(Exception):
    """The root of what this library raises on purpose. `reason` is stable and meant for programs."""

    reason = "ENGINE_ERROR"


class ConfigError(EngineError):
    """A hand cannot be played with this configuration."""

    reason = "BAD_CONFIG"


class CardsError(EngineError):
    """Text or numbers that are not cards, or cards where none are due."""

    reason = "BAD_CARDS"


class UnknownCardNeeded(CardsError):
    """A showdown needs a card that the record does not give."""

    reason = "UNKNOWN_CARD_NEEDED"


class ShowdownError(EngineError):
    """A hand shown or mucked by someone who has none to show, or too early."""

    reason = "BAD_SHOWDOWN"


class HistoryMismatch(EngineError):
    """Recorded events that the rules do not lead to."""

    reason = "HISTORY_MISMATCH"


class PhhError(EngineError):
    """A PHH document that cannot be read."""

    reason = "BAD_PHH"


class PhhUnsupported(PhhError):
    """A readable PHH hand of a kind that this engine does not play, such as another variant."""

    reason = "PHH_UNSUPPORTED"


class PhhHalfChips(PhhUnsupported):
    """A PHH hand recorded in parts of a chip. Chips are whole here, and are not rounded."""

    reason = "PHH_HALF_CHIPS"


class IllegalAction(EngineError):
    """A refused action. The hand is unchanged.

    `legal` is what the actor may do (None when nobody is to act) and `nearest` holds the closest legal totals around a
    refused amount (7.1), smallest first.
    """

    reason = "ILLEGAL_ACTION"

    def __init__(self, message: str, legal: LegalActions | None = None, nearest: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.legal = legal
        self.nearest = nearest


class HandIsOver(IllegalAction):
    """Nobody acts any more."""

    reason = "HAND_IS_OVER"


class NotYourTurn(IllegalAction):
    """Somebody else is to act."""

    reason = "NOT_YOUR_TURN"


class CannotCheck(IllegalAction):
    """There is a wager to match (5.9)."""

    reason = "CANNOT_CHECK"


class NothingToCall(IllegalAction):
    """There is no wager to match."""

    reason = "NOTHING_TO_CALL"


class CannotRaise(IllegalAction):
    """No amount would be legal: not reopened (5.6), nobody to raise against (5.7), or no chips beyond the call."""

    reason = "CANNOT_RAISE"


class AmountTooSmall(IllegalAction):
    """Below the smallest bet or raise, and not all-in (5.2 to 5.5)."""

    reason = "AMOUNT_TOO_SMALL"


class AmountTooLarge(IllegalAction):
    """More than the player has, or than the pot allows (6.1)."""

    reason = "AMOUNT_TOO_LARGE"


class NotAWholeUnit(IllegalAction):
    """Not a whole number of betting units, nor one of the exact amounts (7.1)."""

    reason = "NOT_A_WHOLE_UNIT"
