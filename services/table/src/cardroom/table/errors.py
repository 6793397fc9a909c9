"""What the table service raises beside its domain's refusals: one tree."""

from __future__ import annotations

import grpc

from cardroom.chassis.errors import (
    AlreadyExists,
    CardroomError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
)
from cardroom.table.domain.errors import RefusalKind, Refused

__all__ = [
    "CommandBroken",
    "DeckKeyMissing",
    "DeckUnreadable",
    "NotOwner",
    "OutcomeUnknown",
    "StreamEnded",
    "TableBusy",
    "TableMoving",
    "TableStopped",
    "TableUnknown",
    "TooManyStreams",
    "WriteRefused",
    "to_cardroom",
]


class DeckUnreadable(Exception):
    """A stored deck that nobody can read: it is not genuine, or its key is lost. The hand is void (rule 14.4)."""


class DeckKeyMissing(Exception):
    """A stored deck whose key this replica does not have. Another one may have it: the table stands still here."""


class WriteRefused(Exception):
    """The database refused a write: the same version was written before. Nothing of it was kept."""


class OutcomeUnknown(Exception):
    """Nobody knows whether a write was committed. The table is read again before anything else happens to it."""


class StreamEnded(Exception):
    """A stream that had begun is over, with this error: it is not to be begun again on the client's behalf."""

    def __init__(self, error: CardroomError) -> None:
        super().__init__(str(error))
        self.error = error


class TableUnknown(NotFound):
    """There is no such table."""

    def __init__(self, table_id: str) -> None:
        super().__init__("TABLE_UNKNOWN", f"there is no table {table_id!r}: send the UUID of an open table")


class TableStopped(Unavailable):
    """The table stopped because something that must hold did not. It needs a person."""

    def __init__(self, table_id: str) -> None:
        super().__init__("TABLE_STOPPED", f"table {table_id} has stopped and is being looked at: try again later")


class CommandBroken(CardroomError):
    """A command ran into a fault of ours, again when the table had been read anew. Nothing changed."""

    def __init__(self, table_id: str) -> None:
        text = f"a fault of ours keeps table {table_id} from doing that, and nothing has changed: do something else"
        super().__init__(grpc.StatusCode.INTERNAL, "COMMAND_BROKEN", text)


class TableMoving(Unavailable):
    """The table has no owner at the moment."""

    def __init__(self, table_id: str) -> None:
        super().__init__("TABLE_MOVING", f"table {table_id} is moving to another server: send the same again")


class NotOwner(Unavailable):
    """A request was passed on to a replica that does not own the table (any more)."""

    def __init__(self, table_id: str) -> None:
        super().__init__("NOT_OWNER", f"table {table_id} has another owner: ask again for who that is")


class TableBusy(ResourceExhausted):
    """Too many commands wait for their turn at one table."""

    def __init__(self, table_id: str, waiting: int) -> None:
        super().__init__("TABLE_BUSY", f"{waiting} commands wait at table {table_id}: send fewer at once")


class TooManyStreams(ResourceExhausted):
    """A limit on open streams was reached."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__("TOO_MANY_STREAMS", f"{what} has {limit} streams open, which is the most: close one first")


_KINDS: dict[RefusalKind, type[CardroomError]] = {
    RefusalKind.INVALID: InvalidArgument,
    RefusalKind.PRECONDITION: FailedPrecondition,
    RefusalKind.PERMISSION: PermissionDenied,
    RefusalKind.EXISTS: AlreadyExists,
    RefusalKind.UNAVAILABLE: Unavailable,
}


def to_cardroom(refusal: Refused) -> CardroomError:
    """The domain's refusal as the error that the API answers with."""
    return _KINDS[refusal.kind](refusal.reason, refusal.message, **refusal.metadata)  # type: ignore[arg-type]
