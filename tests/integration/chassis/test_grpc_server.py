"""The guarded server over a real connection: tokens, errors, bad bytes, limits, streams, health, stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client import REGISTRY

from cardroom.chassis import auth, telemetry
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import CardroomError, NotFound, from_rpc_error
from cardroom.chassis.grpc_server import MAX_REQUEST_BYTES, GrpcServer
from cardroom.chassis.settings import ServiceSettings
from cardroom.contracts.identity.v1 import identity_pb2 as pb
from cardroom.contracts.identity.v1 import identity_pb2_grpc as pb_grpc
from tests.unit.chassis.tokens import KEYS, signed

SERVICE = "cardroom.identity.v1.IdentityService"
WHO_AM_I = f"/{SERVICE}/WhoAmI"
GUEST = f"/{SERVICE}/SignInAsGuest"
RAW, STREAM, WRITTEN = "/test.Raw/Echo", "/test.Raw/Count", "/test.Raw/Written"


class Identity(pb_grpc.IdentityServiceServicer):
    """Says who calls; fails in the way that a display name asks for."""

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:
        return pb.WhoAmIResponse(subject=auth.caller().player_id)

    async def SignInAsGuest(self, request: pb.SignInAsGuestRequest, context: Any) -> pb.SignInAsGuestResponse:
        if request.display_name == "missing":
            raise NotFound("TABLE_UNKNOWN", "no table 'é'", table="é")
        if request.display_name == "bug":
            raise KeyError("Ah Kd")
        if request.display_name == "database":
            raise asyncpg.ConnectionDoesNotExistError("gone")
        if request.display_name == "slow":
            await asyncio.sleep(0.2)
        return pb.SignInAsGuestResponse()

    async def RefreshToken(self, request: pb.RefreshTokenRequest, context: Any) -> pb.RefreshTokenResponse:
        raise NotImplementedError

    async def IssueServiceToken(
        self, request: pb.IssueServiceTokenRequest, context: Any
    ) -> pb.IssueServiceTokenResponse:
        raise NotImplementedError


class RawHandlers(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Bytes in, bytes out."""

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return {
            RAW: grpc.unary_unary_rpc_method_handler(self.echo),
            STREAM: grpc.unary_stream_rpc_method_handler(self.count),
            WRITTEN: grpc.unary_stream_rpc_method_handler(self.written),
        }.get(str(details.method))

    async def echo(self, request: bytes, context: Any) -> bytes:
        return request + auth.caller().subject.encode()

    async def count(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        for number in range(int(request)):
            yield str(number).encode()
        if request == b"3":
            raise NotFound("STREAM_OVER", "no more")
        await asyncio.sleep(60)

    async def written(self, request: bytes, context: Any) -> None:
        await context.write(b"one")
        await context.write(b"two")


class Side:
    """A running server and a plain channel to it."""

    def __init__(self) -> None:
        self.settings = ServiceSettings(grpc_port=0, ops_port=0)
        services = [(Identity(), pb_grpc.add_IdentityServiceServicer_to_server, SERVICE)]
        self.server = GrpcServer(
            self.settings,
            services,
            TokenVerifier(self.settings, keys=KEYS),
            public_methods=[GUEST],
            generic_handlers=[RawHandlers()],
        )
        self.channel: grpc.aio.Channel

    async def call(self, method: str, body: bytes = b"", token: str | None = None, **kwargs: Any) -> bytes:
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        answer: bytes = await self.channel.unary_unary(method, None, None)(body, metadata=metadata, **kwargs)
        return answer

    async def refused(self, method: str, body: bytes = b"", token: str | None = None) -> CardroomError:
        with pytest.raises(grpc.RpcError) as error:
            await self.call(method, body, token)
        return from_rpc_error(error.value)

    async def guest(self, name: str) -> CardroomError:
        return await self.refused(GUEST, pb.SignInAsGuestRequest(display_name=name).SerializeToString())


@pytest.fixture
async def side() -> AsyncIterator[Side]:
    made = Side()
    await made.server.start()
    made.channel = grpc.aio.insecure_channel(f"127.0.0.1:{made.server.port}")
    yield made
    await made.channel.close(None)
    await made.server.stop()


async def test_the_handler_knows_the_caller_from_the_token(side: Side) -> None:
    answer = await side.call(WHO_AM_I, token=signed(sub="player-7"))
    assert pb.WhoAmIResponse.FromString(answer).subject == "player-7"


@pytest.mark.parametrize(
    ("token", "reason"),
    [(None, "TOKEN_MISSING"), ("x", "TOKEN_INVALID"), ("a.b.c", "TOKEN_INVALID"), ("x y", "TOKEN_INVALID")],
)
async def test_without_a_good_token_a_call_is_refused(side: Side, token: str | None, reason: str) -> None:
    error = await side.refused(WHO_AM_I, token=token)
    assert (error.code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, reason)


async def test_an_expired_token_and_a_missing_role_have_their_own_reasons(side: Side) -> None:
    assert (await side.refused(WHO_AM_I, token=signed(exp=1))).reason == "TOKEN_EXPIRED"
    assert (await side.refused(WHO_AM_I, token=signed(scope="operator"))).reason == "NOT_A_PLAYER"


async def test_a_public_method_takes_no_token_and_minds_no_bad_one(side: Side) -> None:
    await side.call(GUEST)
    await side.call(GUEST, token=signed(exp=1))


async def test_errors_carry_reason_and_metadata(side: Side) -> None:
    error = await side.guest("missing")
    assert (error.code, error.reason, error.message) == (grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN", "no table 'é'")
    assert error.metadata == {"table": "é"}


async def test_an_unforeseen_failure_tells_the_caller_a_trace_id_and_the_log_the_rest(
    side: Side, capsys: pytest.CaptureFixture[str]
) -> None:
    error = await side.guest("bug")
    assert (error.code, error.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL_ERROR")
    assert "Ah" not in str(error)
    logged = capsys.readouterr().out
    assert error.metadata["trace_id"] in logged
    assert "KeyError" in logged


async def test_a_database_that_is_away_can_be_tried_again(side: Side) -> None:
    error = await side.guest("database")
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "DATABASE_UNAVAILABLE")


async def test_bytes_that_are_no_message_are_refused(side: Side) -> None:
    error = await side.refused(GUEST, b"\xff\xff\xff")
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_MESSAGE")
    assert GUEST in error.message


async def test_an_oversized_message_is_refused_and_the_next_call_works(side: Side) -> None:
    error = await side.refused(GUEST, b"x" * (MAX_REQUEST_BYTES + 1))
    assert error.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    await side.call(GUEST)


async def test_an_unknown_method_is_unimplemented(side: Side) -> None:
    assert (await side.refused("/no.Such/Method", token=signed())).code is grpc.StatusCode.UNIMPLEMENTED
    error = await side.refused(f"/{SERVICE}/Nothing", token=signed())
    assert (error.code, error.reason) == (grpc.StatusCode.UNIMPLEMENTED, "METHOD_UNKNOWN")


async def test_raw_bytes_pass_through_guarded(side: Side) -> None:
    assert await side.call(RAW, b"hello ", signed(sub="p")) == b"hello p"
    assert (await side.refused(RAW, b"hello")).reason == "TOKEN_MISSING"


async def stream(
    side: Side, method: str, body: bytes, token: str | None = None
) -> tuple[list[bytes], CardroomError | None]:
    """Read a stream to its end; return what came and how it ended."""
    metadata = (("authorization", f"Bearer {token or signed()}"),)
    got: list[bytes] = []
    try:
        async for part in side.channel.unary_stream(method, None, None)(body, metadata=metadata):
            got.append(part)  # noqa: PERF401 - what came before an error counts
    except grpc.RpcError as error:
        return got, from_rpc_error(error)
    return got, None


async def test_streams_are_guarded_and_end_with_their_error(side: Side) -> None:
    got, error = await stream(side, STREAM, b"3")
    assert got == [b"0", b"1", b"2"]
    assert error is not None
    assert error.reason == "STREAM_OVER"
    assert await stream(side, WRITTEN, b"") == ([b"one", b"two"], None)
    _, refused = await stream(side, STREAM, b"1", "nonsense")
    assert refused is not None
    assert refused.reason == "TOKEN_INVALID"


async def test_a_stop_ends_streams_at_once_and_lets_calls_finish(
    side: Side, until: Callable[..., Awaitable[None]]
) -> None:
    running = asyncio.create_task(stream(side, STREAM, b"2"))
    slow = asyncio.create_task(side.call(GUEST, pb.SignInAsGuestRequest(display_name="slow").SerializeToString()))
    labels = {"method": STREAM}
    await until(lambda: REGISTRY.get_sample_value("cardroom_rpc_streams", labels) == 1)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(15):
        await side.server.stop(grace=60)
        got, error = await running
        await slow
    assert got == [b"0", b"1"]
    assert error is not None
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "SERVER_STOPPING")
    assert REGISTRY.get_sample_value("cardroom_rpc_streams", labels) == 0


async def test_a_client_that_goes_away_frees_its_stream(side: Side, until: Callable[..., Awaitable[None]]) -> None:
    call = side.channel.unary_stream(STREAM, None, None)(b"1", metadata=(("authorization", f"Bearer {signed()}"),))
    assert await call.read() == b"0"
    call.cancel()
    await until(lambda: REGISTRY.get_sample_value("cardroom_rpc_streams", {"method": STREAM}) == 0)


async def test_health_says_whether_to_send_work(side: Side) -> None:
    health = health_pb2_grpc.HealthStub(side.channel)
    for name in ("", SERVICE):
        answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    await side.server.drain()
    answer = await health.Check(health_pb2.HealthCheckRequest(service=SERVICE))
    assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
    await side.call(GUEST)


async def test_reflection_lists_the_services(side: Side) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(side.channel)
    asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    answers = [answer async for answer in stub.ServerReflectionInfo(asked)]
    assert SERVICE in {one.name for one in answers[0].list_services_response.service}


async def test_calls_are_counted_by_method_and_status(side: Side) -> None:
    def counted(code: str) -> float:
        return REGISTRY.get_sample_value("cardroom_rpc_total", {"method": GUEST, "code": code}) or 0

    before = counted("OK"), counted("NOT_FOUND")
    await side.call(GUEST)
    await side.guest("missing")
    assert (counted("OK") - before[0], counted("NOT_FOUND") - before[1]) == (1, 1)


async def test_a_port_that_is_taken_is_an_error(side: Side) -> None:
    taken = side.settings.model_copy(update={"grpc_port": side.server.port})
    other = GrpcServer(taken, [], TokenVerifier(taken, keys=KEYS))
    with pytest.raises(RuntimeError, match=str(side.server.port)):
        await other.start()


async def test_a_trace_goes_on_from_the_client_into_the_handler(side: Side, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    telemetry.setup(ServiceSettings(trace_file=path))
    channels = Channels(side.settings, token=signed)
    try:
        identity = pb_grpc.IdentityServiceStub(channels.channel(f"127.0.0.1:{side.server.port}"))
        with telemetry.span("play"):
            await identity.WhoAmI(pb.WhoAmIRequest())
        await asyncio.sleep(0.05)
    finally:
        await channels.close()
        telemetry.shutdown()
    spans = {one["kind"]: one for one in map(json.loads, path.read_text().splitlines())}
    assert spans["client"]["parent_id"] == spans["internal"]["span_id"]
    assert spans["server"]["parent_id"] == spans["client"]["span_id"]
    assert spans["server"]["name"] == WHO_AM_I
    assert len({one["trace_id"] for one in spans.values()}) == 1
