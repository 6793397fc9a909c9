"""The spectator on a real database and a real broker, with the table service's part played by the tests."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import grpc
import pytest

from cardroom.chassis.bus import EventBus, Message
from cardroom.chassis.service import App
from cardroom.contracts.events.v1.events_pb2 import TableChanged, TablesChanged
from cardroom.contracts.spectator.v1 import spectator_pb2, spectator_pb2_grpc
from cardroom.contracts.table.v1.view_pb2 import PublicView, StackChanged, TableEvent
from cardroom.local.ports import free_port
from cardroom.local.postgres import AS_UTF8
from cardroom.spectator.app import build
from cardroom.spectator.events import BINDINGS, QUEUE
from cardroom.spectator.settings import SpectatorSettings
from tests.integration.gateway.edge import Issuer

LONG_AGO = timedelta(seconds=60)


@dataclass
class Table:
    """A table whose changes the test publishes."""

    bus: EventBus
    table_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    version: int = 0

    def message(self, version: int, age: timedelta) -> Message:
        """One change, as the table service publishes it. The stack of seat 1 is the version."""
        changed = TableChanged(
            table_id=self.table_id,
            version=version,
            epoch=1,
            events=[TableEvent(stack_changed=StackChanged(seat=1, stack=version))],
            view=PublicView(table_id=self.table_id, version=version, name="Ash"),
        )
        changed.occurred_at.FromDatetime(datetime.now(UTC) - age)
        group = TablesChanged(changes=[changed])
        return Message("table.changed", TablesChanged.DESCRIPTOR.full_name, group.SerializeToString())

    async def happens(self, count: int = 1, *, age: timedelta = timedelta(0)) -> None:
        """Publish the next `count` changes; return when the broker has them."""
        batch = [self.message(self.version + number, age) for number in range(1, count + 1)]
        self.version += count
        await self.publish(batch)

    async def publish(self, batch: list[Message]) -> None:
        """Publish, as an outbox does: until it has worked."""
        async with asyncio.timeout(30):
            while True:
                try:
                    await self.bus.publish(batch)
                except Exception:
                    await asyncio.sleep(0.1)
                else:
                    return


@dataclass(frozen=True)
class Spectator:
    """A running spectator, and one who watches through it."""

    app: App
    settings: SpectatorSettings
    stub: Any
    issuer: Issuer

    def watch(self, table_id: str, player: str = "") -> Any:
        """Open a stream; each call is another player unless one is named."""
        token = self.issuer.token(sub=player or str(uuid.uuid4()))
        return self.stub.Watch(
            spectator_pb2.WatchRequest(table_id=table_id), metadata=[("authorization", f"Bearer {token}")]
        )

    async def knows(self, table: Table, count: int = 1) -> None:
        """Wait until the newest version that the table published is stored, and `count` of them in all."""
        statement = "select coalesce(max(version), 0), count(*) from table_changes where table_id = $1"
        async with asyncio.timeout(30):
            while True:
                ((newest, stored),) = await self.query(statement, table.table_id)
                if newest >= table.version and stored >= count:
                    return
                await asyncio.sleep(0.02)

    async def query(self, statement: str, *values: Any) -> list[Any]:
        """Ask the spectator's database."""
        connection = await asyncpg.connect(self.settings.database_url)
        try:
            rows: list[Any] = await connection.fetch(statement, *values)
            return rows
        finally:
            await connection.close()


@pytest.fixture(scope="module")
async def spectator_issuer() -> AsyncIterator[Issuer]:
    made = Issuer()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(scope="module")
async def table_bus(amqp_url: str) -> AsyncIterator[EventBus]:
    """The connection that the table service would publish on."""
    bus = EventBus(amqp_url, "table")
    bus.ensure_queue(QUEUE, BINDINGS)
    try:
        await bus.start()
        await asyncio.wait_for(bus.wait_connected(), 30)
        yield bus
    finally:
        await bus.stop()


@pytest.fixture
def table(table_bus: EventBus) -> Table:
    """A table of the test's own."""
    return Table(table_bus)


@pytest.fixture(scope="module")
async def spectator_database(postgres_url: str) -> AsyncIterator[str]:
    """One database for a module: tables keep its tests apart."""
    name = f"spectator_{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f'create database "{name}" {AS_UTF8}')
    yield urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    await connection.execute(f'drop database "{name}" with (force)')
    await connection.close()


@pytest.fixture(scope="module")
async def start_spectator(
    spectator_database: str, amqp_url: str, spectator_issuer: Issuer
) -> AsyncIterator[Callable[..., Awaitable[Spectator]]]:
    """A factory of spectators on one database: `spectator = await start_spectator(poll_ms=10)`.

    A test stops its own: two that share the queue may store changes that are long due in another order, and watchers
    then get a snapshot instead of some changes.
    """
    running: list[tuple[App, grpc.aio.Channel]] = []
    shared = {"database_url": spectator_database, "amqp_url": amqp_url, "jwks_url": spectator_issuer.url}

    async def start(**changes: Any) -> Spectator:
        ports = {"grpc_port": free_port(), "ops_port": free_port()}
        settings = SpectatorSettings(**{**shared, **ports, "poll_ms": 20, **changes})
        app = await build(settings)
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{settings.grpc_port}")
        running.append((app, channel))
        await app.start()
        stub: Any = spectator_pb2_grpc.SpectatorServiceStub(channel)
        return Spectator(app, settings, stub, spectator_issuer)

    yield start
    for app, channel in running:
        await channel.close(None)
        await app.stop()


@pytest.fixture(scope="module")
async def spectator(start_spectator: Callable[..., Awaitable[Spectator]]) -> Spectator:
    """One spectator, 30 s behind."""
    return await start_spectator()
