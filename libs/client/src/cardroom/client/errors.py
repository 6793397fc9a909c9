"""Every exception that this client raises: one tree, made from gRPC's status and its ErrorInfo.

Code against `reason`, never against the sentence: reasons are stable, sentences are for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

_DETAILS_KEY: Final = "grpc-status-details-bin"


class CardroomError(Exception):
    """A call that failed.

    `reason` is the stable name of what went wrong (`SEAT_TAKEN`), `message` a sentence for people, `metadata` the facts
    around it (`min`, `max`, ...), `code` the gRPC status.
    """

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(
        self,
        reason: str,
        message: str,
        metadata: Mapping[str, str] | None = None,
        code: grpc.StatusCode | None = None,
    ) -> None:
        """Keeps what the server said."""
        super().__init__(f"{message} [{reason}]" if reason else message)
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.code = code or type(self).code


class InvalidArgumentError(CardroomError):
    """The request can never be right, whatever the state: an illegal amount, a malformed id."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFoundError(CardroomError):
    """There is no such table, account or transfer."""

    code = grpc.StatusCode.NOT_FOUND


class AlreadyExistsError(CardroomError):
    """The key was used before, for something else."""

    code = grpc.StatusCode.ALREADY_EXISTS


class FailedPreconditionError(CardroomError):
    """The state does not allow it now: the seat is taken, it is not your turn, too few chips."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class PermissionDeniedError(CardroomError):
    """The caller may not do this: not seated here, or a scope is missing."""

    code = grpc.StatusCode.PERMISSION_DENIED


class UnauthenticatedError(CardroomError):
    """The token is missing, forged, expired or spent."""

    code = grpc.StatusCode.UNAUTHENTICATED


class ResourceExhaustedError(CardroomError):
    """Too many requests, streams or bytes: slow down."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class AbortedError(CardroomError):
    """Other writes kept getting in the way, also after all retries. Nothing happened; repeating it is safe."""

    code = grpc.StatusCode.ABORTED


class UnavailableError(CardroomError):
    """Nobody could answer, after all retries. Whether a write happened is not known; repeating it is safe."""

    code = grpc.StatusCode.UNAVAILABLE


class DeadlineExceededError(CardroomError):
    """No answer in time, after all retries. Whether a write happened is not known; repeating it is safe."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


class InternalError(CardroomError):
    """A fault of the server, logged there with the call's trace id."""

    code = grpc.StatusCode.INTERNAL


class NotYourTurnError(FailedPreconditionError):
    """The session knows of no turn of yours, so nothing was sent."""


_BY_CODE: Final[dict[grpc.StatusCode, type[CardroomError]]] = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        NotFoundError,
        AlreadyExistsError,
        FailedPreconditionError,
        PermissionDeniedError,
        UnauthenticatedError,
        ResourceExhaustedError,
        AbortedError,
        UnavailableError,
        DeadlineExceededError,
        InternalError,
    )
}


def from_rpc_error(error: grpc.aio.AioRpcError) -> CardroomError:
    """Makes the exception that says what a failed call's status says."""
    code = error.code()
    message = error.details() or f"The call failed with {code.name} and no explanation."
    info = _error_info(error)
    kind = _BY_CODE.get(code, CardroomError)
    if info is None:
        return kind(code.name, message, code=code)
    return kind(info.reason, message, dict(info.metadata), code=code)


def _error_info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo | None:
    # The stubs do not know that aio's metadata iterates over pairs.
    trailing = cast("Iterable[tuple[str, bytes]]", error.trailing_metadata() or ())
    for key, value in trailing:
        if key != _DETAILS_KEY:
            continue
        try:
            status = status_pb2.Status.FromString(value)
        except DecodeError:
            return None
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                return info
    return None
