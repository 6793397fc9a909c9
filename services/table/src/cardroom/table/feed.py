"""What the streams of one table are sent: each change once as bytes, read by every stream at its own pace."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from cardroom.contracts.table.v1.table_pb2 import Change, Heartbeat, OwnCards, PlayResponse, Snapshot
from cardroom.table import metrics
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Decision
from cardroom.table.domain.view import public_view

__all__ = ["BACKLOG", "Feed", "PlayStream", "snapshot_for"]

BACKLOG: Final = 128
"""Changes kept for a stream that lags; one that lags more gets a new snapshot."""


def snapshot_for(state: TableState, player_id: str) -> bytes:
    """The first message of a player's stream: everything that this player may see."""
    snapshot = Snapshot(view=public_view(state), own_cards=state.own_cards(player_id))
    return PlayResponse(version=state.version, snapshot=snapshot).SerializeToString()


class _Item:
    """One change: as everyone gets it, and as those get it who were dealt cards in it."""

    __slots__ = ("own", "public")

    def __init__(self, public: bytes, own: dict[str, bytes]) -> None:
        self.public = public
        self.own = own


class Feed:
    """The last changes of a table and the streams that read them."""

    __slots__ = ("_items", "_next", "streams")

    def __init__(self) -> None:
        self._items: deque[_Item] = deque(maxlen=BACKLOG)
        self._next = 0
        self.streams: list[PlayStream] = []

    @property
    def next(self) -> int:
        """The place of the change that comes next."""
        return self._next

    def has_stream_of(self, player_id: str) -> bool:
        """Whether one of the player's streams is alive here."""
        return any(stream.player_id == player_id for stream in self.streams)

    def push(self, decision: Decision) -> None:
        """Add a committed change and wake the streams."""
        if not self.streams:
            return
        version, events = decision.state.version, decision.events
        public = PlayResponse(version=version, change=Change(events=events)).SerializeToString()
        own = {
            player: _with_own(version, decision, cards)
            for player, cards in decision.own_cards.items()
            if any(stream.player_id == player for stream in self.streams)
        }
        self._items.append(_Item(public, own))
        self._next += 1
        for stream in self.streams:
            stream.wake()

    def item(self, place: int, player_id: str) -> bytes | None:
        """The change at `place` as that player gets it, or None when it is not kept any more."""
        first = self._next - len(self._items)
        if place < first:
            return None
        item = self._items[place - first]
        return item.own.get(player_id, item.public)

    def resync(self) -> None:
        """Every stream gets a new snapshot: the table was read anew and changes may be missing."""
        self._items.clear()
        self._next += 1
        for stream in self.streams:
            stream.wake()

    def end(self, error: Exception) -> None:
        """End every stream, once it has been sent what there is."""
        for stream in self.streams:
            stream.end(error, self._next)

    def end_of(self, is_welcome: Callable[[str], bool], error: Exception) -> None:
        """End the streams of players who are not welcome any more; they get nothing that comes after now."""
        for stream in self.streams:
            if not is_welcome(stream.player_id):
                stream.end(error, self._next)


def _with_own(version: int, decision: Decision, cards: OwnCards) -> bytes:
    change = Change(events=decision.events, own_cards=cards)
    return PlayResponse(version=version, change=change).SerializeToString()


class PlayStream:
    """One open stream of a player at a table."""

    __slots__ = ("_ended", "_place", "_until", "_waiting", "is_silent", "player_id", "quiet_since")

    def __init__(self, player_id: str) -> None:
        self.player_id = player_id
        self.quiet_since = time.monotonic()
        self.is_silent = False
        self._place = 0
        self._until = sys.maxsize
        self._ended: Exception | None = None
        self._waiting: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """There is something to do."""
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def end(self, error: Exception, place: int) -> None:
        """End the stream with an error, once it has been sent the changes before `place`."""
        if self._ended is None:
            self._ended = error
            self._until = place
            self.wake()

    def beat(self) -> None:
        """Send a heartbeat: nothing was sent for a while."""
        self.is_silent = True
        self.wake()

    async def run(self, feed: Feed, state: Callable[[], TableState], write: Callable[[bytes], Awaitable[None]]) -> None:
        """Send a snapshot, then every change, until the stream is ended. Raises what it is ended with."""
        # It may have ended while it was being opened: the player has no right to see the table any more.
        self._raise_end()
        await self._send(write, self._snapshot(feed, state()))
        loop = asyncio.get_running_loop()
        while True:
            while self._place < min(feed.next, self._until):
                message = feed.item(self._place, self.player_id)
                if message is None and self._ended is not None:
                    break
                if message is None:
                    metrics.RESYNCS.inc()
                    message = self._snapshot(feed, state())
                else:
                    self._place += 1
                await self._send(write, message)
            self._raise_end()
            if self.is_silent:
                beat = PlayResponse(version=state().version, heartbeat=Heartbeat())
                await self._send(write, beat.SerializeToString())
                continue
            self._waiting = loop.create_future()
            await self._waiting

    def _raise_end(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _snapshot(self, feed: Feed, state: TableState) -> bytes:
        self._place = feed.next
        return snapshot_for(state, self.player_id)

    async def _send(self, write: Callable[[bytes], Awaitable[None]], message: bytes) -> None:
        self.is_silent = False
        await write(message)
        self.quiet_since = time.monotonic()
