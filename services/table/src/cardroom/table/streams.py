"""Players' streams: how many there may be, and a sign of life for those that have nothing to tell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from cardroom.chassis.errors import CardroomError, PermissionDenied
from cardroom.table import metrics
from cardroom.table.domain.state import TableState
from cardroom.table.errors import StreamEnded, TooManyStreams
from cardroom.table.feed import PlayStream
from cardroom.table.livetable import LiveTable
from cardroom.table.presence import Presence
from cardroom.table.tables import Tables

__all__ = ["Streams"]

TICK_SECONDS: Final = 0.5


class Streams:
    """Opens streams and, as a part of the app, lets the silent ones beat: one timer for all."""

    def __init__(
        self, tables: Tables, presence: Presence, *, streams_max: int, per_player_max: int, heartbeat_seconds: float
    ) -> None:
        self._tables = tables
        self._presence = presence
        self._streams_max = streams_max
        self._per_player_max = per_player_max
        self._heartbeat_seconds = heartbeat_seconds
        self._open: set[PlayStream] = set()
        self._ticking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to send heartbeats."""
        self._ticking = asyncio.create_task(self._tick(), name="heartbeats")

    async def stop(self) -> None:
        """Stop sending heartbeats."""
        ticking, self._ticking = self._ticking, None
        if ticking is not None:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)

    async def play(
        self,
        table_id: str,
        player_id: str,
        begin: Callable[[], Awaitable[None]],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Send a player the table until the stream ends. Raises StreamEnded once `begin()` was awaited."""
        live = await self._tables.loaded(table_id)
        stream = self._admit(live, player_id)
        live.feed.streams.append(stream)
        self._open.add(stream)
        metrics.STREAMS.set(len(self._open))
        self._presence.note(live, player_id)

        def state() -> TableState:
            assert live.state is not None, "a table that was loaded stays so"
            return live.state

        try:
            await begin()
            await stream.run(live.feed, state, write)
        except CardroomError as error:
            raise StreamEnded(error) from error
        finally:
            live.feed.streams.remove(stream)
            self._open.discard(stream)
            metrics.STREAMS.set(len(self._open))
            self._presence.note(live, player_id)

    def _admit(self, live: LiveTable, player_id: str) -> PlayStream:
        assert live.state is not None
        if live.state.seat_of(player_id) is None:
            raise PermissionDenied("NOT_SEATED", "you do not sit at this table: sit down, or watch it")
        if len(self._open) >= self._streams_max:
            raise TooManyStreams("this server", self._streams_max)
        if sum([stream.player_id == player_id for stream in live.feed.streams]) >= self._per_player_max:
            raise TooManyStreams("a player at one table", self._per_player_max)
        return PlayStream(player_id)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(min(TICK_SECONDS, self._heartbeat_seconds / 2))
            self._tables.end_lost()
            quiet = time.monotonic() - self._heartbeat_seconds
            for stream in self._open:
                if stream.quiet_since <= quiet:
                    stream.beat()
