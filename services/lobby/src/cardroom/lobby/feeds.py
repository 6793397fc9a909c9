"""The streams of the list: one look at the database for all watchers, one message for all with the same filter.

A watcher has no queue: it reads the feed's last messages at its own pace. One that lags too far gets the whole list.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import Counter, Gauge

from cardroom.lobby import messages
from cardroom.lobby.board import Board
from cardroom.lobby.domain.listing import Order, TableFilter
from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.sharing import Shared

BACKLOG: Final = 32
"""Messages kept for a watcher that lags; one that lags more gets a new snapshot."""
WOKEN_AT_ONCE: Final = 100
"""Between so many watchers and the next, calls of other kinds get their turn."""
BUSY_PART: Final = 0.5
"""The part of the time that may be spent on sending: what changes meanwhile is told together, in fewer messages."""
APART_SECONDS_MAX: Final = 0.7
"""Looks are at most so far apart, whoever is slow: a change is told within a second."""
SENDING_LOOK_SECONDS: Final = 0.01
STRAGGLERS_PART: Final = 0.02
"""So many of the watchers are not waited for."""

FEEDS: Final = Gauge("cardroom_lobby_feeds", "Filters with which somebody watches the list through this replica.")
RESYNCS: Final = Counter("cardroom_lobby_resyncs_total", "Watchers too slow for the list, begun again with a snapshot.")

Write = Callable[[bytes], Awaitable[None]]


class Watcher:
    """One stream's end of a feed."""

    __slots__ = ("_beats", "_feed", "_place", "_waiting", "is_behind")

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._place = 0
        self._beats = 0
        self._waiting: asyncio.Future[None] | None = None
        self.is_behind = True
        """Whether there is something that it has not sent."""

    def wake(self) -> None:
        """There is something to send."""
        self.is_behind = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def run(self, write: Write) -> None:
        """Send the list, then what changes in it, until cancelled."""
        feed = self._feed
        await write(self._snapshot())
        while True:
            while self._place < feed.next:
                message = feed.message(self._place)
                if message is None:
                    RESYNCS.inc()
                    message = self._snapshot()
                else:
                    self._place += 1
                await write(message)
            if self._beats != feed.beats:
                self._beats = feed.beats
                await write(feed.heartbeat())
                continue
            self.is_behind = False
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    def _snapshot(self) -> bytes:
        self._place, self._beats = self._feed.next, self._feed.beats
        return self._feed.snapshot()


class Feed:
    """What all who watch with the same filter are sent. It keeps no list of its own: the filter tells who was in it."""

    def __init__(self, wanted: TableFilter, shown: Mapping[str, Offer]) -> None:
        """`shown` is the list of all tables as told so far, which the owner keeps."""
        self.wanted = wanted
        self.watchers: set[Watcher] = set()
        self.told_at = 0.0
        self.beats = 0
        self._shown = shown
        self._version = 1
        self._messages: deque[bytes] = deque(maxlen=BACKLOG)
        self._next = 0
        self._snapshot: bytes | None = None

    @property
    def next(self) -> int:
        """The place of the message that comes next."""
        return self._next

    def message(self, place: int) -> bytes | None:
        """The message at a place, or None when it is not kept any more."""
        first = self._next - len(self._messages)
        return self._messages[place - first] if place >= first else None

    def snapshot(self) -> bytes:
        """The whole list, made once for all who come before it changes."""
        if self._snapshot is None:
            offers = Order().sorted(offer for offer in self._shown.values() if self.wanted.lets_through(offer))
            self._snapshot = messages.snapshot(self._version, offers)
        return self._snapshot

    def heartbeat(self) -> bytes:
        """A sign of life."""
        return messages.heartbeat(self._version)

    def beat(self) -> None:
        """Let every watcher send a sign of life."""
        self.beats += 1
        # Kept for those who come together; nobody came for a while.
        self._snapshot = None

    def follow(self, moved: Iterable[tuple[Offer | None, Offer]], gone: Iterable[Offer]) -> bool:
        """Take over which tables are new or different, before and after, and which are gone. Whether it is any news."""
        changed, removed = [], [offer.table.table_id for offer in gone if self.wanted.lets_through(offer)]
        for before, after in moved:
            if self.wanted.lets_through(after):
                changed.append(after)
            elif before is not None and self.wanted.lets_through(before):
                removed.append(after.table.table_id)
        if not changed and not removed:
            return False
        self._version += 1
        self._messages.append(messages.change(self._version, changed, removed))
        self._next += 1
        self._snapshot = None
        return True


