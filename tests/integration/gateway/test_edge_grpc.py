"""Design §7: gRPC and gRPC-Web through the edge; refusals of the edge itself look like everyone else's."""

from __future__ import annotations

import asyncio
import base64
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import grpc
import pytest
from google.rpc import status_pb2

from cardroom.chassis.errors import CardroomError, from_rpc_error, from_status
from cardroom.contracts.identity.v1 import identity_pb2
from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.contracts.spectator.v1 import spectator_pb2, spectator_pb2_grpc
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc, table_pb2, table_pb2_grpc
from tests.integration.gateway.edge import Edge, FakeServices, Issuer, fake_services

SIGN_IN = "/cardroom.identity.v1.IdentityService/SignInAsGuest"


@pytest.fixture
async def channel(edge: Edge) -> Any:
    async with grpc.aio.insecure_channel(edge.address) as made:
        yield made


@pytest.fixture
def bearer(issuer: Issuer) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {issuer.token()}")]


async def refusal(call: Awaitable[Any]) -> CardroomError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return from_rpc_error(raised.value)


async def test_a_call_and_a_stream_pass(channel: grpc.aio.Channel, bearer: list[tuple[str, str]]) -> None:
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    answer = await lobby.GetTable(lobby_pb2.GetTableRequest(table_id="t1"), metadata=bearer)
    assert answer.table.table_id == "t1"
    spectator = spectator_pb2_grpc.SpectatorServiceStub(channel)
    stream = spectator.Watch(spectator_pb2.WatchRequest(table_id="t1"), metadata=bearer)
    assert [message.version async for message in stream] == [1, 2, 3]


async def test_a_refusal_of_a_service_passes_with_its_details(
    channel: grpc.aio.Channel, bearer: list[tuple[str, str]]
) -> None:
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    error = await refusal(lobby.GetTable(lobby_pb2.GetTableRequest(table_id="unknown"), metadata=bearer))
    assert (error.code, error.reason, error.metadata) == (
        grpc.StatusCode.NOT_FOUND,
        "TABLE_UNKNOWN",
        {"key": "value"},
    )


