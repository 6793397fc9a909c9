"""What the spectator takes from the bus: every change of every public table."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.spectator import metrics
from cardroom.spectator.store import Arrival

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from cardroom.chassis.bus import Message
    from cardroom.spectator.store import Store

QUEUE: Final = "spectator.table-changes"
BINDINGS: Final = ("table.changed.#",)
EPOCH_ZERO: Final = datetime.fromtimestamp(0, UTC)


class TableChanges:
    """Stores what comes. The batch is acknowledged after it is committed; a repeat changes nothing."""

    def __init__(self, store: Store) -> None:
        """Store in `store`."""
        self._store = store

    async def handle(self, batch: list[Message]) -> None:
        """Store one batch. Raises ValueError for a message that is no TableChanged: it goes to the dead letters."""
        arrivals = [arrival for arrival in map(read, batch) if arrival is not None]
        if arrivals:
            await self._store.add(arrivals)
        metrics.STORED.inc(len(arrivals))


def read(message: Message) -> Arrival | None:
    """Return the change in a message, or None for a table that cannot be watched."""
    if message.type != TableChanged.DESCRIPTOR.full_name:
        raise ValueError(
            f"{message.type!r} on {message.routing_key!r}: only {TableChanged.DESCRIPTOR.full_name} goes here"
        )
    changed = TableChanged.FromString(message.body)
    if changed.version < 1 or not changed.HasField("occurred_at") or not changed.HasField("view"):
        raise ValueError(f"a change of table {changed.table_id!r} lacks its version, time or view")
    if not is_public(changed):
        return None
    table_id = str(uuid.UUID(changed.table_id))
    return Arrival(table_id, changed.version, no_sooner_than(changed.occurred_at), message.body)


def is_public(changed: TableChanged) -> bool:
    """Return whether the table may be watched. Changes of other tables are not even stored (rule 11.8)."""
    # Every table is public so far; private ones will say so in their view.
    return changed.HasField("view")


def no_sooner_than(stamp: Timestamp) -> datetime:
    """Return the time rounded up to what the database can keep, so that rounding shows nothing early."""
    microseconds = -(-stamp.nanos // 1000)
    return EPOCH_ZERO + timedelta(seconds=stamp.seconds, microseconds=microseconds)