class Feeds:
    """Every feed of this replica."""

    def __init__(
        self,
        board: Board,
        *,
        poll_seconds: float,
        statistics_seconds: float,
        heartbeat_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at `board` every `poll_seconds`; tell of pots and rates alone every `statistics_seconds`."""
        self._board = board
        self._poll_seconds = poll_seconds
        self._statistics_seconds = statistics_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._now = now
        self._feeds: dict[TableFilter, Feed] = {}
        self._shown: dict[str, Offer] = {}
        self._statistics_at = -math.inf
        self.look = Shared(self._look, apart_seconds=poll_seconds)
        """Tells what was committed before the call. Raises what the database says; nobody hears a heartbeat then."""

    async def watch(self, wanted: TableFilter, write: Write) -> None:
        """Send the list to a watcher until cancelled."""
        await self.look()
        feed = self._feeds.get(wanted)
        if feed is None:
            feed = self._feeds[wanted] = Feed(wanted, self._shown)
            feed.told_at = self._now()
        watcher = Watcher(feed)
        feed.watchers.add(watcher)
        FEEDS.set(len(self._feeds))
        try:
            await watcher.run(write)
        finally:
            feed.watchers.discard(watcher)
            if not feed.watchers:
                del self._feeds[wanted]
            FEEDS.set(len(self._feeds))

    async def run(self) -> None:
        """Tell what changes, until cancelled."""
        while True:
            await asyncio.sleep(self._poll_seconds)
            if self._feeds:
                await self.look()

    async def _look(self) -> None:
        await self._board.freshen()
        keen = [watcher for watcher in self._tell() if not watcher.is_behind]
        # Who is behind finds the news when it gets there.
        began = self._now()
        await _wake(keen)
        if len(keen) >= WOKEN_AT_ONCE:
            await self._until_sent(keen)
        busy_seconds = (self._now() - began) / BUSY_PART
        self.look.apart_seconds = min(max(self._poll_seconds, busy_seconds), APART_SECONDS_MAX)

    async def _until_sent(self, watchers: Collection[Watcher]) -> None:
        """Wait until all but a few have sent what they were woken for, but no longer than it is good for the others."""
        for _ in range(int(APART_SECONDS_MAX * BUSY_PART / SENDING_LOOK_SECONDS)):
            await asyncio.sleep(SENDING_LOOK_SECONDS)
            if sum(watcher.is_behind for watcher in watchers) <= STRAGGLERS_PART * len(watchers):
                return

    def _tell(self) -> list[Watcher]:
        """Put into each feed what is news there; return who is to be woken."""
        now, offers = self._now(), self._board.offers
        with_statistics = now - self._statistics_at >= self._statistics_seconds
        if with_statistics:
            self._statistics_at = now
        moved = list(_moved(self._shown, offers, with_statistics=with_statistics))
        gone = [offer for table_id, offer in self._shown.items() if table_id not in offers]
        self._shown.update((after.table.table_id, after) for _, after in moved)
        for offer in gone:
            del self._shown[offer.table.table_id]
        woken: list[Watcher] = []
        for feed in self._feeds.values():
            if feed.follow(moved, gone):
                feed.told_at = now
                woken += feed.watchers
            elif now - feed.told_at >= self._heartbeat_seconds:
                feed.told_at = now
                feed.beat()
                woken += feed.watchers
        return woken


def _moved(
    before: Mapping[str, Offer], after: Mapping[str, Offer], *, with_statistics: bool
) -> Iterator[tuple[Offer | None, Offer]]:
    for table_id, offer in after.items():
        known = before.get(table_id)
        # The board keeps an offer that reads the same: no need to compare what is the same object.
        if known is not offer and (known is None or with_statistics or not known.offers_the_same_as(offer)):
            yield known, offer


async def _wake(watchers: Collection[Watcher]) -> None:
    for number, watcher in enumerate(watchers, 1):
        watcher.wake()
        if number % WOKEN_AT_ONCE == 0:
            await asyncio.sleep(0)
