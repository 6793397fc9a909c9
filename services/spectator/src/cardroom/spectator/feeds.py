"""The feeds of the tables that are watched here: one poll of the database for all, one message for all watchers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cardroom.chassis import logs
from cardroom.chassis.errors import NotFound
from cardroom.spectator import messages, metrics
from cardroom.spectator.domain.backlog import Backlog
from cardroom.spectator.domain.feed import Change, Feed

if TYPE_CHECKING:
    from cardroom.spectator.store import Opening, Store

log = logs.get("feeds")


class Watcher:
    """One stream's end of a feed."""

    def __init__(self, feed: _SharedFeed) -> None:
        self._feed = feed
        self._backlog = Backlog()
        self._news = asyncio.Event()
        if feed.feed.shown is not None:
            self._restart()

    def offer(self, message: bytes) -> None:
        """Give it a message."""
        self._backlog.offer(message)
        self._news.set()

    async def next(self, heartbeat_seconds: float) -> list[bytes]:
        """Return what to send next, at the latest a heartbeat after `heartbeat_seconds`."""
        if not self._news.is_set():
            try:
                await asyncio.wait_for(self._news.wait(), heartbeat_seconds)
            except TimeoutError:
                return [self._feed.heartbeat()]
        self._news.clear()
        if self._backlog.needs_snapshot:
            metrics.RESTARTED.inc()
            self._restart()
            self._news.clear()
        return self._backlog.take()

    def _restart(self) -> None:
        self._backlog.restart(self._feed.snapshot())
        self._news.set()


class _SharedFeed:
    """A feed, its watchers, and the snapshot that a new watcher begins with."""

    def __init__(self, opening: Opening) -> None:
        self.feed = Feed(opening.newest_due)
        self.until = opening.until
        self.watchers: set[Watcher] = set()
        self._snapshot: tuple[int, bytes] | None = None

    def snapshot(self) -> bytes:
        assert self.feed.shown is not None, "there is a snapshot once something is due"
        if self._snapshot is None or self._snapshot[0] != self.feed.version:
            self._snapshot = (self.feed.version, messages.snapshot(self.feed.shown))
        return self._snapshot[1]

    def heartbeat(self) -> bytes:
        return messages.heartbeat(self.feed.version, self.until)


class Feeds:
    """Every feed of this replica."""

    def __init__(self, store: Store, poll_seconds: float) -> None:
        """Ask `store` every `poll_seconds` for what became due."""
        self._store = store
        self._poll_seconds = poll_seconds
        self._shared: dict[str, _SharedFeed] = {}

    async def join(self, table_id: str) -> Watcher:
        """Return a new watcher of a table. Raises NotFound/TABLE_UNKNOWN."""
        shared = self._shared.get(table_id)
        if shared is None:
            opening = await self._store.open(table_id)
            if not opening.is_known:
                raise NotFound("TABLE_UNKNOWN", f"there is no table {table_id!r}: ListTables names those there are")
            # Somebody else may have opened it meanwhile: then theirs counts, and ours is forgotten.
            shared = self._shared.setdefault(table_id, _SharedFeed(opening))
        watcher = Watcher(shared)
        shared.watchers.add(watcher)
        metrics.FEEDS.set(len(self._shared))
        return watcher

    def leave(self, table_id: str, watcher: Watcher) -> None:
        """End a watcher; the feed ends with its last one."""
        shared = self._shared.get(table_id)
        if shared is None:
            return
        shared.watchers.discard(watcher)
        if not shared.watchers:
            del self._shared[table_id]
        metrics.FEEDS.set(len(self._shared))

    async def run(self) -> None:
        """Show what becomes due, until cancelled."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            if self._shared:
                await self.poll()

    async def poll(self) -> None:
        """Show what has become due since the last time."""
        changes, until = await self._store.due_after(
            {table_id: shared.feed.shown for table_id, shared in self._shared.items()}
        )
        by_table: dict[str, list[Change]] = {}
        for change in changes:
            by_table.setdefault(change.table_id, []).append(change)
        for table_id, shared in self._shared.items():
            shared.until = max(shared.until, until)
            for step in shared.feed.follow(by_table.get(table_id, ())):
                sent = messages.message(step)
                metrics.LATENESS.observe((until - step.change.happened_at).total_seconds())
                for watcher in shared.watchers:
                    watcher.offer(sent)
