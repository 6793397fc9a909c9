"""The event bus: one supervised connection to RabbitMQ per process, publishing with confirms, consuming in batches.

Everything lives and dies together: connect, declare, consume; and when anything closes, or the broker cancels a
consumer, all of it is torn down and built again. aio-pika's "robust" connections are not used: they have come back
without their consumers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

EXCHANGE: Final = "cardroom.events"


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish, or one that was delivered."""

    routing_key: str
    type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    message_id: str = field(default_factory=lambda: str(uuid4()))
    mandatory: bool = True
    redelivered: bool = False


if TYPE_CHECKING:
    Handler = Callable[[list[Message]], Awaitable[None]]


class EventBus:
    """The process' connection to the broker. A part of an `App`."""

    def __init__(self, amqp_url: str, service: str) -> None:
        raise NotImplementedError

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
        UNAVAILABLE) do not count: the message is tried until it works.
        """
        raise NotImplementedError

    def ensure_queue(self, queue: str, bindings: Sequence[str]) -> None:
        """Declare a queue that another service consumes, so that nothing is lost before it first starts."""
        raise NotImplementedError

    async def start(self) -> None:
        """Begin to connect; a broker that is down is tried until it answers."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Stop consuming, let the running batches end, close."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether the connection stands and every expected consumer is served."""
        raise NotImplementedError

    async def publish(self, messages: Sequence[Message], *, timeout_seconds: float = 2.0) -> None:
        """Publish in order; return once the broker has confirmed all of them.

        Raises BusDisconnected at once without a connection; PublishFailed, which says which, when some were refused,
        timed out, or (where `mandatory`) had no queue to go to.
        """
        raise NotImplementedError

    async def wait_connected(self) -> None:
        """Wait until there is a connection to publish on."""
        raise NotImplementedError
