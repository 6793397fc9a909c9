"""The line: joining and leaving it, and keeping seats for whoever is next. The database knows everything; any replica,
at any time, may do what is to be done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import Counter, Gauge

from cardroom.lobby.domain.rooms import checked_wanted
from cardroom.lobby.domain.waiting import Entry
from cardroom.lobby.errors import NotNow, Overtaken, Refused
from cardroom.lobby.sharing import Shared
from cardroom.lobby.waiting_store import JoinRequest, WaitingStore

# How soon this replica finds what another one left behind.
LOOK_SECONDS: Final = 0.5
NOBODY_WAITS_SECONDS: Final = 1.0
# A lapse is looked for right after it, not right before.
LAPSE_SECONDS: Final = 0.005
JOIN_TRIES: Final = 3
# Each round serves or judges somebody; what a flood leaves over is found by the next look.
ROUNDS_MAX: Final = 100

WAITING: Final = Gauge("cardroom_lobby_waiting", "Entries on waiting lists: in line, or with a seat kept.", ["state"])
SEATS_KEPT: Final = Counter("cardroom_lobby_seats_kept_total", "Seats kept for players who waited.")
WAITS_ENDED: Final = Counter("cardroom_lobby_waits_ended_total", "Waits that are over, by how.", ["how"])


class WaitingLists:
    """What players ask of the line, and the work on it."""

    def __init__(self, store: WaitingStore, games: frozenset[int]) -> None:
        self._store = store
        self._games = games
        self._woken = asyncio.Event()
        self.serve = Shared(self._serve)
        """Does all that is to be done, of what was committed before the call: judges the entries, keeps free seats for
        those who are next. However many ask for it, one run at a time does it for all of them."""
        self.changed: Callable[[], None] = lambda: None
        """Called when this replica has changed the line."""

    async def join(self, ask: JoinRequest) -> Entry:
        """Return the player's entry, with a seat if one is free. Raises Refused, or NotNow."""
        wrong = checked_wanted(ask.wanted, self._games) if ask.wanted else None
        if wrong is not None:
            raise Refused(wrong)
        entry = await self._join(ask)
        if entry.is_in_line:
            await self.serve()
        self.changed()
        return await self._store.entry(ask.player_id, entry.entry_id)

    async def _join(self, ask: JoinRequest) -> Entry:
        for _ in range(JOIN_TRIES):
            try:
                return await self._store.join(ask)
            except Overtaken:
                continue
        raise NotNow(f"request {ask.request_id} is being answered elsewhere")

    async def leave(self, player_id: str, entry_id: str) -> Entry:
        """End the player's entry and return it. Raises Refused."""
        if await self._store.leave(player_id, entry_id):
            WAITS_ENDED.labels("left").inc()
            self.changed()
            self.wake()
        return await self._store.entry(player_id, entry_id)

    def wake(self) -> None:
        """A seat may be free, or somebody's wait over: look now rather than at the next round."""
        self._woken.set()

    async def _serve(self) -> None:
        for _ in range(ROUNDS_MAX):
            judged, served = await self._store.judge(), await self._store.keep_seats()
            _count(judged)
            SEATS_KEPT.inc(len(served))
            if not judged and not served:
                return
            self.changed()

    async def run(self) -> None:
        """Serve the line whenever there is reason to, until cancelled."""
        while True:
            self._woken.clear()
            pause = NOBODY_WAITS_SECONDS
            if (await self._store.outlook()).entries:
                await self.serve()
                lapses_in = (await self._store.outlook()).lapses_in
                pause = LOOK_SECONDS if lapses_in is None else min(LOOK_SECONDS, max(0.0, lapses_in) + LAPSE_SECONDS)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), pause)

    async def keep_house(self) -> None:
        """Show how many wait; forget what nobody asks for any more."""
        in_line, kept = await self._store.count()
        WAITING.labels("in line").set(in_line)
        WAITING.labels("seat kept").set(kept)
        await self._store.forget_old()


def _count(judged: Iterable[Entry]) -> None:
    for entry in judged:
        if entry.ended is not None:
            WAITS_ENDED.labels(entry.ended).inc()
