"""Taking a seat: the one place where a seat becomes a player's, in the transaction of their request to sit down."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from cardroom.lobby import rows
from cardroom.lobby import statements as sql
from cardroom.lobby import waiting_statements as wsql
from cardroom.lobby.domain import refusals, waiting
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.waiting import seat_to_take
from cardroom.lobby.errors import LineComesFirst, Overtaken

if TYPE_CHECKING:
    import asyncpg

    from cardroom.lobby.store import SitRequest

    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]


async def take_seat(
    conn: Connection, ask: SitRequest, claim: timedelta, *, line_is_served: bool
) -> asyncpg.Record | Refusal:
    """Return the row of the new stay, claimed by the caller, or why there is none. The table's row must be locked.

    The player's places in line rest from now on; a seat that was kept for them elsewhere is free. Raises LineComesFirst
    while the free seats are for others who wait, unless those were served.
    """
    # Nothing happens to the player's places in line until this is committed.
    await conn.execute(wsql.LOCK_ENTRIES_OF, ask.player_id)
    await conn.execute(wsql.END_LAPSED_OF, ask.player_id)
    seated = await _already_seated(conn, ask.player_id)
    if seated is not None:
        return seated
    room = rows.room(await conn.fetchrow(wsql.ROOM, ask.table_id))
    # A player is on so many lists at most: among so many entries are as many players as seats, or everyone.
    line = await conn.fetch(wsql.LINE_AT, ask.table_id, room.stakes.seats * waiting.LISTS_MAX)
    seat = seat_to_take(ask.seat, ask.player_id, room, [rows.entry(row) for row in line])
    if isinstance(seat, Refusal):
        return seat
    if seat is None:
        if line_is_served:
            return refusals.table_full(ask.table_id, room.stakes.seats)
        raise LineComesFirst(f"the free seats of table {ask.table_id} are for players who wait")
    stay = await conn.fetchrow(
        wsql.TAKE_SEAT, uuid4(), ask.table_id, ask.player_id, ask.display_name, seat, ask.buy_in, claim
    )
    if stay is None:
        # The table is locked, so it is not the seat: the player takes one elsewhere, at this moment.
        return await _already_seated(conn, ask.player_id) or _overtaken(ask)
    await conn.execute(wsql.REST_ENTRIES, ask.player_id, stay["seating_id"], ask.table_id, seat)
    return stay


async def _already_seated(conn: Connection, player_id: str) -> Refusal | None:
    row = await conn.fetchrow(sql.READ_ACTIVE_SEATING, player_id)
    return rows.already_seated(row) if row else None


def _overtaken(ask: SitRequest) -> Refusal:
    raise Overtaken(f"player {ask.player_id} sat elsewhere for a moment")
