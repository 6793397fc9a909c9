"""The event bus: one supervised connection to RabbitMQ per process, publishing with confirms, consuming in batches.

Everything lives and dies together: connect, declare, consume; and when anything closes, or the broker cancels a
consumer, all of it is torn down and built again. aio-pika's "robust" connections are not used: they have come back
without their consumers. What runs here is aiormq, the layer below aio-pika, whose closes can be watched one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import TYPE_CHECKING, Final

import aiormq

from cardroom.chassis import logs, metrics
from cardroom.chassis._amqp_session import Session
from cardroom.chassis._consumer import Consumer, Handler
from cardroom.chassis._message import EXCHANGE, Message
from cardroom.chassis.errors import BusDisconnected, PublishFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

OPEN_TIMEOUT_SECONDS: Final = 15.0
STOP_SECONDS: Final = 3.0
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 3.0
PUBLISH_MAX: Final = 1000

log = logs.get("bus")


class EventBus:
    """The process' connection to the broker. A part of an `App`; `service` names the connection in the broker."""

    def __init__(self, amqp_url: str, service: str) -> None:
        self._url = amqp_url
        self._service = service
        self._consumers: list[Consumer] = []
        self._queues: dict[str, tuple[str, ...]] = {}
        self._session: Session | None = None
        self._connected = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def consume(
        self,
        queue: str,
        bindings: Sequence[str],
        handler: Handler,
        *,
        prefetch: int = 200,
        batch_max: int = 100,
        batch_wait_ms: float = 5,
        tries: int = 5,
    ) -> None:
        """Consume `queue`, bound to the exchange with each of `bindings` (topic patterns). Call it before `start`.

        `handler` gets a batch in order; all are acknowledged after it returns. When it raises, each message is tried
        alone, in order: up to `tries` times, then it goes to `<queue>.dead`. Failures of a neighbour (database away,
        UNAVAILABLE) do not count: the batch is tried until it works. A batch is at most `batch_max` messages and waits
        `batch_wait_ms` for company. A group of events (`groups`) is one message here, and each event a message for the
        handler; a group with a bad event goes to the dead letters whole, after its other events were handled.
        """
        assert self._task is None, "consume() comes before start()"
        assert 1 <= batch_max <= prefetch, f"batch_max is {batch_max}: at least 1, at most prefetch ({prefetch})"
        self.ensure_queue(queue, bindings)
        self._consumers.append(
            Consumer(
                queue, handler, prefetch=prefetch, batch_max=batch_max, batch_wait=batch_wait_ms / 1000, tries=tries
            )
        )
        metrics.BUS_EXPECTED_CONSUMERS.set(len(self._consumers))

    def ensure_queue(self, queue: str, bindings: Sequence[str]) -> None:
        """Declare a queue that another service consumes, so that nothing is lost before it first starts."""
        self._queues[queue] = (*self._queues.get(queue, ()), *bindings)

    async def start(self) -> None:
        """Begin to connect; a broker that is down is tried until it answers."""
        if self._task is None:
            self._task = asyncio.create_task(self._supervise(), name="bus")

    async def stop(self) -> None:
        """Stop consuming, let the running batches end and be acknowledged, close."""
        task, self._task = self._task, None
        if self._session is not None:
            with contextlib.suppress(TimeoutError, aiormq.AMQPError, OSError):
                await asyncio.wait_for(self._session.finish_batches(), STOP_SECONDS)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def expected_consumers(self) -> int:
        """How many consumers this process wants."""
        return len(self._consumers)

    @property
    def actual_consumers(self) -> int:
        """How many the broker serves now."""
        return 0 if self._session is None else self._session.live_consumers

    @property
    def connected(self) -> bool:
        """Whether there is a connection to publish on."""
        return self._session is not None

    @property
    def ready(self) -> bool:
        """Whether every expected consumer is served. A process that only publishes is ready without a broker: its
        events wait in the outbox, and its work goes on."""
        return self.actual_consumers == self.expected_consumers

    async def wait_connected(self) -> None:
        """Wait until there is a connection to publish on."""
        await self._connected.wait()

    async def publish(self, messages: Sequence[Message], *, timeout_seconds: float = 2.0) -> None:
        """Publish in order; return once the broker has confirmed all of them.

        Raises BusDisconnected at once without a connection; PublishFailed, which says which, when some were refused,
        timed out, or (where `mandatory`) had no queue to go to.
        """
        if not messages:
            return
        assert len(messages) <= PUBLISH_MAX, f"{len(messages)} messages at once: at most {PUBLISH_MAX}"
        if self._session is None:
            raise BusDisconnected
        failed = await self._session.publish(messages, timeout_seconds)
        if failed:
            raise PublishFailed(failed, len(messages))

    async def _supervise(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            session = Session(self._url, self._service, self._queues, self._consumers)
            try:
                await asyncio.wait_for(session.open(), OPEN_TIMEOUT_SECONDS)
                self._opened(session)
                wait = FIRST_WAIT_SECONDS
                log.warning("the broker connection broke; building it again", why=await session.broken())
            except (aiormq.AMQPError, aiormq.exceptions.ChannelInvalidStateError, OSError, TimeoutError) as error:
                log.warning("the broker is not reachable; trying again", error=repr(error), wait_seconds=wait)
            except Exception:
                log.exception("the broker connection failed in an unforeseen way; building it again")
            finally:
                self._closed()
                await session.close()
            metrics.BUS_REBUILDS.inc()
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
            wait = min(wait * 2, MAX_WAIT_SECONDS)

    def _opened(self, session: Session) -> None:
        self._session = session
        self._connected.set()
        metrics.BUS_CONNECTED.set(1)
        metrics.BUS_ACTUAL_CONSUMERS.set(session.live_consumers)
        log.info("connected to the broker", consumers=session.live_consumers)

    def _closed(self) -> None:
        self._session = None
        self._connected.clear()
        metrics.BUS_CONNECTED.set(0)
        metrics.BUS_ACTUAL_CONSUMERS.set(0)


__all__ = ["EXCHANGE", "EventBus", "Handler", "Message"]
