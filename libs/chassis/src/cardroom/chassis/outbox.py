"""The transactional outbox: events are inserted with the change they tell of, and published after its commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cardroom.chassis import telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cardroom.chassis.bus import EventBus


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """An event to publish once the transaction that inserts it is committed. It carries the current trace along.

    `mandatory`: with no queue bound for it the row is kept and tried again, with an alert, and holds back what comes
    after it; else it is dropped and counted.
    """

    routing_key: str
    type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    message_id: str = field(default_factory=lambda: str(uuid4()))
    mandatory: bool = False
    traceparent: str | None = field(default_factory=telemetry.traceparent)


async def insert(conn: Any, messages: Sequence[OutboxMessage]) -> None:
    """Insert the messages, in order, in the transaction that `conn` is in; one statement for all."""
    raise NotImplementedError


class Relay:
    """Publishes the outbox of one database, in order. A part of an `App`; run one in every replica."""

    def __init__(self, pool: Any, bus: EventBus, *, batch_max: int = 500, poll_seconds: float = 1.0) -> None:
        raise NotImplementedError

    def wake(self) -> None:
        """Say that rows were committed. Call it right after the commit; costs nothing."""
        raise NotImplementedError

    async def start(self) -> None:
        """Begin to relay."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Relay what is committed, if the broker is there, and stop."""
        raise NotImplementedError
