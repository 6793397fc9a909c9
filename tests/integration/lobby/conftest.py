"""A lobby on a real database and a real broker, with neighbours in memory, and players who call it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import grpc
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis import database
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.app import build
from cardroom.lobby.settings import LobbySettings
from cardroom.local.postgres import AS_UTF8
from tests.integration.lobby.neighbours import Neighbours, serve

KEY = ECKey.generate_key("P-256", {"kid": "k1"})
STAKES = view_pb2.Stakes(game=view_pb2.GAME_NO_LIMIT_HOLDEM, small_blind=10, big_blind=20, seats=6)


def token(subject: str, scope: str = "play", name: str = "") -> tuple[tuple[str, str], ...]:
    """The metadata of a signed-in caller."""
    now = int(time.time())
    claims = {"iss": "https://cardroom.local", "aud": "cardroom", "sub": subject, "scope": scope, "name": name}
    text = jwt.encode({"alg": "ES256", "kid": "k1"}, claims | {"iat": now, "exp": now + 600}, KEY)
    return (("authorization", f"Bearer {text}"),)


class Player:
    """A signed-in player who asks one lobby."""

    def __init__(self, channel: grpc.aio.Channel, player_id: str | None = None, name: str = "Ada") -> None:
        self.id = player_id or str(uuid4())
        self._stub: Any = lobby_pb2_grpc.LobbyServiceStub(channel)
        self._who = token(self.id, name=name)

    async def sit(self, table_id: str, *, seat: int = 0, buy_in: int = 1000, request_id: str = "") -> Any:
        """Sit down; returns the Seating."""
        request = lobby_pb2.SitDownRequest(
            table_id=table_id, seat=seat, buy_in=buy_in, request_id=request_id or str(uuid4())
        )
        return (await self._stub.SitDown(request, metadata=self._who)).seating

    async def leave(self, table_id: str, seating_id: str = "") -> Any:
        """Leave; returns the whole answer."""
        request = lobby_pb2.LeaveTableRequest(table_id=table_id, seating_id=seating_id)
        return await self._stub.LeaveTable(request, metadata=self._who)

    async def top_up(self, table_id: str, amount: int, request_id: str = "") -> Any:
        """Top up; returns the answer."""
        request = lobby_pb2.TopUpRequest(table_id=table_id, amount=amount, request_id=request_id or str(uuid4()))
        return await self._stub.TopUp(request, metadata=self._who)

    async def seat(self) -> Any:
        """Where the player sits, or None."""
        answer = await self._stub.GetMySeat(lobby_pb2.GetMySeatRequest(), metadata=self._who)
        return answer.seating if answer.HasField("seating") else None

    async def tables(self, **asked: Any) -> Any:
        """A page of tables."""
        return await self._stub.ListTables(lobby_pb2.ListTablesRequest(**asked), metadata=self._who)

    async def table(self, table_id: str) -> Any:
        """One table."""
        answer = await self._stub.GetTable(lobby_pb2.GetTableRequest(table_id=table_id), metadata=self._who)
        return answer.table


@dataclass
class Lobby:
    """A running lobby."""

    app: App
    channel: grpc.aio.Channel
    pool: database.Pool
    neighbours: Neighbours

    def player(self, player_id: str | None = None, name: str = "Ada") -> Player:
        """A player who asks this lobby."""
        return Player(self.channel, player_id, name)

    @property
    def admin(self) -> Any:
        """LobbyAdminService."""
        return lobby_pb2_grpc.LobbyAdminServiceStub(self.channel)

    async def create(self, *, name: str = "Table", request_id: str = "", who: Any = None, **stakes: Any) -> Any:
        """Open a table; returns it."""
        wanted = view_pb2.Stakes()
        wanted.CopyFrom(STAKES)
        for key, value in stakes.items():
            setattr(wanted, key, value)
        request = lobby_pb2.CreateTableRequest(name=name, stakes=wanted, request_id=request_id or str(uuid4()))
        return (await self.admin.CreateTable(request, metadata=who or token("op", "operator"))).table

    async def close(self, table_id: str) -> None:
        """Close a table."""
        request = lobby_pb2.CloseTableRequest(table_id=table_id)
        await self.admin.CloseTable(request, metadata=token("op", "operator"))


@pytest.fixture(scope="module")
async def neighbourhood() -> AsyncIterator[Neighbours]:
    """Wallet, tables and clock in memory, for one module."""
    state = Neighbours()
    server, state.address = await serve(state)
    yield state
    await server.stop(None)


@pytest.fixture
def neighbours(neighbourhood: Neighbours) -> Neighbours:
    """Wallet, tables and clock, all well."""
    neighbourhood.be_well()
    return neighbourhood


@pytest.fixture(scope="module")
async def module_database(postgres_url: str) -> AsyncIterator[str]:
    """A database for one module: a lobby takes a second to start, its tests milliseconds."""
    name = f"lobby_{secrets.token_hex(6)}"
    conn = await asyncpg.connect(postgres_url)
    await conn.execute(f"CREATE DATABASE {name} {AS_UTF8}")
    yield urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    await conn.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await conn.close()


async def start(url: str, amqp_url: str, neighbours: Neighbours, **changes: Any) -> Lobby:
    """Start a lobby replica, with these settings."""
    settings = LobbySettings(
        database_url=url,
        amqp_url=amqp_url,
        grpc_port=0,
        ops_port=0,
        table_address=neighbours.address,
        wallet_address=neighbours.address,
        clock_address=neighbours.address,
        **changes,
    )
    verifier = TokenVerifier(settings, keys=KeySet([KEY]))
    app = await build(settings, channels=Channels(settings, token=lambda: "lobby"), verifier=verifier)
    async with AsyncExitStack() as until_started:
        until_started.push_async_callback(app.stop)
        await app.start()
        await until(app_is_ready(app), 60)
        server = next(part for part in app._parts if isinstance(part, GrpcServer))
        pool = await asyncpg.create_pool(url, min_size=1, max_size=4)
        until_started.pop_all()
    return Lobby(app, grpc.aio.insecure_channel(f"127.0.0.1:{server.port}"), pool, neighbours)


async def stop(lobby: Lobby) -> None:
    """Stop a lobby replica."""
    await lobby.channel.close(None)
    await lobby.app.stop()
    await lobby.pool.close()


@pytest.fixture(scope="module")
async def first_lobby(module_database: str, amqp_url: str, neighbourhood: Neighbours) -> AsyncIterator[Lobby]:
    """The module's lobby."""
    lobby = await start(module_database, amqp_url, neighbourhood)
    yield lobby
    await stop(lobby)


