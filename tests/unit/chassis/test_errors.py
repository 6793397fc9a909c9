"""Errors keep their status, reason and metadata on their way over gRPC."""

from __future__ import annotations

import asyncpg
import grpc
import pytest
from google.rpc import error_details_pb2

from cardroom.chassis import errors
from cardroom.chassis._classify import classify, is_transient
from cardroom.chassis.errors import CardroomError, InvalidArgument, LeaseLost, NotFound, Unavailable

KINDS = [
    errors.InvalidArgument,
    errors.NotFound,
    errors.AlreadyExists,
    errors.FailedPrecondition,
    errors.PermissionDenied,
    errors.Unauthenticated,
    errors.ResourceExhausted,
    errors.Aborted,
    errors.Unavailable,
]


def rpc_error(code: grpc.StatusCode, details: str, trailing: tuple[tuple[str, bytes], ...] = ()) -> grpc.RpcError:
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(*trailing), details, None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_survives_the_wire(kind: type[errors._CodedError]) -> None:
    sent = kind("SEAT_TAKEN", "seat 3 is taken: choose 4", seat=3)
    bytes_sent = errors.to_status(sent).SerializeToString()
    got = errors.from_rpc_error(rpc_error(sent.code, sent.message, ((errors.DETAILS_KEY, bytes_sent),)))
    assert type(got) is kind
    assert (got.reason, got.message, got.metadata) == ("SEAT_TAKEN", "seat 3 is taken: choose 4", {"seat": "3"})


def test_the_error_info_names_the_domain() -> None:
    (packed,) = errors.to_status(NotFound("TABLE_UNKNOWN", "no table 'x'")).details
    info = error_details_pb2.ErrorInfo()
    assert packed.Unpack(info)
    assert (info.domain, info.reason) == ("cardroom", "TABLE_UNKNOWN")


def test_a_status_without_details_has_its_own_name_as_the_reason() -> None:
    got = errors.from_rpc_error(rpc_error(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large"))
    assert isinstance(got, errors.ResourceExhausted)
    assert got.reason == "RESOURCE_EXHAUSTED"


def test_details_that_cannot_be_read_are_ignored() -> None:
    got = errors.from_rpc_error(rpc_error(grpc.StatusCode.ABORTED, "x", ((errors.DETAILS_KEY, b"\xff\xff"),)))
    assert got.reason == "ABORTED"


def test_a_status_that_no_class_stands_for_is_a_plain_error() -> None:
    got = errors.from_rpc_error(rpc_error(grpc.StatusCode.DATA_LOSS, "gone"))
    assert type(got) is CardroomError
    assert got.code is grpc.StatusCode.DATA_LOSS


def test_lost_leases_are_named() -> None:
    lost = LeaseLost([3, 17])
    assert lost.shards == (3, 17)
    assert "3, 17" in lost.message


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.ConnectionDoesNotExistError("gone"),
        asyncpg.CannotConnectNowError("starting up"),
        asyncpg.InterfaceError("cannot perform operation: connection is closed"),
        asyncpg.IdleInTransactionSessionTimeoutError("idle"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"),
        ConnectionRefusedError(),
        TimeoutError(),
        rpc_error(grpc.StatusCode.UNAVAILABLE, "down"),
        rpc_error(grpc.StatusCode.CANCELLED, "stopping"),
        Unavailable("X", "x"),
        asyncpg.SerializationError("again"),
    ],
)
def test_a_neighbour_that_is_away_is_told_as_something_to_try_again(error: Exception) -> None:
    known = classify(error)
    assert known is not None
    assert known.code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED}
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a bug"),
        asyncpg.UniqueViolationError("duplicate"),
        asyncpg.InterfaceError("another operation is in progress"),
        rpc_error(grpc.StatusCode.PERMISSION_DENIED, "not you"),
    ],
)
def test_what_nobody_foresaw_is_not(error: Exception) -> None:
    assert classify(error) is None
    assert not is_transient(error)


def test_a_refusal_is_not_tried_again() -> None:
    assert not is_transient(InvalidArgument("X", "x"))
    assert not is_transient(KeyboardInterrupt())
