"""The event bus against a real broker: order, retries, dead letters, and everything that may break under it."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import quote, urlsplit

import aiormq
import pytest

from cardroom.chassis.bus import EventBus, Message
from cardroom.chassis.errors import BusDisconnected, PublishFailed, Unavailable, UnroutableError
from tests.integration.conftest import Broker, manage

Until = Callable[..., Awaitable[None]]
Handler = Callable[[list[Message]], Awaitable[None]]


class Side:
    """A bus of a test, and the name of the queue and scope that are its own."""

    def __init__(self, amqp_url: str, broker: Broker) -> None:
        self.scope = secrets.token_hex(4)
        self.queue = f"test.{self.scope}"
        self.vhost = urlsplit(amqp_url).path[1:]
        self.broker = broker
        self.bus = EventBus(amqp_url, f"test-{self.scope}")

    async def consume(self, handler: Handler, **options: float) -> None:
        self.bus.consume(self.queue, [f"fact.{self.scope}.#"], handler, **options)  # type: ignore[arg-type]
        await self.bus.start()
        await self.bus.wait_connected()

    def messages(self, *bodies: str) -> list[Message]:
        return [Message(f"fact.{self.scope}.a", "cardroom.Test", body.encode()) for body in bodies]

    async def manage(self, method: str, path: str) -> bytes:
        return await asyncio.to_thread(manage, self.broker, method, path)

    async def connection_name(self) -> str | None:
        listed = json.loads(await self.manage("GET", "/api/connections"))
        for one in listed:
            if one.get("client_properties", {}).get("connection_name", "").endswith(self.scope):
                return str(one["name"])
        return None

    async def dead_letters(self, amqp_url: str) -> list[bytes]:
        connection = await aiormq.connect(amqp_url)
        try:
            channel = await connection.channel()
            found: list[bytes] = []
            for _ in range(100):
                letter = await channel.basic_get(f"{self.queue}.dead", no_ack=True)
                if letter.delivery_tag is not None:
                    found.append(letter.body)
                elif found:
                    break
                await asyncio.sleep(0.05)
            return found
        finally:
            await connection.close()


@pytest.fixture
async def side(amqp_url: str, broker: Broker) -> AsyncIterator[Side]:
    made = Side(amqp_url, broker)
    yield made
    await made.bus.stop()


class Sink:
    """Keeps what it is given; fails as it is told to."""

    def __init__(self, fail: Callable[[Message], Exception | None] = lambda _: None) -> None:
        self.batches: list[list[Message]] = []
        self.tries = 0
        self._fail = fail

    async def handle(self, messages: list[Message]) -> None:
        self.tries += 1
        for message in messages:
            error = self._fail(message)
            if error is not None:
                raise error
        self.batches.append(messages)

    @property
    def bodies(self) -> list[str]:
        return [message.body.decode() for batch in self.batches for message in batch]


async def test_messages_arrive_in_order_in_batches_with_what_they_carry(side: Side, until: Until) -> None:
    sink = Sink()
    await side.consume(sink.handle, batch_max=50)
    sent = [Message(f"fact.{side.scope}.a", "cardroom.Test", str(n).encode(), {"epoch": "7"}) for n in range(300)]
    await side.bus.publish(sent, timeout_seconds=30)
    await until(lambda: len(sink.bodies) == 300)
    assert sink.bodies == [str(n) for n in range(300)]
    assert max(len(batch) for batch in sink.batches) <= 50
    assert len(sink.batches) < 100
    first = sink.batches[0][0]
    assert (first.type, first.routing_key, first.message_id) == (
        "cardroom.Test",
        sent[0].routing_key,
        sent[0].message_id,
    )
    assert first.headers["epoch"] == "7"
    assert not first.redelivered


async def test_a_message_for_no_queue_fails_where_mandatory_and_the_others_arrive(side: Side, until: Until) -> None:
    sink = Sink()
    await side.consume(sink.handle)
    lost, ignored = Message("nobody.cares", "t", b"x"), Message("nobody.cares", "t", b"x", mandatory=False)
    with pytest.raises(PublishFailed) as failed:
        await side.bus.publish([*side.messages("a"), lost, ignored, *side.messages("b")], timeout_seconds=30)
    assert list(failed.value.failed) == [1]
    assert isinstance(failed.value.failed[1], UnroutableError)
    await until(lambda: sink.bodies == ["a", "b"])


async def test_publishing_without_a_connection_fails_at_once() -> None:
    bus = EventBus("amqp://guest:guest@127.0.0.1:1/", "test")
    await bus.start()
    with pytest.raises(BusDisconnected):
        await bus.publish([Message("a.b", "t", b"")])
    assert not bus.connected
    assert bus.ready, "one that only publishes works without a broker"
    await bus.stop()


async def test_a_poison_message_goes_to_the_dead_letters_and_the_others_are_handled(
    side: Side, amqp_url: str, until: Until
) -> None:
    sink = Sink(lambda message: ValueError("poison") if message.body == b"bad" else None)
    await side.consume(sink.handle, tries=2)
    await side.bus.publish(side.messages("a", "bad", "b"), timeout_seconds=30)
    await until(lambda: sink.bodies == ["a", "b"])
    assert await side.dead_letters(amqp_url) == [b"bad"]
    await side.bus.publish(side.messages("c"), timeout_seconds=30)
    await until(lambda: sink.bodies == ["a", "b", "c"])


async def test_a_neighbour_that_is_away_costs_no_message(side: Side, until: Until) -> None:
    failures = iter([Unavailable("DATABASE_UNAVAILABLE", "away"), ConnectionRefusedError(), TimeoutError()])
    sink = Sink(lambda _: next(failures, None))
    await side.consume(sink.handle, tries=1)
    await side.bus.publish(side.messages("a", "b"), timeout_seconds=30)
    await until(lambda: sink.bodies == ["a", "b"])
    assert sink.tries == 4


async def test_a_consumer_that_the_broker_cancels_is_built_again(side: Side, until: Until) -> None:
    sink = Sink()
    await side.consume(sink.handle)
    assert side.bus.ready
    assert side.bus.actual_consumers == side.bus.expected_consumers == 1
    await side.manage("DELETE", f"/api/queues/{quote(side.vhost)}/{side.queue}")
    await until(lambda: not side.bus.ready)
    await until(lambda: side.bus.ready)
    await side.bus.publish(side.messages("a"), timeout_seconds=30)
    await until(lambda: sink.bodies == ["a"])


async def test_a_connection_that_is_closed_is_built_again_and_nothing_is_lost(side: Side, until: Until) -> None:
    held = asyncio.Event()
    seen: list[tuple[str, bool]] = []

    async def handle(messages: list[Message]) -> None:
        await held.wait()
        seen.extend((message.body.decode(), message.redelivered) for message in messages)

    await side.consume(handle)
    await side.bus.publish(side.messages("a", "b"), timeout_seconds=30)
    name = None
    while name is None:
        name = await side.connection_name()
        await asyncio.sleep(0.2)
    await side.manage("DELETE", f"/api/connections/{quote(name)}")
    await until(lambda: not side.bus.ready)
    held.set()
    await until(lambda: side.bus.ready)
    await until(lambda: len(seen) == 2)
    assert seen == [("a", True), ("b", True)], "what was not acknowledged came again, in order"


async def test_a_good_message_is_not_buried_however_often_the_link_breaks_with_it_in_hand(
    side: Side, amqp_url: str, until: Until
) -> None:
    came: list[bytes] = []

    async def handle(batch: list[Message]) -> None:
        came.extend(message.body for message in batch)

    side.bus.ensure_queue(side.queue, [f"fact.{side.scope}.#"])
    publisher = EventBus(amqp_url, "publisher")
    publisher.ensure_queue(side.queue, [f"fact.{side.scope}.#"])
    await publisher.start()
    await publisher.wait_connected()
    await publisher.publish(side.messages("settlement"))
    await publisher.stop()
    connection = await aiormq.connect(amqp_url)
    channel = await connection.channel()
    for _ in range(30):
        taken = await channel.basic_get(side.queue)
        assert taken.delivery_tag is not None
        # For the broker the same as a connection that is lost, and much faster.
        await channel.basic_reject(taken.delivery_tag, requeue=True)
    await connection.close()
    await side.consume(handle)
    await until(lambda: came)
    assert came == [b"settlement"]


async def test_a_queue_declared_for_another_service_keeps_what_comes_before_it_starts(
    side: Side, amqp_url: str, until: Until
) -> None:
    side.bus.ensure_queue(side.queue, [f"fact.{side.scope}.#"])
    await side.bus.start()
    await side.bus.wait_connected()
    await side.bus.publish(side.messages("early"), timeout_seconds=30)
    sink = Sink()
    other = EventBus(amqp_url, "other")
    other.consume(side.queue, [f"fact.{side.scope}.#"], sink.handle)
    await other.start()
    await until(lambda: sink.bodies == ["early"])
    await other.stop()


async def test_a_stop_lets_the_running_batch_end_and_gives_the_rest_back(
    side: Side, amqp_url: str, until: Until
) -> None:
    running, go_on = asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    async def slow(messages: list[Message]) -> None:
        running.set()
        await go_on.wait()
        seen.extend(message.body.decode() for message in messages)

    await side.consume(slow, batch_max=1)
    await side.bus.publish(side.messages("a", "b"), timeout_seconds=30)
    await running.wait()
    stopping = asyncio.create_task(side.bus.stop())
    await asyncio.sleep(0.05)
    go_on.set()
    await stopping
    assert seen == ["a"]
    sink = Sink()
    other = EventBus(amqp_url, "other")
    other.consume(side.queue, [f"fact.{side.scope}.#"], sink.handle)
    await other.start()
    await until(lambda: sink.bodies == ["b"])
    await other.stop()


async def test_a_stop_is_silent(side: Side, caplog: pytest.LogCaptureFixture) -> None:
    await side.consume(Sink().handle)
    await side.bus.publish(side.messages("a"), timeout_seconds=30)
    await side.bus.stop()
    assert [record.getMessage() for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}] == []
