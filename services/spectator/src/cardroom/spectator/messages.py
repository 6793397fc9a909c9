"""What is sent to watchers: each message is serialized once, however many watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchedChange, WatchHeartbeat, WatchResponse
from cardroom.spectator.domain.feed import Change, Kind, Step

if TYPE_CHECKING:
    from datetime import datetime


def message(step: Step) -> bytes:
    """Return the serialized WatchResponse of one step."""
    return snapshot(step.change) if step.kind is Kind.SNAPSHOT else _change(step.change)


def snapshot(change: Change) -> bytes:
    """Return a snapshot: the whole public view after `change`."""
    changed = TableChanged.FromString(change.body)
    answer = WatchResponse(version=change.version, occurred_at=changed.occurred_at, snapshot=changed.view)
    return answer.SerializeToString()


def heartbeat(version: int, until: datetime) -> bytes:
    """Return a sign of life: `version` is still what there was at `until`."""
    answer = WatchResponse(version=version, heartbeat=WatchHeartbeat())
    answer.occurred_at.FromDatetime(until)
    return answer.SerializeToString()


def _change(change: Change) -> bytes:
    changed = TableChanged.FromString(change.body)
    shown = WatchedChange(events=changed.events)
    return WatchResponse(version=change.version, occurred_at=changed.occurred_at, change=shown).SerializeToString()
