"""Runs a service's callbacks for shards that come and go: in order for one shard, a few shards at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from cardroom.chassis import logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

AT_ONCE: Final = 16
LOSING_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 1.0

log = logs.get("leases")


class Shifts:
    """The callbacks that run now. `mine` is the keeper's live map of owned shards."""

    def __init__(
        self,
        on_gained: Callable[[int, int], Awaitable[None]] | None,
        on_losing: Callable[[int], Awaitable[None]] | None,
        mine: Mapping[int, int],
    ) -> None:
        self._on_gained = on_gained
        self._on_losing = on_losing
        self._mine = mine
        self._running: dict[int, asyncio.Task[None]] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._leaving: set[int] = set()
        self._handed: set[int] = set()

    def gained(self, shard: int, epoch: int) -> None:
        """Bring the shard up."""
        self._leaving.discard(shard)
        if self._on_gained is not None:
            self._queue(shard, lambda: self._bring_up(shard, epoch))

    def lost(self, shard: int) -> None:
        """Tell the service that the shard is not ours any more."""
        self._leaving.discard(shard)
        self._handed.discard(shard)
        self._cancel(shard)
        if self._on_losing is not None:
            self._queue(shard, lambda: self._let_go(shard))

    def hand_over(self, shards: Sequence[int], handed: Callable[[], None]) -> None:
        """Wind these shards down, unless others are being wound down; call `handed` when all of them are."""
        if self._leaving:
            return
        left = set(shards)
        self._leaving |= left

        async def wind_down(shard: int) -> None:
            await self._let_go(shard)
            if shard in self._leaving:
                self._handed.add(shard)
            left.discard(shard)
            if not left:
                handed()

        for shard in shards:
            self._cancel(shard)
            self._queue(shard, lambda shard=shard: wind_down(shard))  # type: ignore[misc]

    def take_handed(self) -> list[int]:
        """Return the shards that are wound down and may be released, each once; empty while others still run."""
        if self._leaving != self._handed:
            return []
        handed = sorted(self._handed)
        self._handed.clear()
        self._leaving.clear()
        return handed

    async def close(self) -> None:
        """Let the callbacks that run come to their end, for a while, then cancel them."""
        if self._running:
            _, late = await asyncio.wait(self._running.values(), timeout=LOSING_SECONDS)
            for task in late:
                task.cancel()

    def _cancel(self, shard: int) -> None:
        task = self._running.get(shard)
        if task is not None:
            task.cancel()

    def _queue(self, shard: int, work: Callable[[], Awaitable[None]]) -> None:
        before = self._running.get(shard)

        async def run() -> None:
            if before is not None:
                await asyncio.wait({before})
            async with self._gate:
                await work()

        task = asyncio.create_task(run(), name=f"shard {shard}")
        self._running[shard] = task
        task.add_done_callback(lambda done: self._over(shard, done))

    def _over(self, shard: int, task: asyncio.Task[None]) -> None:
        if self._running.get(shard) is task:
            del self._running[shard]
        if not task.cancelled() and task.exception() is not None:
            log.error("a callback of the leases failed", shard=shard, exc_info=task.exception())

    async def _bring_up(self, shard: int, epoch: int) -> None:
        assert self._on_gained is not None
        while self._mine.get(shard) == epoch:
            try:
                await self._on_gained(shard, epoch)
            except Exception:
                log.exception("a shard could not be brought up; trying again", shard=shard, epoch=epoch)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def _let_go(self, shard: int) -> None:
        if self._on_losing is None:
            return
        try:
            async with asyncio.timeout(LOSING_SECONDS):
                await self._on_losing(shard)
        except Exception:
            # Fencing protects what such a shard still does; keeping it would keep its tables from playing.
            log.exception("a shard could not be wound down; letting it go as it is", shard=shard)
