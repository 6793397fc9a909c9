"""What the lobby keeps of waiting lists. Each method is one committed unit; what has a connection is part of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from cardroom.lobby import rows
from cardroom.lobby import statements as sql
from cardroom.lobby import waiting_statements as wsql
from cardroom.lobby.domain import refusals, waiting
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.rooms import Wanted, wanted_of
from cardroom.lobby.domain.waiting import Entry, Facts, Stay, looked_at, next_reservations
from cardroom.lobby.errors import Overtaken, Refused

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

# In one look; what is left over is found by the next one, at once.
JUDGED_AT_ONCE: Final = 500
ROOMS_AT_ONCE: Final = 50
# How long a player is told what became of an entry.
TOLD_FOR: Final = timedelta(minutes=2)
# How long a request id is remembered.
REPEATABLE: Final = timedelta(days=7)

# `left` is of an undone reason too; a stay that ends without one was begun at the table.
_SAT: Final = frozenset({"seated", "leaving", "cashing_out"})


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A player's wish to wait, as asked: at a table, or (`table_id` is None) for stakes."""

    player_id: str
    request_id: str
    table_id: str | None
    wanted: Wanted | None

    @property
    def content(self) -> dict[str, Any]:
        """What a repeat must have as well."""
        return {"table_id": self.table_id, "stakes": asdict(self.wanted) if self.wanted else None}


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is to be expected of the line: the next lapse, in seconds, and how many entries there are."""

    lapses_in: float | None
    entries: int


async def count_waiting_for(conn: Connection | Pool, wanted: Wanted) -> int:
    """Return how many players wait for a seat at any table with these stakes and have none in prospect.

    For whoever opens tables. Lists that name no number of seats count as well. Who waits for one table wants no other.
    """
    return int(await conn.fetchval(wsql.WAITING_FOR, *wanted.key))


class WaitingStore:
    """Places in line, and the requests that began them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def join(self, ask: JoinRequest) -> Entry:
        """Write down that the player waits; return their entry. Raises Refused; a refusal that depended on the state
        is kept and met again by the same request. Raises Overtaken when the same request is being answered elsewhere.
        """
        async with self._pool.acquire() as conn, conn.transaction():
            known = await conn.fetchrow(wsql.READ_JOIN_REQUEST, ask.player_id, ask.request_id)
            outcome = await _first_outcome(conn, ask, known) if known else await self._join(conn, ask)
        if isinstance(outcome, Refusal):
            raise Refused(outcome)
        return outcome

    async def _join(self, conn: Connection, ask: JoinRequest) -> Entry | Refusal:
        wanted = await _list_of(conn, ask)
        if isinstance(wanted, Refusal):
            return wanted
        outcome = await self._add(conn, ask, wanted)
        entry_id, no = (outcome.entry_id, None) if isinstance(outcome, Entry) else (None, json.dumps(asdict(outcome)))
        content = json.dumps(ask.content)
        if not await conn.fetchval(wsql.RECORD_JOIN_REQUEST, ask.player_id, ask.request_id, content, entry_id, no):
            raise Overtaken(f"request {ask.request_id} is being answered elsewhere")
        return outcome

    async def _add(self, conn: Connection, ask: JoinRequest, wanted: Wanted) -> Entry | Refusal:
        await conn.execute(wsql.LOCK_PLAYERS_LISTS, ask.player_id)
        stay = await conn.fetchrow(sql.READ_ACTIVE_SEATING, ask.player_id)
        if stay is not None:
            return rows.already_seated(stay)
        on_list = await conn.fetchrow(wsql.READ_ON_LIST, ask.player_id, *wanted.key, ask.table_id)
        if on_list is not None:
            return rows.entry(on_list)
        if await conn.fetchval(wsql.COUNT_LISTS_OF, ask.player_id) >= waiting.LISTS_MAX:
            return refusals.too_many_waiting_lists(waiting.LISTS_MAX)
        if await conn.fetchval(wsql.COUNT_ON_LIST, *wanted.key, ask.table_id) >= waiting.LIST_LENGTH_MAX:
            return refusals.waiting_list_full(waiting.LIST_LENGTH_MAX)
        row = await conn.fetchrow(wsql.JOIN, uuid4(), ask.player_id, ask.table_id, *wanted.key)
        if row is None:
            raise Overtaken(f"player {ask.player_id} joins this list on another connection")
        return rows.entry(row)

    async def leave(self, player_id: str, entry_id: str) -> bool:
        """End an entry; whether it was not over. Raises Refused when the player has no such entry."""
        if await self._pool.fetchval(wsql.LEAVE, entry_id, player_id):
            return True
        if await self._pool.fetchrow(wsql.READ_ENTRY, entry_id, player_id) is None:
            raise Refused(refusals.waiting_entry_unknown(entry_id))
        return False

    async def entry(self, player_id: str, entry_id: str) -> Entry:
        """Return one entry of a player, whatever has become of it."""
        return rows.entry(await self._pool.fetchrow(wsql.READ_ENTRY, entry_id, player_id))

    async def lines_of(self, player_ids: Iterable[str]) -> list[Told]:
        """Return everyone in the lines of these players, by joining; and how their own last entries ended."""
        found = await self._pool.fetch(wsql.LINES_OF, list(player_ids), TOLD_FOR)
        return [Told(rows.entry(row), row["left_ms"] or 0) for row in found]

    async def stamp(self) -> str:
        """Return a mark that differs whenever any entry has changed."""
        return str(await self._pool.fetchval(wsql.LINES_STAMP))

    async def judge(self) -> list[Entry]:
        """Write down what has become of entries: seated, lapsed, back in line. Return those that changed."""
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(wsql.LOCK_LINE)
            found = await conn.fetch(wsql.ENTRIES_TO_JUDGE, waiting.WAIT_MAX, JUDGED_AT_ONCE)
            pairs = [(rows.entry(row), row) for row in found]
            judged = [(entry, looked_at(entry, _facts(entry, row), row["judged_at"])) for entry, row in pairs]
            changed = [after for before, after in judged if before != after]
            if changed:
                await _save(conn, changed)
        return changed

    async def keep_seats(self) -> list[Entry]:
        """Keep free seats for those who are next in line. Return their entries; nothing when nobody is served."""
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(wsql.LOCK_LINE)
            locked = await conn.fetch(wsql.LOCK_ROOMS_FOR_THE_LINE, ROOMS_AT_ONCE)
            if not locked:
                return []
            ids = [row["table_id"] for row in locked]
            # Read after they were locked: who was taking a seat meanwhile has it now.
            rooms = [rows.room(row) for row in await conn.fetch(wsql.ROOMS, ids)]
            free = sum(len(room.free_seats) for room in rooms)
            # A player is on so many lists at most: among so many entries are as many players as seats, or everyone.
            line = await conn.fetch(wsql.LINE_AT_ANY, ids, free * waiting.LISTS_MAX)
            now = await conn.fetchval("SELECT now()")
            due = next_reservations([rows.entry(row) for row in line], rooms, now + waiting.KEPT_FOR)
            found = await conn.fetch(wsql.LOCK_IN_LINE, [one.entry_id for one in due])
            still_in_line = {str(row["entry_id"]) for row in found}
            served = [one for one in due if one.entry_id in still_in_line]
            kept = [(one, one.reservation) for one in served if one.reservation is not None]
            await conn.execute(
                wsql.KEEP_SEATS,
                [one.entry_id for one, _ in kept],
                [seat.table_id for _, seat in kept],
                [seat.seat for _, seat in kept],
                waiting.KEPT_FOR,
            )
        return served

    async def outlook(self) -> Outlook:
        """Return what is to be expected of the line."""
        row = await self._pool.fetchrow(wsql.LOOK_AHEAD)
        assert row is not None
        return Outlook(row["lapses_in"], row["entries"])

    async def count(self) -> tuple[int, int]:
        """Return how many entries wait, and how many have a seat kept."""
        row = await self._pool.fetchrow(wsql.COUNT_WAITING)
        assert row is not None
        return row["waiting"], row["reserved"]

    async def forget_old(self) -> None:
        """Drop requests, and entries that are over, from before the time in which repeats are answered."""
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(wsql.FORGET_OLD_JOIN_REQUESTS, REPEATABLE)
            await conn.execute(wsql.FORGET_OLD_ENTRIES, REPEATABLE)


