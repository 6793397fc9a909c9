"""One tree of exceptions, made from a failed call's status and ErrorInfo."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2, status_pb2
from grpc.aio import AioRpcError, Metadata

from cardroom import client
from cardroom.client import errors


def failed(code: grpc.StatusCode, message: str = "", details: bytes | None = None) -> AioRpcError:
    trailing = Metadata() if details is None else Metadata(("grpc-status-details-bin", details))
    return AioRpcError(code, Metadata(), trailing, details=message, debug_error_string=None)


def with_reason(reason: str, **metadata: str) -> bytes:
    detail = Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="cardroom", metadata=metadata))
    return bytes(status_pb2.Status(code=9, message="no", details=[detail]).SerializeToString())


def test_an_error_carries_reason_sentence_and_metadata() -> None:
    details = with_reason("BUY_IN_OUT_OF_RANGE", min="400", max="1000")
    error = errors.from_rpc_error(failed(grpc.StatusCode.INVALID_ARGUMENT, "The buy-in of 5 is too small.", details))
    assert isinstance(error, client.InvalidArgumentError)
    assert (error.reason, error.metadata) == ("BUY_IN_OUT_OF_RANGE", {"min": "400", "max": "1000"})
    assert str(error) == "The buy-in of 5 is too small. [BUY_IN_OUT_OF_RANGE]"


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(client).values() if isinstance(kind, type) and issubclass(kind, Exception)]
)
def test_every_kind_of_error_is_a_cardroom_error_and_stands_for_its_code(kind: type[client.CardroomError]) -> None:
    assert issubclass(kind, client.CardroomError)
    made = errors.from_rpc_error(failed(kind.code))
    assert isinstance(made, client.CardroomError)
    assert issubclass(kind, type(made))


def test_without_error_info_the_code_is_the_reason() -> None:
    error = errors.from_rpc_error(failed(grpc.StatusCode.UNAVAILABLE, "no healthy upstream"))
    assert isinstance(error, client.UnavailableError)
    assert (error.reason, error.message) == ("UNAVAILABLE", "no healthy upstream")


def test_unreadable_details_do_not_hide_the_error() -> None:
    error = errors.from_rpc_error(failed(grpc.StatusCode.NOT_FOUND, "", b"\xff\xff"))
    assert isinstance(error, client.NotFoundError)
    assert error.reason == "NOT_FOUND"
    assert error.message
