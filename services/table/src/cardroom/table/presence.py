"""Tells tables which of their players are there: who has a stream that is alive at the table's owner (rule 9.5).

Streams through other replicas end here too, as they are passed on, so that the owner knows of all.
"""

from __future__ import annotations

import asyncio
from typing import Final

from cardroom.chassis import logs
from cardroom.chassis.errors import CardroomError
from cardroom.table.domain.commands import SetConnected
from cardroom.table.errors import OutcomeUnknown
from cardroom.table.livetable import LiveTable
from cardroom.table.tables import Tables

__all__ = ["Presence"]

AGAIN_SECONDS: Final = 0.5

log = logs.get("presence")


class Presence:
    """A part of the app. It compares what a table's state says with its streams, and tells the table until they agree.

    So neither the order in which streams come and go matters, nor a command that fails: the last truth wins.
    """

    def __init__(self, tables: Tables, *, reconnect_seconds: float) -> None:
        self._tables = tables
        self._reconnect_seconds = reconnect_seconds
        self._telling: dict[tuple[LiveTable, str], asyncio.Task[None]] = {}

    async def start(self) -> None:
        """There is nothing to do before the first stream."""

    async def stop(self) -> None:
        """Tell no more: where the table goes, everyone counts as present at first."""
        telling = list(self._telling.values())
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

    def note(self, live: LiveTable, player_id: str) -> None:
        """A stream of the player opened or closed."""
        key = (live, player_id)
        if key not in self._telling and not _agree(live, player_id):
            self._telling[key] = asyncio.create_task(self._tell(live, player_id), name="presence")

    async def _tell(self, live: LiveTable, player_id: str) -> None:
        try:
            while not _agree(live, player_id):
                if not live.feed.has_stream_of(player_id):
                    # A client that replaces its stream is not away: nobody needs to see it go and come.
                    await asyncio.sleep(self._reconnect_seconds)
                if not _agree(live, player_id):
                    await self._tell_once(live, player_id)
        finally:
            # In the same moment as the last look: a stream that comes or goes later begins anew.
            self._telling.pop((live, player_id), None)

    async def _tell_once(self, live: LiveTable, player_id: str) -> None:
        try:
            command = SetConnected(player_id, live.feed.has_stream_of(player_id))
            await self._tables.execute(live.table_id, command)
        except (CardroomError, OutcomeUnknown) as error:
            log.debug("a table was not told who is there; trying again", table_id=live.table_id, why=str(error))
            await asyncio.sleep(AGAIN_SECONDS)


def _agree(live: LiveTable, player_id: str) -> bool:
    """Whether the table's state says what is so, or is nobody's business here any more."""
    if live.is_gone or live.is_stopped or live.state is None:
        return True
    seat = live.state.seat_of(player_id)
    return seat is None or seat.connected == live.feed.has_stream_of(player_id)
