"""A clock on a real database and a real broker, with tables in memory that publish as the table service does."""

from __future__ import annotations

import asyncio
import inspect
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import grpc
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.channels import Channels
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.clock.app import build
from cardroom.clock.settings import ClockSettings
from cardroom.contracts.clock.v1 import clock_pb2, clock_pb2_grpc
from cardroom.local.postgres import AS_UTF8
from tests.integration.clock.room import FakeTables, serve

KEY = ECKey.generate_key("P-256", {"kid": "k1"})


def token(subject: str, scope: str = "play") -> tuple[tuple[str, str], ...]:
    """The metadata of a signed-in caller."""
    now = int(time.time())
    claims = {"iss": "https://cardroom.local", "aud": "cardroom", "sub": subject, "scope": scope}
    text = jwt.encode({"alg": "ES256", "kid": "k1"}, claims | {"iat": now, "exp": now + 600}, KEY)
    return (("authorization", f"Bearer {text}"),)


async def until(true: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait for something that the clock does by itself."""
    give_up = time.monotonic() + seconds
    while True:
        value = true()
        if await value if inspect.isawaitable(value) else value:
            return
        assert time.monotonic() < give_up, f"did not happen within {seconds} s"
        await asyncio.sleep(0.01)


@dataclass
class Clock:
    """A running clock."""

    app: App
    channel: grpc.aio.Channel

    async def bank_ms(self, player_id: str, who: Any = None) -> int:
        """What is left of a player's bank."""
        return int((await self.bank(player_id, who)).left_ms)

    async def bank(self, player_id: str, who: Any = None) -> clock_pb2.GetTimeBankResponse:
        """A player's bank."""
        stub: Any = clock_pb2_grpc.ClockServiceStub(self.channel)
        request = clock_pb2.GetTimeBankRequest(player_id=player_id)
        answer: clock_pb2.GetTimeBankResponse = await stub.GetTimeBank(
            request, metadata=who or token("service:lobby", "clock.bank")
        )
        assert answer.full_ms == 30_000
        return answer


@dataclass
class Site:
    """Where clocks run: their database, their broker, the tables they tell."""

    url: str
    amqp_url: str
    table_address: str
    pool: Any

    @asynccontextmanager
    async def clock(self) -> AsyncIterator[Clock]:
        """Run a clock for a while."""
        settings = ClockSettings(
            database_url=self.url,
            amqp_url=self.amqp_url,
            grpc_port=0,
            ops_port=0,
            table_address=self.table_address,
        )
        verifier = TokenVerifier(settings, keys=KeySet([KEY]))
        app = await build(settings, channels=Channels(settings, token=lambda: "clock"), verifier=verifier)
        try:
            await app.start()
            await until(lambda: not app.not_ready(), 60)
            server = next(part for part in app._parts if isinstance(part, GrpcServer))
            async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
                yield Clock(app, channel)
        finally:
            await app.stop()

    async def timer(self, table_id: str) -> Any:
        """The table's row."""
        return await self.pool.fetchrow("SELECT * FROM timers WHERE table_id = $1", table_id)

    async def until_timer(self, table_id: str, **fields: object) -> None:
        """Wait until the table's row is so."""

        async def is_so() -> bool:
            row = await self.timer(table_id)
            return row is not None and all(row[key] == value for key, value in fields.items())

        await until(is_so)


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[tuple[FakeTables, str]]:
    """The tables, and where they are."""
    tables = FakeTables()
    server, port = await serve(tables)
    yield tables, f"127.0.0.1:{port}"
    await server.stop(None)


@pytest.fixture
def tables(served: tuple[FakeTables, str]) -> FakeTables:
    """Tables that answer."""
    served[0].down = False
    served[0].stale.clear()
    return served[0]


@pytest.fixture(scope="module")
async def site(postgres_url: str, amqp_url: str, served: tuple[FakeTables, str]) -> AsyncIterator[Site]:
    """A database and a broker for the module's clocks."""
    name = f"clock_{secrets.token_hex(6)}"
    conn = await asyncpg.connect(postgres_url)
    await conn.execute(f"CREATE DATABASE {name} {AS_UTF8}")
    url = urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    async with asyncpg.create_pool(url, min_size=1, max_size=3) as pool:
        yield Site(url, amqp_url, served[1], pool)
    await conn.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await conn.close()


@pytest.fixture(scope="module")
async def clock(site: Site) -> AsyncIterator[Clock]:
    """A running clock."""
    async with site.clock() as made:
        yield made


Publish = Callable[..., Awaitable[None]]


@pytest.fixture(scope="module")
async def publish(amqp_url: str) -> AsyncIterator[Publish]:
    """The tables' way to the broker."""
    bus = EventBus(amqp_url, "table")
    await bus.start()
    await bus.wait_connected()

    async def publish(*messages: Any) -> None:
        await bus.publish(messages)

    yield publish
    await bus.stop()
