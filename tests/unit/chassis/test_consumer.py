"""A consumer's batches: acknowledged together, tried alone when they fail, buried when they are poison."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cardroom.chassis import _consumer, groups
from cardroom.chassis._consumer import Consumer
from cardroom.chassis._message import Message
from cardroom.chassis.errors import Unavailable

GROUP = "cardroom.events.v1.TablesChanged"


class FakeChannel:
    """Notes what is acknowledged and rejected."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    async def basic_ack(self, tag: int, multiple: bool = False, wait: bool = True) -> None:
        self.told.append(("ack", tag, multiple))

    async def basic_reject(self, tag: int, *, requeue: bool, wait: bool = True) -> None:
        self.told.append(("reject", tag, requeue))


def delivery(channel: FakeChannel, tag: int, body: bytes) -> Any:
    kind = GROUP if body.startswith(b"\n") else "t"
    known = SimpleNamespace(headers={"epoch": b"4", "x": {}}, message_type=kind, message_id=f"id-{tag}")
    header = SimpleNamespace(properties=known)
    return SimpleNamespace(
        channel=channel, delivery_tag=tag, header=header, routing_key="a.b", body=body, redelivered=False
    )


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_consumer, "FIRST_WAIT_SECONDS", 0)
    monkeypatch.setattr(_consumer, "MAX_WAIT_SECONDS", 0)


async def worked(handler: Any, *bodies: bytes, tries: int = 2, batch_max: int = 10) -> FakeChannel:
    """Let a consumer work off these deliveries; return what it told the channel."""
    channel = FakeChannel()
    consumer = Consumer("q", handler, prefetch=10, batch_max=batch_max, batch_wait=0, tries=tries)
    task = asyncio.create_task(consumer.work(channel))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    for tag, body in enumerate(bodies, 1):
        await consumer.take(delivery(channel, tag, body))
    await consumer.take(delivery(FakeChannel(), 99, b"from an older channel"))
    async with asyncio.timeout(2):
        while sum(tag if multiple else 1 for _, tag, multiple in channel.told) < len(bodies):  # noqa: ASYNC110
            await asyncio.sleep(0)
    consumer.finish()
    await task
    return channel


async def test_a_batch_is_acknowledged_once_after_its_handler_returned() -> None:
    seen: list[list[Message]] = []

    async def handle(messages: list[Message]) -> None:
        seen.append(messages)

    channel = await worked(handle, b"a", b"b", b"c")
    assert channel.told == [("ack", 3, True)]
    assert [message.body for message in seen[0]] == [b"a", b"b", b"c"]
    assert seen[0][0].headers == {"epoch": "4"}


async def test_a_poison_message_is_rejected_after_its_tries_and_the_others_pass() -> None:
    calls: list[list[bytes]] = []

    async def handle(messages: list[Message]) -> None:
        calls.append([message.body for message in messages])
        if any(message.body == b"bad" for message in messages):
            raise ValueError("poison")

    channel = await worked(handle, b"a", b"bad", b"c")
    assert channel.told == [("ack", 1, False), ("reject", 2, False), ("ack", 3, False)]
    assert calls == [[b"a", b"bad", b"c"], [b"a"], [b"bad"], [b"bad"], [b"c"]]


async def test_a_group_with_a_bad_event_is_rejected_after_its_other_events_were_handled() -> None:
    calls: list[list[bytes]] = []

    async def handle(messages: list[Message]) -> None:
        calls.append([message.body for message in messages])
        if any(message.body == b"bad" for message in messages):
            raise ValueError("poison")

    channel = await worked(handle, *[body for body, _ in groups.pack([b"a", b"bad", b"c"])], b"d", b"\n\xff")
    assert channel.told == [("reject", 1, False), ("ack", 2, False), ("reject", 3, False)]
    assert calls == [[b"a"], [b"bad"], [b"bad"], [b"c"], [b"d"]]


async def test_the_handler_gets_single_events_of_groups() -> None:
    seen: list[list[bytes]] = []

    async def handle(messages: list[Message]) -> None:
        seen.append([message.body for message in messages])

    channel = await worked(handle, *[body for body, _ in groups.pack([b"a", b"b"])], b"c")
    assert (channel.told, seen) == ([("ack", 2, True)], [[b"a", b"b", b"c"]])


async def test_a_batch_is_tried_whole_while_a_neighbour_is_away() -> None:
    failures = [Unavailable("DATABASE_UNAVAILABLE", "away")] * 7
    calls: list[int] = []

    async def handle(messages: list[Message]) -> None:
        calls.append(len(messages))
        if failures:
            raise failures.pop()

    channel = await worked(handle, b"a", b"b", tries=1)
    assert channel.told == [("ack", 2, True)]
    assert calls == [2] * 8


async def test_batches_are_bounded_and_in_order() -> None:
    seen: list[list[bytes]] = []

    async def handle(messages: list[Message]) -> None:
        seen.append([message.body for message in messages])

    channel = FakeChannel()
    consumer = Consumer("q", handle, prefetch=10, batch_max=2, batch_wait=0, tries=1)
    task = asyncio.create_task(consumer.work(channel))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    for tag in range(1, 6):
        await consumer.take(delivery(channel, tag, str(tag).encode()))
    async with asyncio.timeout(2):
        while len(channel.told) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert seen == [[b"1", b"2"], [b"3", b"4"], [b"5"]]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
