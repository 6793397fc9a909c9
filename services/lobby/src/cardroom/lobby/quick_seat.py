"""A seat at the best table of some stakes, without choosing one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from cardroom.lobby import rows
from cardroom.lobby import waiting_statements as wsql
from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.rooms import Room, Wanted, checked_wanted, rooms_for
from cardroom.lobby.domain.seating import Seating
from cardroom.lobby.errors import NotNow, Overtaken, Refused
from cardroom.lobby.seats import Seats
from cardroom.lobby.store import SeatingStore, SitRequest

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]

TRIES: Final = 3
# The seat was there a moment ago; another one may be somewhere else.
_GO_ON_AFTER: Final = frozenset({"TABLE_FULL", "TABLE_UNKNOWN"})


@dataclass(frozen=True, slots=True)
class QuickRequest:
    """A player's wish to sit down at some stakes, as asked."""

    player_id: str
    display_name: str
    wanted: Wanted
    buy_in: int
    request_id: str

    def at(self, table_id: str) -> SitRequest:
        """The wish as one for any seat at this table."""
        quick = json.dumps(asdict(self.wanted), sort_keys=True)
        return SitRequest(self.player_id, self.display_name, table_id, 0, self.buy_in, self.request_id, quick)


class QuickSeat:
    """Finds the table, and sits the player down there as if they had chosen it."""

    def __init__(self, pool: Pool, store: SeatingStore, seats: Seats, games: frozenset[int]) -> None:
        self._pool = pool
        self._games = games
        self._store = store
        self._seats = seats

    async def sit_down(self, ask: QuickRequest) -> Seating:
        """Return the stay once the player sits. Raises Refused, or NotNow while it is neither begun nor undone."""
        wrong = checked_wanted(ask.wanted, self._games)
        if wrong is not None:
            raise Refused(wrong)
        for _ in range(TRIES):
            known = await self._store.first_outcome(ask.at(""))
            if known is not None:
                return await self._seats.finish(known)
            rooms = [rows.room(row) for row in await self._pool.fetch(wsql.ROOMS_AT, *ask.wanted.key)]
            wrong = _checked(ask, rooms)
            if wrong is not None:
                raise Refused(wrong)
            seating = await self._at_the_first_that_has_a_seat(ask, rooms)
            if seating is not None:
                return seating
            try:
                await self._store.refuse(ask.at(""), refusals.stakes_full(ask.wanted.shown))
            except Overtaken:
                continue
        raise NotNow(f"request {ask.request_id} is being answered elsewhere")

    async def _at_the_first_that_has_a_seat(self, ask: QuickRequest, rooms: Sequence[Room]) -> Seating | None:
        for room in rooms_for(ask.player_id, ask.buy_in, rooms):
            try:
                return await self._seats.sit_down(ask.at(room.table_id))
            except Refused as no:
                if no.refusal.reason not in _GO_ON_AFTER or await self._store.first_outcome(ask.at("")) is not None:
                    raise
        return None


def _checked(ask: QuickRequest, rooms: Sequence[Room]) -> Refusal | None:
    if not rooms:
        return refusals.stakes_unknown(ask.wanted.shown)
    limits = [(room.stakes.min_buy_in, room.stakes.max_buy_in) for room in rooms]
    if any(least <= ask.buy_in <= most for least, most in limits):
        return None
    return refusals.buy_in_out_of_range(ask.buy_in, min(least for least, _ in limits), max(most for _, most in limits))