@pytest.fixture(scope="module")
async def second_lobby(
    first_lobby: Lobby, module_database: str, amqp_url: str, neighbourhood: Neighbours
) -> AsyncIterator[Lobby]:
    """Another replica of it."""
    lobby = await start(module_database, amqp_url, neighbourhood)
    yield lobby
    await stop(lobby)


@pytest.fixture
def lobby(first_lobby: Lobby, neighbours: Neighbours) -> Lobby:
    """A running lobby whose neighbours are well."""
    return first_lobby


@pytest.fixture
async def table_id(lobby: Lobby) -> str:
    """An open table, 10/20, six seats, buy-ins of 800 to 2,000."""
    return str((await lobby.create()).table_id)


async def refusal(call: Awaitable[Any]) -> CardroomError:
    """What a call was refused with."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return from_rpc_error(raised.value)


def app_is_ready(app: App) -> Callable[[], Awaitable[bool]]:
    """Whether the app has its broker, keys and database."""

    async def is_ready() -> bool:
        return not app.not_ready()

    return is_ready


async def until(true: Callable[[], Awaitable[Any]], seconds: float = 30.0) -> Any:
    """Wait for something that the lobby does by itself."""
    give_up = time.monotonic() + seconds
    while True:
        value = await true()
        if value:
            return value
        assert time.monotonic() < give_up, f"did not happen within {seconds} s"
        await asyncio.sleep(0.02)