@dataclass(frozen=True, slots=True)
class Told:
    """An entry, and how long its seat is still kept by the database's clock."""

    entry: Entry
    left_ms: int


async def _list_of(conn: Connection, ask: JoinRequest) -> Wanted | Refusal:
    if ask.table_id is not None:
        row = await conn.fetchrow(wsql.LOCK_TABLE_TO_WAIT_FOR, ask.table_id)
        return wanted_of(rows.stakes(row)) if row else refusals.table_unknown(ask.table_id)
    assert ask.wanted is not None, "the API refuses a request that names no list"
    if not await conn.fetchval(wsql.ANY_TABLE_AT, *ask.wanted.key):
        return refusals.stakes_unknown(ask.wanted.shown)
    return ask.wanted


async def _first_outcome(conn: Connection, ask: JoinRequest, known: asyncpg.Record) -> Entry | Refusal:
    if json.loads(known["asked"]) != ask.content:
        return refusals.request_id_reused(ask.request_id)
    if known["refusal"] is not None:
        return Refusal(**json.loads(known["refusal"]))
    return rows.entry(await conn.fetchrow(wsql.READ_ENTRY, known["entry_id"], ask.player_id))


async def _save(conn: Connection, entries: Sequence[Entry]) -> None:
    seats = [entry.reservation for entry in entries]
    await conn.execute(
        wsql.SAVE_ENTRIES,
        [entry.entry_id for entry in entries],
        [seat.table_id if seat else None for seat in seats],
        [seat.seat if seat else None for seat in seats],
        [seat.until if seat else None for seat in seats],
        [entry.seating_id for entry in entries],
        [entry.ended for entry in entries],
    )


def _facts(entry: Entry, row: Any) -> Facts:
    return Facts(
        stay=_stay(entry, row),
        stay_id=str(row["stay_id"]) if row["stay_id"] else None,
        sits_on_the_kept_seat=row["sits_on_the_kept_seat"],
        list_is_closed=row["list_is_closed"],
        kept_seats_table_is_open=row["kept_seats_table_is_open"],
    )


def _stay(entry: Entry, row: Any) -> Stay:
    step = row["stay_step"]
    if step is None:
        # Stays are kept for days: one that is not there any more has long been decided.
        return Stay.NONE if entry.seating_id is None else Stay.SAT
    if step == "over":
        return Stay.REFUSED if row["stay_is_refused"] else Stay.SAT
    return Stay.SAT if step in _SAT else Stay.BEGUN
