"""Works off rows that have something left to do: at once when asked, and in the background after a crash or a failure.

Several replicas share the rows by claims in the database. Within one process, everybody who waits for the same row
waits for the same task; a caller who goes away does not stop it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

from cardroom.chassis import logs

Item = TypeVar("Item")

IDLE_SECONDS: Final = 1.0
AT_ONCE_MAX: Final = 32
CLAIMED_LOOK_SECONDS: Final = 0.05
STOP_SECONDS: Final = 3.0

log = logs.get("errands")


class Source(Protocol[Item]):
    """Where claimed rows come from."""

    async def claim(self, key: str) -> Item | None:
        """Claim one row, whenever it is due; None while it is another's or has nothing left to do."""

    async def claim_due(self, limit: int) -> list[Item]:
        """Claim rows that are due."""

    async def is_claimed(self, key: str) -> bool:
        """Whether somebody has the row now."""


class Errands(Generic[Item]):
    """The rows of one kind. A part of an `App`. `advance` moves a claimed row on as far as it goes now."""

    def __init__(
        self, name: str, source: Source[Item], key: Callable[[Item], str], advance: Callable[[Item], Awaitable[None]]
    ) -> None:
        self._name = name
        self._source = source
        self._key = key
        self._advance = advance
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, Item] = {}
        self._woken = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look for rows that are due."""
        self._loop = asyncio.create_task(self._look(), name=f"errands-{self._name}")

    async def stop(self) -> None:
        """Look no more; let what runs end, for a while. What is cut off is taken up by another replica."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)
        if self._running:
            await asyncio.wait(self._running.values(), timeout=STOP_SECONDS)
        left = list(self._running.values())
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def wake(self) -> None:
        """Look for rows that are due now rather than at the next round."""
        self._woken.set()

    def wake_in(self, seconds: float) -> None:
        """Look again after a while."""
        asyncio.get_running_loop().call_later(seconds, self.wake)

    def begin(self, item: Item) -> asyncio.Task[None]:
        """Work on a row that the caller has claimed, in a task of its own."""
        key = self._key(item)
        running = self._running.get(key)
        if running is not None:
            # It has given up its claim and is about to end: the new claim must not be lost.
            self._again[key] = item
            return running
        task = asyncio.create_task(self._work(key, item), name=f"errand-{self._name}")
        self._running[key] = task
        return task

    async def run(self, key: str, patience_seconds: float) -> None:
        """Work on a row now, or wait for whoever does; return when it has gone as far as it goes, or patience ends."""
        give_up = time.monotonic() + patience_seconds
        while (left := give_up - time.monotonic()) > 0:
            task = self._running.get(key)
            if task is None:
                item = await self._source.claim(key)
                task = self._running.get(key) if item is None else self.begin(item)
            if task is not None:
                await self.wait(task, left)
                return
            if not await self._source.is_claimed(key):
                return
            await asyncio.sleep(CLAIMED_LOOK_SECONDS)

    async def wait(self, task: asyncio.Task[None], patience_seconds: float) -> None:
        """Wait for the task, but no longer; it goes on."""
        await asyncio.wait({task}, timeout=patience_seconds)

    async def _work(self, key: str, first: Item) -> None:
        item: Item | None = first
        try:
            while item is not None:
                await self._advance_safely(key, item)
                item = self._again.pop(key, None)
        finally:
            self._running.pop(key, None)

    async def _advance_safely(self, key: str, item: Item) -> None:
        try:
            await self._advance(item)
        except Exception:
            # The claim runs out and the row is taken up again: nothing is lost but time.
            log.exception("an errand failed; it is tried again", kind=self._name, key=key)

    async def _look(self) -> None:
        while True:
            found = await self._claim_due()
            if found == 0:
                try:
                    await asyncio.wait_for(self._woken.wait(), IDLE_SECONDS)
                except TimeoutError:
                    continue
                finally:
                    self._woken.clear()

    async def _claim_due(self) -> int:
        free = AT_ONCE_MAX - len(self._running)
        if free <= 0:
            await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)
            return 1
        try:
            items = await self._source.claim_due(free)
        except Exception:
            log.exception("cannot look for errands; trying again", kind=self._name)
            return 0
        for item in items:
            self.begin(item)
        return len(items)
