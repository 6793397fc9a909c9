"""Grouped commits: whatever is waiting, of all tables, goes into one transaction."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from cardroom.chassis import logs
from cardroom.chassis.errors import LeaseLost
from cardroom.table import metrics
from cardroom.table.errors import OutcomeUnknown, WriteRefused
from cardroom.table.writes import Write

__all__ = ["CommitLane", "Committer", "Outcome"]

Outcome = Callable[[Exception | None], None]
"""Told what became of a write: None once it is committed, LeaseLost or WriteRefused when it was not, OutcomeUnknown."""

log = logs.get("committer")


class CommitLane(Protocol):
    """Commits one group after the other."""

    async def commit(self, writes: Sequence[Write]) -> None:
        """Write a group, all or nothing."""

    async def close(self) -> None:
        """Free what the lane holds."""


class Committer:
    """A part of the app. Each lane commits what is pending: groups grow with the load, nothing waits when idle."""

    def __init__(
        self,
        open_lane: Callable[[], CommitLane],
        on_commit: Callable[[], None],
        *,
        lanes: int = 1,
        group_max: int = 128,
    ) -> None:
        self._open_lane = open_lane
        self._on_commit = on_commit
        self._lanes = lanes
        self._group_max = group_max
        self._pending: deque[tuple[Write, Outcome]] = deque()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        """Open the lanes."""
        self._stopping = False
        self._tasks = [asyncio.create_task(self._run(), name=f"commits {lane}") for lane in range(self._lanes)]

    async def stop(self) -> None:
        """Commit what is pending, and close."""
        self._stopping = True
        while self._idle:
            self._wake()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def submit(self, write: Write, outcome: Outcome) -> None:
        """Commit `write` with the next group; `outcome` is called, in the event loop, once it is known."""
        self._pending.append((write, outcome))
        if self._idle:
            self._wake()

    def _wake(self) -> None:
        waiting = self._idle.popleft()
        if not waiting.done():
            waiting.set_result(None)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        lane = self._open_lane()
        try:
            while self._pending or not self._stopping:
                if not self._pending:
                    waiting = loop.create_future()
                    self._idle.append(waiting)
                    await waiting
                    continue
                group = [self._pending.popleft() for _ in range(min(len(self._pending), self._group_max))]
                await self._commit(lane, group)
        finally:
            await lane.close()

    async def _commit(self, lane: CommitLane, group: list[tuple[Write, Outcome]]) -> None:
        started = time.perf_counter()
        try:
            await lane.commit([write for write, _ in group])
        except LeaseLost as error:
            await self._without_lost(lane, group, error)
        except WriteRefused as error:
            await self._one_by_one(lane, group, error)
        except OutcomeUnknown as error:
            log.warning("a commit's outcome is not known", writes=len(group), cause=repr(error.__cause__))
            _tell(group, error, "unknown")
        except Exception as error:
            log.exception("a commit failed in a way that was not foreseen", writes=len(group))
            _tell(group, OutcomeUnknown(repr(error)), "unknown")
        else:
            metrics.COMMIT_SECONDS.observe(time.perf_counter() - started)
            metrics.COMMIT_GROUP.observe(len(group))
            self._on_commit()
            _hand_on(group, None)

    async def _without_lost(self, lane: CommitLane, group: list[tuple[Write, Outcome]], error: LeaseLost) -> None:
        """The lost shards' writes fail; the rest goes at once."""
        lost = [one for one in group if one[0].shard in error.shards]
        _tell(lost, error, "lease lost")
        rest = [one for one in group if one[0].shard not in error.shards]
        assert len(rest) < len(group), "a lost lease is one of the group's"
        if rest:
            await self._commit(lane, rest)

    async def _one_by_one(self, lane: CommitLane, group: list[tuple[Write, Outcome]], error: WriteRefused) -> None:
        """One write of the group cannot be: find it, and let the others through."""
        if len(group) == 1:
            log.error("the database refused a write", table_id=group[0][0].table_id, cause=str(error))
            _tell(group, error, "refused")
            return
        for one in group:
            await self._commit(lane, [one])


def _tell(group: list[tuple[Write, Outcome]], error: Exception, why: str) -> None:
    metrics.COMMITS_FAILED.labels(why).inc(len(group))
    _hand_on(group, error)


def _hand_on(group: list[tuple[Write, Outcome]], error: Exception | None) -> None:
    for write, outcome in group:
        try:
            outcome(error)
        except Exception:
            # One table's trouble must not keep the others waiting, nor end the lane.
            log.exception("the outcome of a write was not taken", table_id=write.table_id)
