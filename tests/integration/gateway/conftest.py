"""The identity service on a real database, and a real Envoy."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from cardroom.chassis.service import App
from cardroom.contracts.identity.v1 import identity_pb2_grpc
from cardroom.gateway.app import JWKS_PATH, build
from cardroom.gateway.settings import GatewaySettings
from tests.integration.gateway.edge import Edge, FakeServices, Issuer, fake_services, free_port

BEHIND = ("gateway", "table", "lobby", "wallet", "clock", "spectator")
CLIENTS = [{"client_id": "wallet-team", "secret": "wallet-team-secret", "scopes": ["wallet.read", "wallet.hold"]}]


@dataclass(frozen=True)
class Gateway:
    """A running identity service."""

    app: App
    settings: GatewaySettings
    stub: Any
    address: str
    jwks_url: str


StartGateway = Callable[..., Awaitable[Gateway]]


@pytest.fixture
async def start_gateway(
    fresh_database: Callable[[], Awaitable[str]],
) -> AsyncIterator[Callable[..., Awaitable[Gateway]]]:
    """A factory of identity services: `gateway = await start_gateway(access_token_seconds=5)`."""
    apps: list[App] = []
    channels: list[grpc.aio.Channel] = []
    shared: dict[str, Any] = {
        "database_url": await fresh_database(),
        "key_encryption_key": base64.b64encode(secrets.token_bytes(32)).decode(),
    }

    async def start(**changes: Any) -> Gateway:
        ports = {"grpc_port": free_port(), "ops_port": free_port()}
        given = {**shared, **ports, "clients": json.loads(json.dumps(CLIENTS)), **changes}
        settings = GatewaySettings(**given)
        app = await build(settings)
        apps.append(app)
        await app.start()
        await app.ops.start()
        address = f"127.0.0.1:{settings.grpc_port}"
        channel = grpc.aio.insecure_channel(address)
        channels.append(channel)
        stub = identity_pb2_grpc.IdentityServiceStub(channel)  # type: ignore[no-untyped-call,unused-ignore]
        return Gateway(app, settings, stub, address, f"http://127.0.0.1:{settings.ops_port}{JWKS_PATH}")

    yield start
    for channel in channels:
        await channel.close(None)
    for app in apps:
        await app.stop()
        await app.ops.stop()


@pytest.fixture
async def gateway(start_gateway: Callable[..., Awaitable[Gateway]]) -> Gateway:
    """One identity service with its ordinary settings."""
    return await start_gateway()


@pytest.fixture(scope="module")
async def issuer() -> AsyncIterator[Issuer]:
    """Keys and tokens without an identity service."""
    made = Issuer()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(scope="module")
async def services() -> AsyncIterator[FakeServices]:
    """What is behind the edge."""
    made = fake_services()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def clean_services(services: FakeServices) -> FakeServices:
    """The same, with nothing recorded and nothing set."""
    services.calls.clear()
    services.metadata.clear()
    services.seconds, services.unavailable_times = 0.0, 0
    return services


@pytest.fixture(scope="module")
async def start_edge(
    issuer: Issuer, services: FakeServices, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Callable[..., Awaitable[Edge]]]:
    """A factory of Envoys in front of `services`: `edge = await start_edge(rate_per_second=1)`."""
    edges: list[Edge] = []
    folder: Path = tmp_path_factory.mktemp("envoy")

    async def start(**changes: Any) -> Edge:
        here = (f"127.0.0.1:{services.port}",)
        addresses = {
            f"{name}_addresses": here for name in ("gateway", "table", "lobby", "wallet", "clock", "spectator")
        }
        edge = Edge(folder, **{"jwks_url": issuer.url, **addresses, **changes})
        edges.append(edge)
        await edge.start()
        return edge

    yield start
    for edge in edges:
        await edge.stop()


@pytest.fixture(scope="module")
async def edge(start_edge: Callable[..., Awaitable[Edge]]) -> Edge:
    """One Envoy with its ordinary settings."""
    return await start_edge()
