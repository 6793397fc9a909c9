"""The identity service on a real database, and a real Envoy."""

from __future__ import annotations

import base64
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import grpc
import pytest

from cardroom.chassis.service import App
from cardroom.contracts.identity.v1 import identity_pb2_grpc
from cardroom.gateway.app import JWKS_PATH, build
from cardroom.gateway.settings import GatewaySettings
from cardroom.local.ports import free_port
from cardroom.local.postgres import AS_UTF8
from tests.integration.gateway.edge import Edge, FakeServices, Issuer, fake_services

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
async def start_gateway(fresh_database: Callable[[], Awaitable[str]]) -> AsyncIterator[StartGateway]:
    """A factory of identity services on one empty database: `await start_gateway(access_token_seconds=5)`."""
    async with gateways(await fresh_database()) as start:
        yield start


@pytest.fixture(scope="module")
async def gateway(postgres_url: str) -> AsyncIterator[Gateway]:
    """One identity service with its ordinary settings, for a whole module."""
    name = f"gateway_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f'create database "{name}" {AS_UTF8}')
    async with gateways(urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))) as start:
        yield await start()
    await connection.execute(f'drop database "{name}" with (force)')
    await connection.close()


@asynccontextmanager
async def gateways(database_url: str) -> AsyncIterator[StartGateway]:
    """A factory of identity services that share a database and a key."""
    apps: list[App] = []
    channels: list[grpc.aio.Channel] = []
    key = base64.b64encode(secrets.token_bytes(32)).decode()

    async def start(**changes: Any) -> Gateway:
        ports = {"grpc_port": free_port(), "ops_port": free_port()}
        shared = {"database_url": database_url, "key_encryption_key": key, "clients": CLIENTS}
        settings = GatewaySettings(**{**shared, **ports, **changes})
        app = await build(settings)
        apps.append(app)
        await app.start()
        await app.ops.start()
        address = f"127.0.0.1:{settings.grpc_port}"
        channel = grpc.aio.insecure_channel(address)
        channels.append(channel)
        stub: Any = identity_pb2_grpc.IdentityServiceStub(channel)
        return Gateway(app, settings, stub, address, f"http://127.0.0.1:{settings.ops_port}{JWKS_PATH}")

    yield start
    for channel in channels:
        await channel.close(None)
    for app in apps:
        await app.stop()
        await app.ops.stop()


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
