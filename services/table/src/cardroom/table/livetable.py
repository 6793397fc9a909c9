"""One table in the memory of its owner. Its commands run one at a time, each until it is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from cardroom.chassis import logs
from cardroom.chassis.errors import LeaseLost, PermissionDenied
from cardroom.contracts.table.v1.view_pb2 import ActionCause
from cardroom.table import metrics
from cardroom.table.domain.commands import Command, EndSeating
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Decision
from cardroom.table.errors import OutcomeUnknown, TableBusy, TableMoving, TableStopped, WriteRefused
from cardroom.table.feed import Feed

__all__ = ["LiveTable"]

WAITING_MAX: Final = 64

log = logs.get("table")


class LiveTable:
    """A table's committed state, whose turn it is to change it, and the streams that follow it."""

    __slots__ = (
        "_lock",
        "_waiting",
        "broke_at",
        "epoch",
        "feed",
        "is_gone",
        "is_stopped",
        "latest_ms",
        "must_load",
        "must_take_over",
        "shard",
        "state",
        "table_id",
    )

    def __init__(self, table_id: str, shard: int, epoch: int) -> None:
        self.table_id = table_id
        self.shard = shard
        self.epoch = epoch
        """The epoch under which the table is owned here."""
        self.state: TableState | None = None
        """As committed; None for a table that was never opened, or was not loaded yet."""
        self.must_load = True
        """The state must be read from the database before anything else."""
        self.must_take_over = True
        """Nothing was written yet that tells of the owner here."""
        self.is_stopped = False
        self.broke_at = -1
        """The version at which a command broke something, and the table was read anew because of it."""
        self.latest_ms = 0
        """When the last change was decided here; each is later than the one before."""
        self.is_gone = False
        """Another replica owns the table, or will."""
        self.feed = Feed()
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def take_turn(self) -> None:
        """Wait until no other command is running here. Whoever takes the turn ends it, in any case."""
        if self._waiting >= WAITING_MAX:
            raise TableBusy(self.table_id, self._waiting)
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1

    def end_turn(self) -> None:
        """Let the next command run."""
        self._lock.release()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or waits here, and nobody watches."""
        return not self._waiting and not self._lock.locked() and not self.feed.streams

    def require(self, command: Command | None = None) -> None:
        """Raise unless commands, or this one, can be decided here. A stopped table still lets its players go."""
        if self.is_gone:
            raise TableMoving(self.table_id)
        is_at_rest = self.state is not None and self.state.hand is None
        if self.is_stopped and not (is_at_rest and isinstance(command, EndSeating)):
            raise TableStopped(self.table_id)

    def stand_still(self, why: str) -> None:
        """Stop the table: something that must hold does not. Nothing changes it any more."""
        self.is_stopped = True
        metrics.STOPPED.inc()
        log.error("a table has stopped", table_id=self.table_id, why=why)
        self.feed.end(TableStopped(self.table_id))

    def salvaged(self, decision: Decision, done: asyncio.Future[Any]) -> Callable[[Exception | None], None]:
        """What to do once the outcome is known of the commit that makes the hand of a table that is loaded void.

        Until then nobody sees the table, nor decides anything on it.
        """

        def outcome(error: Exception | None) -> None:
            try:
                if error is None:
                    self.loaded(decision.state)
                    metrics.VOID.inc()
                elif isinstance(error, LeaseLost):
                    self.leave()
                if not done.done():
                    if error is None:
                        done.set_result(decision.state)
                    else:
                        done.set_exception(error)
            finally:
                self.end_turn()

        return outcome

    def loaded(self, state: TableState | None) -> None:
        """Take a state that was read from the database. Streams that missed something start anew."""
        before, self.state = self.state, state
        self.must_load = False
        if before is not None and state is not None and before.version != state.version:
            self.feed.resync()
            self._dismiss(state)

    def settle(self, decision: Decision, done: asyncio.Future[Any]) -> Callable[[Exception | None], None]:
        """What to do once the outcome of a decision's commit is known: apply it, answer, tell the streams.

        It does not need whoever asked to be still there, and it ends the table's turn.
        """

        def outcome(error: Exception | None) -> None:
            try:
                if error is None:
                    self._apply(decision)
                else:
                    self.must_load = isinstance(error, OutcomeUnknown | WriteRefused)
                    if isinstance(error, LeaseLost):
                        self.leave()
                if not done.done():
                    if error is None:
                        done.set_result(decision.answer)
                    else:
                        done.set_exception(error)
                if error is None and decision.changes:
                    self.feed.push(decision)
                    if decision.ended:
                        self._dismiss(decision.state)
            finally:
                self.end_turn()

        return outcome

    async def drain(self) -> None:
        """Let what runs finish, then leave; who still waits for a turn is sent to the new owner."""
        self.is_gone = True
        try:
            async with self._lock:
                pass
        finally:
            # Also when what runs takes too long to wait for: the streams would go on with heartbeats, and nothing else.
            self.leave()

    def leave(self) -> None:
        """Another replica owns the table: end its streams here."""
        self.is_gone = True
        self.feed.end(TableMoving(self.table_id))

    def _apply(self, decision: Decision) -> None:
        self.state = decision.state
        self.must_take_over = False
        for event in decision.events:
            if event.HasField("action_taken"):
                _TAKEN[event.action_taken.cause].inc()
        if decision.voids_hand:
            metrics.VOID.inc()
        elif decision.ends_hand:
            metrics.HANDS.inc()

    def _dismiss(self, state: TableState) -> None:
        """End the streams of those who do not sit here any more (rule 10.6: others see the table later)."""
        left = PermissionDenied("NOT_SEATED", "you have left this table: watch it, or sit down again")
        self.feed.end_of(lambda player: state.seat_of(player) is not None, left)


_TAKEN: Final = {
    number: metrics.ACTIONS.labels(name.removeprefix("ACTION_CAUSE_").lower()) for name, number in ActionCause.items()
}
