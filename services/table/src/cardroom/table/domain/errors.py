"""Everything that a table refuses, and what must never happen."""

from __future__ import annotations

from enum import Enum

__all__ = [
    "InvariantBroken",
    "PassedTurn",
    "RefusalKind",
    "Refused",
    "ReplayMismatch",
    "TableError",
]


class TableError(Exception):
    """The root of what the table's domain raises on purpose."""


class RefusalKind(Enum):
    """What sort of refusal it is; the API turns it into a gRPC status."""

    INVALID = "invalid"
    PRECONDITION = "precondition"
    PERMISSION = "permission"
    EXISTS = "exists"
    UNAVAILABLE = "unavailable"


class Refused(TableError):
    """A command that changes nothing. `reason` is stable and for programs, the message for people."""

    def __init__(self, kind: RefusalKind, reason: str, message: str, **metadata: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.message = message
        self.metadata = metadata


class PassedTurn(TableError):
    """An action for a turn that has passed. A repeat still gets its first answer from the log; all else `refusal`."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class InvariantBroken(TableError):
    """Something that must hold does not. The table stops; nothing of the command is kept."""


class ReplayMismatch(TableError):
    """The log and the rules disagree about what happened. The table stops."""
