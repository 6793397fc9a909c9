"""Every error a service answers with, the tree of the chassis' own errors, and their translation to and from gRPC.

An answer to a failed call is a gRPC status, a sentence for people, and a `google.rpc.ErrorInfo` for programs: a stable
`reason` in UPPER_SNAKE, the domain `cardroom`, and metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DOMAIN: Final = "cardroom"
DETAILS_KEY: Final = "grpc-status-details-bin"


class CardroomError(Exception):
    """A refusal with a gRPC status, a stable reason, a sentence for people and metadata for programs.

    Say in `message` what was wrong, with the value, and what would be right. Never put a secret or a hidden card in it.
    """

    def __init__(self, code: grpc.StatusCode, reason: str, message: str, **metadata: object) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata: dict[str, str] = {key: str(value) for key, value in metadata.items()}

    def __str__(self) -> str:
        return f"{self.code.name}/{self.reason}: {self.message}"


class _CodedError(CardroomError):
    """A `CardroomError` whose status is that of its class."""

    status: grpc.StatusCode

    def __init__(self, reason: str, message: str, **metadata: object) -> None:
        super().__init__(self.status, reason, message, **metadata)


class InvalidArgument(_CodedError):
    """The request can never be right, whatever the state."""

    status = grpc.StatusCode.INVALID_ARGUMENT


class NotFound(_CodedError):
    """What the request names does not exist."""

    status = grpc.StatusCode.NOT_FOUND


class AlreadyExists(_CodedError):
    """The key is taken: by another request with other content, or by another owner."""

    status = grpc.StatusCode.ALREADY_EXISTS


class FailedPrecondition(_CodedError):
    """The request is well formed but the state does not allow it."""

    status = grpc.StatusCode.FAILED_PRECONDITION


class PermissionDenied(_CodedError):
    """The caller is known and may not do this."""

    status = grpc.StatusCode.PERMISSION_DENIED


class Unauthenticated(_CodedError):
    """The caller did not prove who they are."""

    status = grpc.StatusCode.UNAUTHENTICATED


class ResourceExhausted(_CodedError):
    """A limit was reached."""

    status = grpc.StatusCode.RESOURCE_EXHAUSTED


class Aborted(_CodedError):
    """Another change came first; ask again with what is true now."""

    status = grpc.StatusCode.ABORTED


class Unavailable(_CodedError):
    """Not now; the same request may be sent again."""

    status = grpc.StatusCode.UNAVAILABLE


class LeaseLost(Unavailable):
    """Shards that a write was fenced for have another owner now. Nothing was written."""

    def __init__(self, shards: Sequence[int]) -> None:
        shown = ", ".join(str(shard) for shard in shards)
        super().__init__("LEASE_LOST", f"no longer the owner of shards {shown}: ask their new owner", shards=shown)
        self.shards = tuple(shards)


class PublishFailed(Unavailable):
    """Some messages of a batch were not taken by the broker. `failed` maps their place in the batch to the cause."""

    def __init__(self, failed: Mapping[int, BaseException], total: int) -> None:
        first = next(iter(failed.values()))
        text = (
            f"{len(failed)} of {total} messages were not taken by the broker, the first with {first!r}: send them again"
        )
        super().__init__("PUBLISH_FAILED", text)
        self.failed = dict(failed)


class BusDisconnected(Unavailable):
    """There is no connection to the broker at the moment."""

    def __init__(self, why: str = "the supervised loop is connecting") -> None:
        super().__init__("BUS_DISCONNECTED", f"not connected to the message broker ({why}): try again")


class UnroutableError(Exception):
    """The broker took a message that no queue is bound for."""


class SettingsError(Exception):
    """A setting is missing or wrong. The text names the variable and what is allowed."""


_BY_CODE: Final[dict[grpc.StatusCode, type[_CodedError]]] = {
    kind.status: kind
    for kind in (
        InvalidArgument,
        NotFound,
        AlreadyExists,
        FailedPrecondition,
        PermissionDenied,
        Unauthenticated,
        ResourceExhausted,
        Aborted,
        Unavailable,
    )
}


def to_status(error: CardroomError) -> status_pb2.Status:
    """Return the `google.rpc.Status` that carries this error, with its ErrorInfo."""
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    packed = any_pb2.Any()
    packed.Pack(info)
    return status_pb2.Status(code=error.code.value[0], message=error.message, details=[packed])


def from_status(status: status_pb2.Status) -> CardroomError:
    """Return the error that a `google.rpc.Status` carries."""
    code = _code(status.code)
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Is(info.DESCRIPTOR) and detail.Unpack(info):
            return make(code, info.reason, status.message, dict(info.metadata))
    return make(code, code.name, status.message, {})


def from_rpc_error(error: grpc.RpcError) -> CardroomError:
    """Return what the other side refused with; where it sent no ErrorInfo the reason is the status' own name."""
    code = error.code() if callable(getattr(error, "code", None)) else grpc.StatusCode.UNKNOWN
    details = (error.details() if callable(getattr(error, "details", None)) else None) or str(error)
    trailing: Any = error.trailing_metadata() if callable(getattr(error, "trailing_metadata", None)) else None
    for key, value in trailing or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return from_status(status_pb2.Status.FromString(value))
            except DecodeError:
                break
    return make(code, code.name, details, {})


def make(code: grpc.StatusCode, reason: str, message: str, metadata: Mapping[str, object]) -> CardroomError:
    """Return an error of the class that belongs to `code`."""
    kind = _BY_CODE.get(code)
    if kind is None:
        return CardroomError(code, reason, message, **metadata)
    return kind(reason, message, **metadata)


def _code(number: int) -> grpc.StatusCode:
    for code in grpc.StatusCode:
        if code.value[0] == number:
            return code
    assert number not in code_pb2.Code.values(), f"grpc lacks status {number}"
    return grpc.StatusCode.UNKNOWN
