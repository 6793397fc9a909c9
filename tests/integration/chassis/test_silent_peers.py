"""Servers, channels and the client notice a peer from whom nothing comes any more, whatever was under way (rule 9.5).

At a tenth of the real times: the options themselves are tried, not their numbers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from cardroom.chassis import channels, grpc_server
from cardroom.client import transport
from tests.relay import Relay

Options = Sequence[tuple[str, Any]]
FASTER = 10
TOLERANCE_SECONDS = 3.0


class Watched(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # it has no types
    """Streams one message and then nothing; knows when the stream is over."""

    def __init__(self) -> None:
        self.is_over = asyncio.Event()

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        try:
            yield health_pb2.HealthCheckResponse()
            await asyncio.sleep(60)
        finally:
            self.is_over.set()


def faster(options: Options) -> list[tuple[str, Any]]:
    """The same options with all times a tenth."""
    return [(name, value // FASTER if name.endswith("_ms") else value) for name, value in options]


def limit(options: Options) -> float:
    """Seconds within which a silent peer is noticed, at the faster pace."""
    times: dict[str, int] = dict(options)
    return (times["grpc.keepalive_time_ms"] + times["grpc.keepalive_timeout_ms"]) / FASTER / 1000 + TOLERANCE_SECONDS


async def test_a_server_notices_that_a_client_has_fallen_silent() -> None:
    watched, server = Watched(), grpc.aio.server(options=faster(grpc_server.OPTIONS))
    health_pb2_grpc.add_HealthServicer_to_server(watched, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with Relay(f"127.0.0.1:{port}") as relay, grpc.aio.insecure_channel(relay.address) as channel:
        stream = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        await stream.read()
        relay.cut()
        async with asyncio.timeout(limit(grpc_server.OPTIONS)):
            await watched.is_over.wait()
        stream.cancel()
    await server.stop(None)


@pytest.mark.parametrize("options", [channels.OPTIONS, transport._CHANNEL_OPTIONS], ids=["service", "client"])
async def test_a_channel_notices_that_its_server_has_fallen_silent_and_finds_back(options: Options) -> None:
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(Watched(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with (
        Relay(f"127.0.0.1:{port}") as relay,
        grpc.aio.insecure_channel(relay.address, options=faster(options)) as channel,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        stream = stub.Watch(health_pb2.HealthCheckRequest())
        await stream.read()
        # A ping may be on its way at any moment; here one surely is, for what has just been read.
        relay.cut()
        began = time.monotonic()
        with pytest.raises(grpc.aio.AioRpcError) as noticed:
            await asyncio.wait_for(stream.read(), limit(options))
        assert noticed.value.code() is grpc.StatusCode.UNAVAILABLE
        assert time.monotonic() - began < limit(options)
        relay.mend()
        again = stub.Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=10)
        await again.read()
        again.cancel()
    await server.stop(None)
