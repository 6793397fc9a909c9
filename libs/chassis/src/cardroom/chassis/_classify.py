"""Which failures of the parts below are worth another try, and how they are told to a caller."""

from __future__ import annotations

import asyncpg
import grpc

from cardroom.chassis.errors import Aborted, CardroomError, Unavailable

_DATABASE_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
    # What asyncpg says when the server has ended an idle session and nobody has read that yet.
    asyncpg.InternalClientError,
)
_CONFLICT = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)
_RETRYABLE = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        # By the other side, which is stopping; what is cancelled here raises CancelledError.
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)


def classify(error: Exception) -> CardroomError | None:
    """Return what to answer for a failure that is understood, or None for one that nobody foresaw."""
    if isinstance(error, CardroomError):
        return error
    known: CardroomError | None = None
    if isinstance(error, _DATABASE_GONE) or _is_closed_connection(error):
        known = Unavailable("DATABASE_UNAVAILABLE", "the database does not answer at the moment: try again")
    elif isinstance(error, _CONFLICT):
        known = Aborted("CONFLICT", "another change came in between: try again")
    elif isinstance(error, grpc.RpcError):
        code = error.code() if callable(getattr(error, "code", None)) else None
        if code in _RETRYABLE:
            known = Unavailable("UPSTREAM_UNAVAILABLE", "a service that this call needs does not answer: try again")
    elif isinstance(error, OSError | TimeoutError):
        known = Unavailable("DEPENDENCY_UNAVAILABLE", "something that this call needs does not answer: try again")
    return known


def is_transient(error: BaseException) -> bool:
    """Tell whether the same work may succeed later, unchanged: the fault lies with a neighbour, not with the work."""
    if not isinstance(error, Exception):
        return False
    known = classify(error)
    return known is not None and known.code in _RETRYABLE


def _is_closed_connection(error: Exception) -> bool:
    # asyncpg raises InterfaceError for misuse too; only these texts mean that the connection is gone.
    return isinstance(error, asyncpg.InterfaceError) and any(
        part in str(error) for part in ("connection is closed", "connection has been released", "pool is clos")
    )
