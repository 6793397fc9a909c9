"""Fires timers when they are due: a heap of those due soon, a claim in the database for each firing, a call.

Every replica looks a little ahead in the same table. Whoever claims a firing first makes the call; the claim is also
the time of the next try, so that a replica that dies in between costs one repeat.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from cardroom.chassis import logs
from cardroom.clock.domain import timers
from cardroom.clock.domain.timers import Act, Firing, Timer
from cardroom.clock.errors import TableAway
from cardroom.clock.neighbours import Tables
from cardroom.clock.store import ClockStore, Near

AHEAD_MS: Final = 1_500
LOOK_SECONDS: Final = 0.5
LOOK_MAX: Final = 5_000
CLAIM_MAX: Final = 200
CALLS_MAX: Final = 1_000
# Timers due within so much of each other are claimed together: at 500 a second, half the statements.
TOGETHER_SECONDS: Final = 0.004
# Answers are written together; a bank that began to run must be known soon, though, to be charged.
KEEP_SECONDS: Final = 0.005
RETRY_SECONDS: Final = 0.5
START_LOOK_SECONDS: Final = 0.02
STOP_SECONDS: Final = 2.0

LATENESS: Final = Histogram(
    "cardroom_clock_lateness_seconds",
    "From a timer's time to the claim of its first firing.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30),
)
FIRED: Final = Counter(
    "cardroom_clock_fired_total", "Calls to tables, by what they say and the answer.", ["act", "answer"]
)
PENDING: Final = Gauge("cardroom_clock_calls", "Calls to tables that are on.")

log = logs.get("firing")


class Firings:
    """Watches the due times. A part of an `App`."""

    def __init__(
        self, store: ClockStore, tables: Tables, now_ms: Callable[[], int], can_call: Callable[[], bool] = lambda: True
    ) -> None:
        self._store = store
        self._tables = tables
        self._now_ms = now_ms
        self._can_call = can_call
        self._tables_answer = True
        self._heap: list[Near] = []
        self._known: set[Near] = set()
        self._answers: list[Timer] = []
        self._woken = asyncio.Event()
        self._answered = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()
        self._asked: set[tuple[str, int]] = set()
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to fire."""
        works = (self._look_ahead, self._fire_due, self._keep_answers)
        self._loops = [asyncio.create_task(work(), name=work.__name__) for work in works]

    async def stop(self) -> None:
        """Fire no more, let the running calls end. What is cut off fires again, here or elsewhere."""
        loops, self._loops = self._loops, []
        for loop in loops[:2]:
            loop.cancel()
        await asyncio.gather(*loops[:2], return_exceptions=True)
        if self._calls:
            await asyncio.wait(self._calls, timeout=STOP_SECONDS)
        for rest in [*self._calls, *loops[2:]]:
            rest.cancel()
        await asyncio.gather(*self._calls, *loops[2:], return_exceptions=True)
        if loops and self._answers:
            await self._store.keep(self._answers)
            self._answers = []

    def run(self, written: Iterable[Timer]) -> None:
        """Take up timers that have just been written, as far as they are due soon; the others are found in time."""
        until = self._now_ms() + AHEAD_MS
        for timer in written:
            if timer.fire_at_ms is not None and timer.fire_at_ms <= until:
                self._add(Near(timer.fire_at_ms, timer.table_id, timer.generation))

    def _add(self, near: Near) -> None:
        if near in self._known:
            return
        self._known.add(near)
        heapq.heappush(self._heap, near)
        if self._heap[0] is near:
            self._woken.set()

    async def _look_ahead(self) -> None:
        while True:
            try:
                found = await self._store.near(self._now_ms() + AHEAD_MS, LOOK_MAX)
            except Exception:
                log.exception("cannot look for timers; trying again")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            for near in found:
                self._add(near)
            await asyncio.sleep(LOOK_SECONDS)

    async def _fire_due(self) -> None:
        # A first call that fails for want of a token would come again only after a second.
        while not self._can_call():  # noqa: ASYNC110 - the chassis has no event for it
            await asyncio.sleep(START_LOOK_SECONDS)
        while True:
            due = self._take_due()
            if due:
                await self._claim(due)
                await asyncio.sleep(TOGETHER_SECONDS)
            else:
                await self._until_next()

    def _take_due(self) -> list[Near]:
        now = self._now_ms()
        due: list[Near] = []
        room = min(CLAIM_MAX, CALLS_MAX - len(self._calls))
        while self._heap and self._heap[0].fire_at_ms <= now and len(due) < room:
            near = heapq.heappop(self._heap)
            self._known.discard(near)
            due.append(near)
        return due

    async def _until_next(self) -> None:
        if len(self._calls) >= CALLS_MAX:
            await asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
            return
        self._woken.clear()
        wait = (self._heap[0].fire_at_ms - self._now_ms()) / 1000 if self._heap else LOOK_SECONDS
        if wait <= 0:
            return
        try:
            await asyncio.wait_for(self._woken.wait(), wait)
        except TimeoutError:
            return

    async def _claim(self, due: list[Near]) -> None:
        try:
            claimed = await self._store.claim(due, self._now_ms())
        except Exception:
            # Looking ahead finds them again.
            log.exception("cannot claim timers; trying again", timers=len(due))
            await asyncio.sleep(RETRY_SECONDS)
            return
        now = self._now_ms()
        was_due = {near.table_id: near.fire_at_ms for near in due}
        for timer, bank_left_ms in claimed:
            if timer.attempts == 1:
                LATENESS.observe((now - was_due[timer.table_id]) / 1000)
            todo = timers.due(timer, bank_left_ms, now)
            if isinstance(todo, Timer):
                self._keep(todo)
            elif (timer.table_id, timer.generation) not in self._asked:
                # A table that is slow to answer is not asked by several calls at once.
                self._call(todo)

    def _call(self, firing: Firing) -> None:
        self._asked.add((firing.timer.table_id, firing.timer.generation))
        task = asyncio.create_task(self._tell(firing))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        PENDING.set(len(self._calls))

    async def _tell(self, firing: Firing) -> None:
        act: Act = firing.act
        try:
            stale = await self._ask(firing)
        except TableAway as why:
            FIRED.labels(act, "away").inc()
            self._report_away(firing, why)
            return
        self._tables_answer = True
        FIRED.labels(act, "stale" if stale else "done").inc()
        kept = timers.answered(firing, stale=stale)
        if kept is not None:
            self._keep(kept)

    async def _ask(self, firing: Firing) -> bool:
        try:
            return await self._tables.tell(firing)
        finally:
            self._asked.discard((firing.timer.table_id, firing.timer.generation))

    def _report_away(self, firing: Firing, why: TableAway) -> None:
        # One line for an outage, not one for each of a hundred thousand timers.
        report = log.warning if self._tables_answer else log.debug
        self._tables_answer = False
        report("a table does not answer; it is told again", act=firing.act, table=firing.timer.table_id, why=str(why))

    def _keep(self, timer: Timer) -> None:
        self._answers.append(timer)
        self._answered.set()

    async def _keep_answers(self) -> None:
        while True:
            await self._answered.wait()
            await asyncio.sleep(KEEP_SECONDS)
            self._answered.clear()
            answers, self._answers = self._answers, []
            try:
                await self._store.keep(answers)
            except Exception:
                # They fire again and are answered again.
                log.exception("cannot write the tables' answers", timers=len(answers))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self.run(answers)
