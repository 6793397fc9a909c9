"""Handles the messages of one queue in batches: retries, acknowledgements, dead letters."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from cardroom.chassis import groups, logs, metrics, telemetry
from cardroom.chassis._classify import is_transient
from cardroom.chassis._message import Message, delivered

if TYPE_CHECKING:
    from aiormq.abc import AbstractChannel, DeliveredMessage

Handler = Callable[[list[Message]], Awaitable[None]]

FIRST_WAIT_SECONDS: Final = 0.05
MAX_WAIT_SECONDS: Final = 2.0

log = logs.get("bus")


class Consumer:
    """What a service does with one queue. It outlives connections; `work` runs once on each."""

    def __init__(
        self, queue: str, handler: Handler, *, prefetch: int, batch_max: int, batch_wait: float, tries: int
    ) -> None:
        assert tries >= 1, f"tries is {tries}: at least 1"
        self.queue = queue
        self.prefetch = prefetch
        self._handler = handler
        self._batch_max = batch_max
        self._batch_wait = batch_wait
        self._tries = tries
        self._channel: AbstractChannel | None = None
        self._waiting: list[DeliveredMessage] = []
        self._arrived = asyncio.Event()
        self._finishing = False
        self._consumed = metrics.BUS_CONSUMED.labels(queue)
        self._retries = metrics.BUS_RETRIES.labels(queue)
        self._dead = metrics.BUS_DEAD.labels(queue)

    async def take(self, raw: DeliveredMessage) -> None:
        """Put a delivery into the next batch. The prefetch bounds how many wait."""
        if raw.channel is self._channel:
            self._waiting.append(raw)
            self._arrived.set()

    def finish(self) -> None:
        """Let `work` return after the batch that runs now; the rest goes back to the queue."""
        self._finishing = True
        self._arrived.set()

    async def work(self, channel: AbstractChannel) -> None:
        """Handle batches that arrive on `channel`, until cancelled or told to finish."""
        # Tags belong to a channel: what an older one still delivers is not ours to acknowledge.
        self._channel, self._waiting, self._finishing = channel, [], False
        self._arrived.clear()
        while True:
            await self._arrived.wait()
            if len(self._waiting) < self._batch_max and not self._finishing:
                await asyncio.sleep(self._batch_wait)
            if self._finishing:
                return
            batch, self._waiting = self._waiting[: self._batch_max], self._waiting[self._batch_max :]
            if not self._waiting:
                self._arrived.clear()
            await self._settle(channel, batch)

    async def _settle(self, channel: AbstractChannel, batch: list[DeliveredMessage]) -> None:
        messages = [delivered(raw) for raw in batch]
        if await self._tried(messages, _all_apart, tries=1) is None:
            await channel.basic_ack(_tag(batch[-1]), multiple=True, wait=False)
            self._consumed.inc(len(batch))
            return
        for raw, message in zip(batch, messages, strict=True):
            error = await self._tried_alone(message)
            if error is None:
                await channel.basic_ack(_tag(raw), wait=False)
                self._consumed.inc()
            else:
                await self._bury(channel, raw, message, error)

    async def _tried_alone(self, message: Message) -> Exception | None:
        """Handle a message by itself, and if it is a group each of its events: the good ones count in any case."""
        try:
            events = groups.apart(message)
        except DecodeError as error:
            return error
        failure = None
        for event in events:
            failure = await self._tried([event], list, tries=self._tries) or failure
        return failure

    async def _tried(
        self, messages: list[Message], opened: Callable[[list[Message]], list[Message]], tries: int
    ) -> Exception | None:
        """Handle them; while a neighbour is away that costs no try. Return the error that the last try ended with."""
        wait, failed = FIRST_WAIT_SECONDS, 0
        while True:
            try:
                await self._handle(messages, opened(messages))
            except Exception as error:
                self._retries.inc()
                transient = is_transient(error)
                failed += not transient
                if failed >= tries:
                    return error
                log.warning("a batch failed; trying again", queue=self.queue, messages=len(messages), error=repr(error))
            else:
                return None
            await asyncio.sleep(wait)
            wait = min(wait * 2, MAX_WAIT_SECONDS)

    async def _handle(self, messages: list[Message], events: list[Message]) -> None:
        if not telemetry.enabled():
            await self._handler(events)
            return
        with ExitStack() as spans:
            # Last to first: the first message's span becomes the current one.
            for message in reversed(messages):
                parent = message.headers.get("traceparent")
                spans.enter_context(telemetry.span(f"consume {message.type}", kind="consumer", parent=parent))
            await self._handler(events)

    async def _bury(self, channel: AbstractChannel, raw: DeliveredMessage, message: Message, error: Exception) -> None:
        log.error(
            "a poison message goes to the dead-letter queue",
            queue=self.queue,
            message_id=message.message_id,
            type=message.type,
            routing_key=message.routing_key,
            tries=self._tries,
            exc_info=error,
        )
        self._dead.inc()
        await channel.basic_reject(_tag(raw), requeue=False, wait=False)


def _all_apart(messages: list[Message]) -> list[Message]:
    return [event for message in messages for event in groups.apart(message)]


def _tag(raw: DeliveredMessage) -> int:
    assert raw.delivery_tag is not None, "a delivery has a tag"
    return raw.delivery_tag
