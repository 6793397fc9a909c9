"""Everything that a running card room says and keeps: streams, bus, databases, logs, spans, metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import aiormq
import asyncpg
import grpc
from aiormq.abc import DeliveredMessage
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from cardroom.chassis.bus import EXCHANGE
from cardroom.client import CallPolicy, Client
from cardroom.client.transport import open_channel
from cardroom.local import Stack
from cardroom.local.plan import SERVICES

TABLES = (
    "select quote_ident(relname) as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
)


@dataclass
class Heard:
    """Every answer and stream message that came over one client's connection, by method."""

    messages: list[tuple[str, bytes]] = field(default_factory=list)

    def client(self, edge: str) -> Client:
        """A client whose connection is listened to."""
        return Client(_ListenedChannel(open_channel(edge), self.messages), CallPolicy())

    def of(self, method: str) -> list[bytes]:
        """What that method answered."""
        return [raw for name, raw in self.messages if name.endswith(f"/{method}")]


class _ListenedChannel(grpc.aio.Channel):
    """A channel that writes down the bytes of every answer."""

    def __init__(self, inner: grpc.aio.Channel, messages: list[tuple[str, bytes]]) -> None:
        self._inner = inner
        self._messages = messages

    async def __aenter__(self) -> _ListenedChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        await self._inner.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._inner.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._inner.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._inner.channel_ready()

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._listened(self._inner.unary_unary, method, *args, **kwargs)

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._listened(self._inner.unary_stream, method, *args, **kwargs)

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._listened(self._inner.stream_unary, method, *args, **kwargs)

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._listened(self._inner.stream_stream, method, *args, **kwargs)

    def _listened(
        self,
        make: Callable[..., Any],
        method: str,
        request_serializer: Any = None,
        response_deserializer: Any = None,
        **kwargs: Any,
    ) -> Any:
        def heard(raw: bytes) -> Any:
            self._messages.append((method, raw))
            return response_deserializer(raw)

        return make(method, request_serializer, heard, **kwargs)


@dataclass(frozen=True)
class Delivery:
    """A message on the bus."""

    routing_key: str
    type: str
    properties: str
    body: bytes

    @property
    def message(self) -> Message:
        """Its body, read as what it says it is."""
        kind = descriptor_pool.Default().FindMessageTypeByName(self.type)
        return message_factory.GetMessageClass(kind).FromString(self.body)


@asynccontextmanager
async def bus(stack: Stack) -> AsyncIterator[list[Delivery]]:
    """Everything that is published from now on, in a queue of our own."""
    connection = await aiormq.connect(stack.rabbitmq.url)
    channel = await connection.channel()
    deliveries: list[Delivery] = []

    async def take(raw: DeliveredMessage) -> None:
        known = raw.header.properties
        deliveries.append(Delivery(raw.routing_key or "", known.message_type or "", str(dict(known)), raw.body))

    queue = await channel.queue_declare(exclusive=True)
    assert queue.queue is not None
    await channel.queue_bind(queue.queue, EXCHANGE, "#")
    await channel.basic_consume(queue.queue, take, no_ack=True)
    try:
        yield deliveries
    finally:
        await connection.close()


async def rows(stack: Stack) -> set[tuple[str, bytes | str]]:
    """Every value of every row of every database, with its place."""
    values: set[tuple[str, bytes | str]] = set()
    for service in SERVICES:
        connection = await asyncpg.connect(stack.database_url(service))
        try:
            for table in await connection.fetch(TABLES):
                for row in await connection.fetch(f"select * from {table['name']}"):
                    for column, value in row.items():
                        place = f"{service}.{table['name']}.{column}"
                        values.add((place, value if isinstance(value, bytes) else str(value)))
        finally:
            await connection.close()
    return values


class Files:
    """What the processes write into their logs and span files from now on."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._before = {path: path.stat().st_size for path in stack.logs.iterdir()}

    def read(self) -> dict[str, str]:
        """What was written since, by file."""
        texts = {}
        for path in self._stack.logs.iterdir():
            with path.open("rb") as file:
                file.seek(self._before.get(path, 0))
                texts[path.name] = file.read().decode(errors="replace")
        return texts


async def metrics(stack: Stack) -> dict[str, str]:
    """What every process shows Prometheus, Envoy included."""
    shown = {name: await process.metrics() for name, process in stack.processes.items()}
    async with aiohttp.ClientSession() as http, http.get(f"{stack.admin_url}/stats/prometheus") as answer:
        shown["envoy"] = await answer.text()
    return shown


@asynccontextmanager
async def talkative_edge(stack: Stack) -> AsyncIterator[None]:
    """Envoy logs all it can for a while; the services do already."""
    async with aiohttp.ClientSession(stack.admin_url) as http:
        async with http.post("/logging?level=debug") as answer:
            assert answer.status == 200
        try:
            yield
        finally:
            async with http.post("/logging?level=warning") as answer:
                assert answer.status == 200
