"""A message on the bus, and its translation to and from AMQP properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from pamqp import commands

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from aiormq.abc import DeliveredMessage

EXCHANGE: Final = "cardroom.events"
PERSISTENT: Final = 2


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish, or one that was delivered.

    `type` is the full protobuf name of `body`; `headers` may hold `traceparent` and `epoch`. `mandatory`: publishing it
    fails when no queue is bound for it.
    """

    routing_key: str
    type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    message_id: str = field(default_factory=lambda: str(uuid4()))
    mandatory: bool = True
    redelivered: bool = False


def properties(message: Message, now: datetime, traceparent: str | None) -> commands.Basic.Properties:
    """Return the AMQP properties to publish `message` with."""
    headers = dict(message.headers)
    if traceparent is not None:
        headers["traceparent"] = traceparent
    return commands.Basic.Properties(
        content_type="application/protobuf",
        delivery_mode=PERSISTENT,
        message_id=message.message_id,
        message_type=message.type,
        timestamp=now,
        headers=headers,  # type: ignore[arg-type]
    )


def delivered(raw: DeliveredMessage) -> Message:
    """Return the message in a delivery."""
    known = raw.header.properties
    headers = {
        str(key): value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        for key, value in (known.headers or {}).items()
        if isinstance(value, str | bytes | int)
    }
    return Message(
        routing_key=raw.routing_key or "",
        type=known.message_type or "",
        body=raw.body,
        headers=headers,
        message_id=known.message_id or "",
        redelivered=bool(raw.redelivered),
    )
