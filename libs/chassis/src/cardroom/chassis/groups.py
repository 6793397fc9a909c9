"""Messages that hold several events of one kind, because an event costs by the message on its way, hardly by the byte.

What is committed together is one row of the outbox (`pack`), the relay joins rows that wait together (`join`), and the
bus takes a group apart again (`apart`), so that handlers see single events. An event that a recorded trace belongs to
stays alone: a message carries one trace.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from cardroom.chassis._message import Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.events.v1.group_pb2 import Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BYTES_MAX", "KINDS", "apart", "join", "pack"]

BYTES_MAX: Final = 256 * 1024
"""A group is not made larger than this. One event alone may be."""
KINDS: Final = {events_pb2.TablesChanged.DESCRIPTOR.full_name: events_pb2.TableChanged.DESCRIPTOR.full_name}
"""The full names of the messages that are groups, and of what is in them."""


def pack(events: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield groups of serialized events, in order, each with how many are in it."""
    place = 0
    while place < len(events):
        end, size = place + 1, len(events[place])
        while end < len(events) and size + len(events[end]) <= BYTES_MAX:
            size += len(events[end])
            end += 1
        yield Group(events=events[place:end]).SerializeToString(), end - place
        place = end


def join(messages: Sequence[Message]) -> Iterator[tuple[Message, int]]:
    """Yield what to send for these messages, and for how many of them.

    Neighbours that are groups of one kind and go one way, without a trace, become one message.
    """
    place = 0
    while place < len(messages):
        first, end = messages[place], place + 1
        size = len(first.body)
        while end < len(messages) and _are_alike(first, messages[end]) and size + len(messages[end].body) <= BYTES_MAX:
            size += len(messages[end].body)
            end += 1
        joined = first if end == place + 1 else replace(first, body=b"".join([one.body for one in messages[place:end]]))
        yield joined, end - place
        place = end


def _are_alike(one: Message, other: Message) -> bool:
    return (
        one.type in KINDS
        and one.type == other.type
        and one.routing_key == other.routing_key
        and one.headers == other.headers == {}
    )


def apart(message: Message) -> list[Message]:
    """Return a message for each event of a group; any other message as it is. Raises DecodeError."""
    kind = KINDS.get(message.type)
    if kind is None:
        return [message]
    return [replace(message, type=kind, body=event) for event in Group.FromString(message.body).events]