async def test_refusals_of_the_edge_carry_a_reason(
    channel: grpc.aio.Channel, issuer: Issuer, clean_services: FakeServices
) -> None:
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    request = lobby_pb2.GetTableRequest(table_id="t1")
    missing = await refusal(lobby.GetTable(request))
    assert (missing.code, missing.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_MISSING")
    old = [("authorization", f"Bearer {issuer.token(exp=1_000_000)}")]
    expired = await refusal(lobby.GetTable(request, metadata=old))
    assert (expired.code, expired.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")
    bad = await refusal(lobby.GetTable(request, metadata=[("authorization", "Bearer a.b.c")]))
    assert (bad.code, bad.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
    assert clean_services.calls == []


async def test_internal_services_cannot_be_reached(
    channel: grpc.aio.Channel, issuer: Issuer, clean_services: FakeServices
) -> None:
    seats = internal_pb2_grpc.TableSeatServiceStub(channel)
    token = issuer.token(sub="service:lobby", scope="table.open table.seat")
    error = await refusal(
        seats.OpenTable(internal_pb2.OpenTableRequest(), metadata=[("authorization", f"Bearer {token}")])
    )
    assert (error.code, error.reason) == (grpc.StatusCode.UNIMPLEMENTED, "METHOD_UNKNOWN")
    assert clean_services.calls == []


async def test_an_oversized_message_is_refused(
    channel: grpc.aio.Channel, bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    table = table_pb2_grpc.TableServiceStub(channel)
    error = await refusal(table.Act(table_pb2.ActRequest(table_id="x" * 1_100_000), metadata=bearer))
    assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE")
    assert clean_services.calls == []


async def test_many_streams_share_one_connection(channel: grpc.aio.Channel, bearer: list[tuple[str, str]]) -> None:
    spectator = spectator_pb2_grpc.SpectatorServiceStub(channel)
    request = spectator_pb2.WatchRequest(table_id="endless")
    streams: list[Any] = [spectator.Watch(request, metadata=bearer) for _ in range(300)]
    first = await asyncio.wait_for(asyncio.gather(*(stream.read() for stream in streams)), 30)
    assert [message.version for message in first] == [1] * 300
    for stream in streams:
        stream.cancel()


async def test_grpc_web_carries_messages_in_frames(
    edge: Edge, bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    message = table_pb2.ActRequest(table_id="t1").SerializeToString()
    status, frames = await grpc_web(edge, "/cardroom.table.v1.TableService/Act", message, dict(bearer))
    assert status == 200
    (_, answer), (flag, trailers) = frames
    assert table_pb2.ActResponse.FromString(answer).version == 7
    assert flag == 128
    assert b"grpc-status:0" in trailers.replace(b" ", b"")


async def test_grpc_web_carries_streams(
    edge: Edge, bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    message = spectator_pb2.WatchRequest(table_id="t1").SerializeToString()
    _, frames = await grpc_web(edge, "/cardroom.spectator.v1.SpectatorService/Watch", message, dict(bearer))
    assert [flag for flag, _ in frames] == [0, 0, 0, 128]
    assert [spectator_pb2.WatchResponse.FromString(frame).version for _, frame in frames[:3]] == [1, 2, 3]


async def test_grpc_web_refusals_come_in_headers(edge: Edge, clean_services: FakeServices) -> None:
    headers = {"content-type": "application/grpc-web+proto", "origin": "http://localhost:3000"}
    url = f"{edge.url}/cardroom.table.v1.TableService/Act"
    async with aiohttp.ClientSession() as session, session.post(url, data=b"\0\0\0\0\0", headers=headers) as answer:
        assert answer.status == 200
        assert answer.headers["grpc-status"] == "16"
        assert answer.headers["grpc-status-details-bin"]
        assert "grpc-status-details-bin" in answer.headers["access-control-expose-headers"]
    assert clean_services.calls == []


@pytest.mark.parametrize("body", [b"", b"\0\0", b"\0\0\0\0\5abc", b"\0\0\0\0\1abc", b"\1\0\0\0\0", b"\0\0\0\0\0" * 2])
async def test_a_body_that_is_not_one_whole_message_is_refused_at_once(
    edge: Edge, bearer: list[tuple[str, str]], clean_services: FakeServices, body: bytes
) -> None:
    """Passed on, it would leave the service waiting for the rest, and the client too."""
    headers = {"content-type": "application/grpc-web+proto", **dict(bearer)}
    url = f"{edge.url}/cardroom.table.v1.TableService/Act"
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
        assert answer.headers["grpc-status"] == "3"
        details = base64.b64decode(answer.headers["grpc-status-details-bin"] + "==")
    assert from_status(status_pb2.Status.FromString(details)).reason == "MALFORMED_MESSAGE"
    assert clean_services.calls == []


async def grpc_web(
    edge: Edge, path: str, message: bytes, headers: dict[str, str]
) -> tuple[int, list[tuple[int, bytes]]]:
    """POST one framed message; return the HTTP status and the frames with their flags (0: message, 128: trailers)."""
    body = struct.pack(">BI", 0, len(message)) + message
    headers = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1", **headers}
    async with aiohttp.ClientSession() as session, session.post(edge.url + path, data=body, headers=headers) as answer:
        rest = await answer.read()
    frames = []
    while rest:
        flag, length = struct.unpack(">BI", rest[:5])
        frames.append((flag, rest[5 : 5 + length]))
        rest = rest[5 + length :]
    return answer.status, frames


async def test_a_call_that_takes_too_long_says_so(
    start_edge: Callable[..., Awaitable[Edge]], bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    clean_services.seconds = 5
    hasty = await start_edge(timeout_seconds=0.3)
    async with grpc.aio.insecure_channel(hasty.address) as channel:
        lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
        error = await refusal(lobby.GetTable(lobby_pb2.GetTableRequest(table_id="t1"), metadata=bearer))
    assert (error.code, error.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "EDGE_TIMEOUT")
    status, frames = await grpc_web(hasty, "/cardroom.lobby.v1.LobbyService/GetTable", b"", dict(bearer))
    assert (status, frames) == (200, [])


async def test_an_answer_that_says_try_again_is_tried_again(
    channel: grpc.aio.Channel, bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    clean_services.unavailable_times = 2
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    await lobby.ListTables(lobby_pb2.ListTablesRequest(), metadata=bearer)
    assert clean_services.calls == ["ListTables"] * 3


async def test_a_call_that_a_stopping_server_cancels_is_made_again(
    channel: grpc.aio.Channel, bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    clean_services.cancelled_times = 2
    lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
    await lobby.ListTables(lobby_pb2.ListTablesRequest(), metadata=bearer)
    assert clean_services.calls == ["ListTables"] * 3


async def test_a_replica_that_dies_is_left_at_once_and_then_for_good(
    start_edge: Callable[..., Awaitable[Edge]], services: FakeServices, bearer: list[tuple[str, str]]
) -> None:
    second = fake_services("second")
    await second.start()
    both = (f"127.0.0.1:{services.port}", f"127.0.0.1:{second.port}")
    edge = await start_edge(lobby_addresses=both, health_check_seconds=0.2)
    async with grpc.aio.insecure_channel(edge.address) as channel:
        lobby = lobby_pb2_grpc.LobbyServiceStub(channel)

        async def names(count: int) -> set[str]:
            request = lobby_pb2.GetTableRequest(table_id="t1")
            return {(await lobby.GetTable(request, metadata=bearer)).table.name for _ in range(count)}

        assert await names(40) == {"fake", "second"}
        await second.stop()
        # Before any health check has noticed: retries go to the other replica, and nobody sees an error.
        assert await names(40) == {"fake"}


async def test_a_replica_that_hangs_is_given_up_for_another(
    start_edge: Callable[..., Awaitable[Edge]], services: FakeServices, bearer: list[tuple[str, str]]
) -> None:
    hanging = fake_services("hanging")
    hanging.seconds = 60
    await hanging.start()
    both = (f"127.0.0.1:{services.port}", f"127.0.0.1:{hanging.port}")
    edge = await start_edge(lobby_addresses=both, try_seconds=0.2)
    async with grpc.aio.insecure_channel(edge.address) as channel:
        lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
        request = lobby_pb2.GetTableRequest(table_id="t1")
        answers = await asyncio.gather(*(lobby.GetTable(request, metadata=bearer) for _ in range(12)))
    assert {answer.table.name for answer in answers} == {"fake"}
    assert hanging.calls
    await hanging.stop()


async def test_without_keys_nobody_is_told_that_their_token_is_bad(
    start_edge: Callable[..., Awaitable[Edge]], bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    edge = await start_edge(jwks_url="http://127.0.0.1:1/none.json", wait_for_keys=False)
    async with grpc.aio.insecure_channel(edge.address) as channel:
        lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
        error = await refusal(lobby.ListTables(lobby_pb2.ListTablesRequest(), metadata=bearer))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "KEYS_UNAVAILABLE")
    assert clean_services.calls == []


async def test_no_replica_at_all_says_so(
    start_edge: Callable[..., Awaitable[Edge]], bearer: list[tuple[str, str]]
) -> None:
    edge = await start_edge(table_addresses=("127.0.0.1:1",))
    async with grpc.aio.insecure_channel(edge.address) as channel:
        table = table_pb2_grpc.TableServiceStub(channel)
        error = await refusal(table.Act(table_pb2.ActRequest(table_id="t1"), metadata=bearer))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "SERVICE_UNAVAILABLE")


async def test_sign_ins_have_a_limit_of_their_own(
    start_edge: Callable[..., Awaitable[Edge]], bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    edge = await start_edge(sign_in_address_rate_per_minute=3)
    async with grpc.aio.insecure_channel(edge.address) as channel:
        sign_in = channel.unary_unary(
            SIGN_IN,
            request_serializer=identity_pb2.SignInAsGuestRequest.SerializeToString,
            response_deserializer=identity_pb2.SignInAsGuestResponse.FromString,
        )
        # No identity service is behind this edge: an allowed sign-in is answered UNIMPLEMENTED by the fake one.
        errors = [await refusal(sign_in(identity_pb2.SignInAsGuestRequest())) for _ in range(5)]
        lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
        await lobby.GetTable(lobby_pb2.GetTableRequest(table_id="t1"), metadata=bearer)
    assert [error.reason for error in errors] == ["UNIMPLEMENTED"] * 3 + ["RATE_LIMITED"] * 2
    assert errors[-1].code == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_one_connection_cannot_take_what_is_for_all(
    start_edge: Callable[..., Awaitable[Edge]], bearer: list[tuple[str, str]], clean_services: FakeServices
) -> None:
    edge = await start_edge(connection_rate_per_second=2)
    began = time.monotonic()
    async with grpc.aio.insecure_channel(edge.address, options=[("grpc.use_local_subchannel_pool", 1)]) as greedy:
        lobby = lobby_pb2_grpc.LobbyServiceStub(greedy)
        calls = [lobby.ListTables(lobby_pb2.ListTablesRequest(), metadata=bearer) for _ in range(20)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert 20 - len(refused) <= 4 + 2 * (time.monotonic() - began)
    assert {from_rpc_error(error).reason for error in refused} == {"RATE_LIMITED"}
    async with grpc.aio.insecure_channel(edge.address, options=[("grpc.use_local_subchannel_pool", 1)]) as other:
        await lobby_pb2_grpc.LobbyServiceStub(other).ListTables(lobby_pb2.ListTablesRequest(), metadata=bearer)
