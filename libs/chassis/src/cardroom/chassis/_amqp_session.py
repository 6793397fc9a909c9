"""One connection to the broker with everything on it, from connecting to the first thing that breaks."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import aiormq
from yarl import URL

from cardroom.chassis import logs, telemetry
from cardroom.chassis._message import EXCHANGE, properties
from cardroom.chassis.errors import UnroutableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiormq.abc import AbstractChannel, AbstractConnection

    from cardroom.chassis._consumer import Consumer
    from cardroom.chassis._message import Message

HEARTBEAT_SECONDS: Final = 5
CLOSE_SECONDS: Final = 2.0
# The broker counts each connection that ends with the message in hand, whatever the message: a small number would bury
# good ones while a link flaps and the database behind the consumer is away. What is wrong itself the consumer buries.
DELIVERY_LIMIT: Final = 1_000
QUORUM: Final = {"x-queue-type": "quorum"}

log = logs.get("bus")


class Session:
    """Connects, declares the topology, consumes. Holds strong references to its channels; used once."""

    def __init__(
        self, url: str, service: str, queues: Mapping[str, Sequence[str]], consumers: Sequence[Consumer]
    ) -> None:
        self._url = URL(url).update_query(heartbeat=HEARTBEAT_SECONDS, name=f"cardroom-{service}")
        self._queues = queues
        self._consumers = consumers
        self._connection: AbstractConnection | None = None
        self._publishing: AbstractChannel | None = None
        self._channels: list[AbstractChannel] = []
        self._tags: list[tuple[AbstractChannel, str]] = []
        self._workers: list[asyncio.Task[None]] = []
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def live_consumers(self) -> int:
        """How many consumers the broker serves on this connection."""
        return 0 if self._broken.done() else len(self._tags)

    async def open(self) -> None:
        """Connect, declare, consume. Raises aiormq's errors, OSError."""
        self._connection = await aiormq.connect(self._url)
        self._watch(self._connection, "the connection closed")
        self._publishing = await self._channel(confirms=True)
        await self._declare(self._publishing)
        for consumer in self._consumers:
            await self._consume(consumer)

    async def broken(self) -> str:
        """Wait until something on this connection breaks; return what."""
        return await self._broken

    async def finish_batches(self) -> None:
        """Take no more messages, and return once the running batches are handled and acknowledged."""
        for channel, tag in self._tags:
            if not self._broken.done():
                await channel.basic_cancel(tag)
        for consumer in self._consumers:
            consumer.finish()
        await asyncio.gather(*self._workers, return_exceptions=True)

    async def close(self) -> None:
        """Close everything, quietly: the other side may be gone already."""
        self._break("closed by this side")
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._connection.close(), CLOSE_SECONDS)

    async def publish(self, messages: Sequence[Message], timeout_seconds: float) -> dict[int, BaseException]:
        """Publish in order; return what failed, by place."""
        channel = self._publishing
        assert channel is not None, "open() comes first"
        now = datetime.now(UTC)
        tasks = [asyncio.create_task(_publish_one(channel, message, now)) for message in messages]
        _, late = await asyncio.wait(tasks, timeout=timeout_seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        if len(late) == len(tasks):
            # A broker that is slow confirms some; one that is silent may be behind a cut link.
            self._break(f"none of {len(tasks)} messages was confirmed within {timeout_seconds:g} s")
        return {place: cause for place, task in enumerate(tasks) if (cause := _failure(task)) is not None}

    async def _channel(self, *, confirms: bool) -> AbstractChannel:
        assert self._connection is not None
        channel = await self._connection.channel(publisher_confirms=confirms)
        self._channels.append(channel)
        self._watch(channel, f"channel {channel.number} closed")
        return channel

    async def _declare(self, channel: AbstractChannel) -> None:
        await channel.exchange_declare(EXCHANGE, exchange_type="topic", durable=True)
        for queue, bindings in self._queues.items():
            await channel.queue_declare(dead_name(queue), durable=True, arguments=dict(QUORUM))
            await channel.queue_declare(queue, durable=True, arguments=queue_arguments(queue))
            for binding in bindings:
                await channel.queue_bind(queue, EXCHANGE, binding)

    async def _consume(self, consumer: Consumer) -> None:
        channel = await self._channel(confirms=False)
        channel.on_consumer_cancel_callbacks.add(self._cancelled_by_broker)
        await channel.basic_qos(prefetch_count=consumer.prefetch)
        # The worker comes first: deliveries may arrive before the broker's answer does.
        worker = asyncio.create_task(consumer.work(channel), name=f"consume {consumer.queue}")
        worker.add_done_callback(self._worker_done)
        self._workers.append(worker)
        answer = await channel.basic_consume(consumer.queue, consumer.take)
        assert answer.consumer_tag is not None
        self._tags.append((channel, answer.consumer_tag))

    def _cancelled_by_broker(self, frame: Any) -> None:
        self._break(f"the broker cancelled consumer {frame.consumer_tag}")

    def _worker_done(self, worker: asyncio.Task[None]) -> None:
        if not worker.cancelled() and worker.exception() is not None:
            self._break(f"{worker.get_name()} failed: {worker.exception()!r}")

    def _watch(self, resource: AbstractConnection | AbstractChannel, what: str) -> None:
        def closed(closing: asyncio.Future[Any]) -> None:
            cause = None if closing.cancelled() else closing.exception()
            self._break(what if cause is None else f"{what}: {cause!r}")

        resource.closing.add_done_callback(closed)

    def _break(self, why: str) -> None:
        if not self._broken.done():
            self._broken.set_result(why)


def dead_name(queue: str) -> str:
    """Return the name of the queue that gets the poison messages of `queue`."""
    return f"{queue}.dead"


def queue_arguments(queue: str) -> dict[str, Any]:
    """Return how a consumer's queue is declared: replicated, and dropping nothing that cannot be delivered."""
    return {
        **QUORUM,
        "x-delivery-limit": DELIVERY_LIMIT,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": dead_name(queue),
        # Without these two a dead letter is dropped when its own queue cannot take it at that moment.
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }


async def _publish_one(channel: AbstractChannel, message: Message, now: datetime) -> None:
    carried = message.headers.get("traceparent")
    if telemetry.enabled():
        with telemetry.span(f"publish {message.type}", kind="producer", parent=carried):
            await _send(channel, message, now, telemetry.traceparent())
    else:
        await _send(channel, message, now, carried or telemetry.traceparent())


async def _send(channel: AbstractChannel, message: Message, now: datetime, traceparent: str | None) -> None:
    try:
        await channel.basic_publish(
            message.body,
            exchange=EXCHANGE,
            routing_key=message.routing_key,
            properties=properties(message, now, traceparent),
            mandatory=message.mandatory,
        )
    except aiormq.exceptions.PublishError:
        raise UnroutableError(f"no queue is bound to {EXCHANGE} for {message.routing_key!r}") from None


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    if task.cancelled():
        return TimeoutError("not confirmed in time")
    return task.exception()
