"""Design §7: drain on shutdown. Calls that run end well; streams are told to go elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import grpc

from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.local.ports import free_port
from tests.integration.gateway.edge import FakeServices, Issuer
from tests.processes import running

BEHIND = ("GATEWAY", "TABLE", "LOBBY", "WALLET", "CLOCK", "SPECTATOR")


async def test_a_stop_lets_running_calls_end(issuer: Issuer, clean_services: FakeServices) -> None:
    port = free_port()
    own = {
        "CARDROOM_EDGE_PORT": str(port),
        "CARDROOM_EDGE_ADMIN_PORT": str(free_port()),
        "CARDROOM_EDGE_JWKS_URL": issuer.url,
        **{f"CARDROOM_EDGE_{name}_ADDRESSES": f"127.0.0.1:{clean_services.port}" for name in BEHIND},
    }
    command = (sys.executable, "-m", "cardroom.gateway.envoy", "--run")
    bearer = [("authorization", f"Bearer {issuer.token()}")]
    async with running(*command, env={**os.environ, **own}) as edge:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            lobby = lobby_pb2_grpc.LobbyServiceStub(channel)
            request = lobby_pb2.GetTableRequest(table_id="t1")
            await until_answered(lobby, request, bearer)
            clean_services.seconds = 1.0
            call = asyncio.ensure_future(lobby.GetTable(request, metadata=bearer))
            await asyncio.sleep(0.2)
            edge.send_signal(signal.SIGTERM)
            assert (await call).table.table_id == "t1"
        assert await asyncio.wait_for(edge.wait(), 30) == 0


async def until_answered(lobby: object, request: object, metadata: list[tuple[str, str]]) -> None:
    """Wait for Envoy to be up, with keys and healthy services."""
    async with asyncio.timeout(30):
        while True:
            try:
                await lobby.GetTable(request, metadata=metadata, timeout=2)  # type: ignore[attr-defined]
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.1)
            else:
                return
