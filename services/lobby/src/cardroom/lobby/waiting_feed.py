"""What each player waits for, as it is now: asked for once, or watched. One look at the database for all watchers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from cardroom.lobby.domain.waiting import Entry, places
from cardroom.lobby.waiting_store import Told, WaitingStore

# Changes that come together are told together.
GAP_SECONDS: Final = 0.05
# Without a look for so long nobody is told that all is as before.
STALE_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Wait:
    """One entry as its player sees it. `place` is 0 where the entry is not in line."""

    entry: Entry
    place: int
    left_ms: int = field(compare=False)
    """How long the seat is still kept. Two looks that differ in it only saw the same."""


Waits = tuple[Wait, ...]


class WaitingFeed:
    """Tells players what they wait for."""

    def __init__(self, store: WaitingStore, *, poll_seconds: float, heartbeat_seconds: float) -> None:
        self._store = store
        self._poll_seconds = poll_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._watchers: dict[str, set[_Watcher]] = {}
        self._stamp = ""
        self._looked_at = 0.0
        self._one_look = asyncio.Lock()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Something has changed: look now rather than at the next round."""
        self._woken.set()

    async def of(self, player_id: str) -> Waits:
        """Return what the player waits for."""
        return (await self._read({player_id}))[player_id]

    async def watch(self, player_id: str) -> AsyncIterator[Waits | None]:
        """Yield what the player waits for, again whenever it changes; None for a sign of life."""
        watcher = _Watcher()
        self._watchers.setdefault(player_id, set()).add(watcher)
        try:
            told = await self._first(player_id)
            yield told
            while True:
                seen = await watcher.next(self._heartbeat_seconds)
                if seen is not None and seen != told:
                    told = seen
                    yield told
                elif seen is None and time.monotonic() - self._looked_at < STALE_SECONDS:
                    yield None
        finally:
            self._watchers[player_id].discard(watcher)
            if not self._watchers[player_id]:
                del self._watchers[player_id]

    async def _first(self, player_id: str) -> Waits:
        # Not between another look's reading and its telling, or the older of the two would be told last.
        async with self._one_look:
            waits = await self.of(player_id)
            self._looked_at = time.monotonic()
            return waits

    async def run(self) -> None:
        """Look for changes while anybody watches, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._poll_seconds)
                await asyncio.sleep(GAP_SECONDS)
            self._woken.clear()
            if self._watchers:
                await self.look()

    async def look(self) -> None:
        """Tell every watcher what has changed for them since the last look."""
        async with self._one_look:
            stamp = await self._store.stamp()
            if stamp != self._stamp:
                for player_id, waits in (await self._read(self._watchers.keys())).items():
                    for watcher in self._watchers.get(player_id, ()):
                        watcher.see(waits)
                self._stamp = stamp
            self._looked_at = time.monotonic()

    async def _read(self, player_ids: Collection[str]) -> dict[str, Waits]:
        wanted = set(player_ids)
        return _by_player(await self._store.lines_of(wanted), wanted)


class _Watcher:
    """One stream's end: the last that was seen for its player."""

    def __init__(self) -> None:
        self._seen: Waits | None = None
        self._news = asyncio.Event()

    def see(self, waits: Waits) -> None:
        self._seen = waits
        self._news.set()

    async def next(self, seconds: float) -> Waits | None:
        """What was seen last, once there is news; None when there is none for so long."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return None
        self._news.clear()
        return self._seen


def _by_player(lines: Iterable[Told], player_ids: set[str]) -> dict[str, Waits]:
    lines = list(lines)
    place = places(told.entry for told in lines)
    found: dict[str, list[Wait]] = {player_id: [] for player_id in player_ids}
    for told in lines:
        if told.entry.player_id in found:
            wait = Wait(told.entry, place.get(told.entry.entry_id, 0), told.left_ms)
            found[told.entry.player_id].append(wait)
    return {player_id: tuple(waits) for player_id, waits in found.items()}
