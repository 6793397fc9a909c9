"""A decision as the rows and messages that it is stored as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cardroom.chassis import groups, telemetry
from cardroom.chassis.outbox import OutboxMessage
from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table import records
from cardroom.table.deckbox import DeckBox
from cardroom.table.domain.commands import Act, Command
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Decision, EndedSeating, ToppedUp, timestamp
from cardroom.table.domain.view import public_view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CHANGED", "CHANGED_KEY", "ChangeRow", "HandRow", "LogRow", "SnapshotRow", "Write", "messages", "written"]

CHANGED: Final = "cardroom.events.v1.TablesChanged"
CHANGED_KEY: Final = "table.changed"
"""One for all tables: after a failure the relay keeps the order of what has the same routing key."""
SETTLED: Final = "cardroom.events.v1.HandSettled"


@dataclass(frozen=True, slots=True)
class LogRow:
    """A command in the table's log."""

    version: int
    hand_number: int
    action_number: int | None
    occurred_ms: int
    command: bytes
    change: bytes


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A table between hands."""

    version: int
    hand_number: int
    is_live: bool
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class HandRow:
    """A hand that begins, with its deck encrypted, or that ends (or both at once, and then there is no deck)."""

    hand_number: int
    first_version: int | None
    last_version: int | None
    deck_key: str | None
    deck: bytes | None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change for everyone to know: the event, and the trace that follows it if that is recorded."""

    name: str
    event: bytes
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class Write:
    """All that one command writes, fenced by the epoch of the table's shard."""

    table_id: str
    shard: int
    epoch: int
    log: LogRow | None
    snapshot: SnapshotRow | None
    hand: HandRow | None
    ended: tuple[EndedSeating, ...]
    changed: ChangeRow | None
    settled: OutboxMessage | None
    topped_up: tuple[ToppedUp, ...] = ()

    @property
    def is_more_than_an_action(self) -> bool:
        """Whether it writes more than a line of the log and messages."""
        return self.snapshot is not None or self.hand is not None or bool(self.ended or self.topped_up)


def written(
    before: TableState, decision: Decision, command: Command, *, shard: int, epoch: int, now_ms: int, box: DeckBox
) -> Write:
    """What a decision writes."""
    after = decision.state
    assert decision.changes, "what changes nothing is not written"
    log = LogRow(
        version=after.version,
        hand_number=after.hand_number,
        action_number=command.token.action_number if isinstance(command, Act) else None,
        occurred_ms=now_ms,
        command=records.pack_command(command),
        change=LoggedChange(events=decision.events).SerializeToString(),
    )
    snapshot = None
    if after.hand is None:
        # Also where players only sit: their new owner must know who of them is there.
        is_live = after.next_deal_ms > 0 or bool(after.seats)
        snapshot = SnapshotRow(after.version, after.hand_number, is_live, records.pack_table(after))
    return Write(
        table_id=after.table_id,
        shard=shard,
        epoch=epoch,
        log=log,
        snapshot=snapshot,
        hand=_hand(before, decision, box),
        ended=decision.ended,
        topped_up=decision.topped_up,
        changed=_changed(decision, epoch, now_ms),
        settled=_settled(decision, epoch),
    )


def _hand(before: TableState, decision: Decision, box: DeckBox) -> HandRow | None:
    after = decision.state
    begins = after.hand_number if decision.deck is not None else None
    if begins is None and not decision.ends_hand:
        return None
    number = begins or before.hand_number
    first = after.version if begins else None
    if decision.deck is None or decision.ends_hand:
        return HandRow(number, first, after.version, None, None)
    return HandRow(number, first, None, box.current, box.seal(decision.deck, after.table_id, number))


def _changed(decision: Decision, epoch: int, now_ms: int) -> ChangeRow:
    after = decision.state
    event = TableChanged(
        table_id=after.table_id,
        version=after.version,
        epoch=epoch,
        occurred_at=timestamp(now_ms),
        events=decision.events,
        view=public_view(after),
        timing=decision.timing,
        absences=decision.absences,
    )
    name = f"{after.table_id}/{after.version}"
    return ChangeRow(name, event.SerializeToString(), telemetry.recorded_traceparent())


def _settled(decision: Decision, epoch: int) -> OutboxMessage | None:
    settlement = decision.settlement
    if settlement is None:
        return None
    settlement.epoch = epoch
    return OutboxMessage(
        f"table.settled.{settlement.table_id}",
        SETTLED,
        settlement.SerializeToString(),
        headers={"epoch": str(epoch)},
        message_id=f"{settlement.table_id}/hand/{settlement.hand_number}",
        # Chips must not get lost because the wallet's queue is not there yet.
        mandatory=True,
    )


def messages(writes: Sequence[Write]) -> Iterator[OutboxMessage]:
    """What a group of writes tells the others: all changes in one message, but for those whose trace is recorded.

    A table has at most one write in a group, and begins the next after this one is committed: so the order in which
    one table's changes lie in the outbox is the order in which they happened.
    """
    changes = [write.changed for write in writes if write.changed is not None]
    for one in changes:
        if one.traceparent is not None:
            yield from _grouped([one])
    yield from _grouped([one for one in changes if one.traceparent is None])
    for write in writes:
        if write.settled is not None:
            yield write.settled


def _grouped(changes: Sequence[ChangeRow]) -> Iterator[OutboxMessage]:
    place = 0
    for body, count in groups.pack([one.event for one in changes]):
        first = changes[place]
        place += count
        yield OutboxMessage(CHANGED_KEY, CHANGED, body, message_id=first.name, traceparent=first.traceparent)
