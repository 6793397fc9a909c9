"""A lobby killed at any moment of the work on the line: another one goes on, and every seat is one player's.

A kill is a connection that never comes back: before a statement of the transaction, or before its commit. What was
committed stays, everything else never was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from cardroom.chassis import database
from cardroom.lobby.domain.rooms import Wanted
from cardroom.lobby.domain.seating import Seating, Step
from cardroom.lobby.domain.tables import Stakes, Table
from cardroom.lobby.domain.waiting import Ended, Entry
from cardroom.lobby.neighbours import GrpcTables
from cardroom.lobby.saga import TableSaga
from cardroom.lobby.store import SeatingStore, SitRequest
from cardroom.lobby.waiting import WaitingLists
from cardroom.lobby.waiting_store import JoinRequest, WaitingStore
from tests.integration.lobby.neighbours import Neighbours
from tests.integration.lobby.test_crashes import Killed, Room, pool, room
from tests.integration.lobby.waiters import fresh_blind

__all__ = ["pool", "room"]
GAMES = frozenset({1})
# At least so many statements and commits as any of the work below has.
MOMENTS = 24


class DeadlyPool:
    """A pool whose process is killed before its statement number `at`; a commit counts as one."""

    def __init__(self, inner: database.Pool, at: int) -> None:
        self._inner, self.left = inner, at

    def _tick(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Any]:
        async with self._inner.acquire() as conn:
            yield _DeadlyConnection(conn, self._tick)

    def __getattr__(self, name: str) -> Any:
        return _ticking(getattr(self._inner, name), self._tick)


class _DeadlyConnection:
    def __init__(self, inner: Any, tick: Any) -> None:
        self._inner, self._tick = inner, tick

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        async with self._inner.transaction():
            yield
            self._tick()

    def __getattr__(self, name: str) -> Any:
        return _ticking(getattr(self._inner, name), self._tick)


def _ticking(work: Any, tick: Any) -> Any:
    async def ticking(*args: Any) -> Any:
        tick()
        return await work(*args)

    return ticking


class Line:
    """A table with two seats, one player on each, and lobbies that live and die."""

    def __init__(self, made: Room, table_id: str, wanted: Wanted) -> None:
        self.room, self.table_id, self.wanted = made, table_id, wanted
        self.sitting: list[Seating] = []

    def store(self, killed_at: int | None = None) -> WaitingStore:
        """A lobby's store; killed at a statement."""
        return WaitingStore(self.room.pool if killed_at is None else DeadlyPool(self.room.pool, killed_at))  # type: ignore[arg-type]

    def lists(self, killed_at: int | None = None) -> WaitingLists:
        """A lobby at work on the line."""
        return WaitingLists(self.store(killed_at), GAMES)

    async def sit(self, player_id: str = "", *, killed_at: int | None = None) -> Seating:
        """A player takes a seat; the chips are on their way."""
        seatings = SeatingStore(self.room.pool if killed_at is None else DeadlyPool(self.room.pool, killed_at))  # type: ignore[arg-type]
        ask = SitRequest(player_id or str(uuid4()), "Ada", self.table_id, 0, 1000, str(uuid4()))
        seating, _ = await seatings.reserve(ask)
        return seating

    async def join(self, *, for_stakes: bool = False) -> Entry:
        """A player joins the line; nobody has looked at it yet."""
        where = (None, self.wanted) if for_stakes else (self.table_id, None)
        return await self.store().join(JoinRequest(str(uuid4()), str(uuid4()), *where))

    async def free_a_seat(self) -> int:
        """Somebody who sat has left, and the lobby died with it."""
        seating = self.sitting.pop()
        store = self.room.store
        await store.ask_to_leave(seating.player_id, seating.table_id)
        claimed = await store.claim(seating.seating_id)
        assert claimed is not None
        await self.room.saga().advance(claimed)
        return seating.seat

    async def now(self, entry: Entry) -> Entry:
        """The entry as it is."""
        return await self.store().entry(entry.player_id, entry.entry_id)


@pytest.fixture
async def line(room: Room) -> Line:
    """A full table of stakes of its own."""
    blind = fresh_blind()
    made = Stakes(1, blind, 2 * blind, 0, 800, 2000, 2)
    table = await room.tables.add(Table(str(uuid4()), str(uuid4()), "Table", made), made)
    await TableSaga(room.tables, GrpcTables(room.channel)).advance(table)
    found = Line(room, table.table_id, Wanted(1, blind, 2 * blind))
    for _ in range(2):
        seating = await found.sit()
        await room.saga().advance(seating)
        found.sitting.append(seating)
    return found


async def until_killed(work: Awaitable[object], killed_at: int) -> bool:
    """Do the work of a lobby that is killed on the way; whether it was, or had done everything by then."""
    try:
        await work
    except Killed:
        assert killed_at < MOMENTS - 1, "there are more moments: raise MOMENTS"
        return True
    assert killed_at > 0
    return False


async def assert_one_player_per_seat(line: Line) -> None:
    doubled = await line.room.pool.fetch(
        "SELECT seat FROM kept_seats WHERE table_id = $1 GROUP BY 1 HAVING count(DISTINCT player_id) > 1", line.table_id
    )
    assert doubled == []


async def test_a_lobby_that_dies_when_a_seat_becomes_free_leaves_it_to_another(line: Line) -> None:
    first, second = await line.join(), await line.join(for_stakes=True)
    seat = await line.free_a_seat()
    await line.lists().serve()
    kept = (await line.now(first)).reservation
    assert kept is not None
    assert (kept.table_id, kept.seat) == (line.table_id, seat)
    assert (await line.now(second)).is_in_line


@pytest.mark.parametrize("killed_at", range(MOMENTS))
async def test_a_lobby_killed_while_it_serves_the_line_has_served_whole_or_not_at_all(
    line: Line, killed_at: int
) -> None:
    first, second = await line.join(), await line.join()
    seat = await line.free_a_seat()
    await until_killed(line.lists(killed_at).serve(), killed_at)
    await assert_one_player_per_seat(line)
    await line.lists().serve()
    kept = (await line.now(first)).reservation
    assert kept is not None
    assert kept.seat == seat
    assert (await line.now(second)).is_in_line


@pytest.mark.parametrize("killed_at", range(MOMENTS))
async def test_a_lobby_killed_while_a_kept_seat_lapses_leaves_it_to_the_next(line: Line, killed_at: int) -> None:
    first, second = await line.join(), await line.join()
    seat = await line.free_a_seat()
    await line.lists().serve()
    await line.room.pool.execute(
        "UPDATE waiting SET reserved_until = now() - interval '1 s' WHERE entry_id = $1", first.entry_id
    )
    await until_killed(line.lists(killed_at).serve(), killed_at)
    await assert_one_player_per_seat(line)
    await line.lists().serve()
    assert (await line.now(first)).ended is Ended.LAPSED
    kept = (await line.now(second)).reservation
    assert kept is not None
    assert kept.seat == seat


@pytest.mark.parametrize("killed_at", range(MOMENTS))
async def test_a_lobby_killed_while_the_kept_seat_is_taken_leaves_it_kept_or_taken(line: Line, killed_at: int) -> None:
    first, second = await line.join(), await line.join()
    seat = await line.free_a_seat()
    await line.lists().serve()
    if await until_killed(line.sit(first.player_id, killed_at=killed_at), killed_at):
        entry = await line.now(first)
        assert entry.seating_id is None
        assert entry.reservation is not None
        assert entry.reservation.seat == seat
    await assert_one_player_per_seat(line)
    stay = await line.room.store.active(first.player_id) or await line.sit(first.player_id)
    assert stay.seat == seat
    # The lobby dies once more, before the chips move; another takes the stay up and the line after it.
    after = await line.room.restart(stay)
    assert after.step is Step.SEATED
    await line.lists().serve()
    assert (await line.now(first)).ended is Ended.SEATED
    assert (await line.now(second)).is_in_line


@pytest.mark.parametrize("killed_at", range(MOMENTS))
async def test_a_join_that_was_cut_off_is_there_whole_or_not_at_all(line: Line, killed_at: int) -> None:
    ask = JoinRequest(str(uuid4()), str(uuid4()), line.table_id, None)
    if await until_killed(line.store(killed_at).join(ask), killed_at):
        counted = await line.room.pool.fetchval("SELECT count(*) FROM waiting WHERE player_id = $1", ask.player_id)
        assert counted == 0
    first = await line.store().join(ask)
    assert await line.store().join(ask) == first
    with pytest.raises(Exception, match="REQUEST_ID_REUSED"):
        await line.store().join(replace(ask, table_id=None, wanted=line.wanted))


async def test_a_seating_that_another_lobby_undoes_brings_the_entry_back(line: Line, neighbours: Neighbours) -> None:
    first, second = await line.join(), await line.join()
    seat = await line.free_a_seat()
    await line.lists().serve()
    neighbours.balances[first.player_id] = 10
    stay = await line.sit(first.player_id)
    await line.lists().serve()
    assert (await line.now(first)).seating_id == stay.seating_id
    after = await line.room.restart(stay)
    assert (after.step, after.refusal is not None) == (Step.OVER, True)
    # Before anyone has looked at the line the seat is still nobody else's.
    with pytest.raises(Exception, match="TABLE_FULL"):
        await line.sit(second.player_id)
    await line.lists().serve()
    back = await line.now(first)
    assert (back.seating_id, back.ended) == (None, None)
    assert back.reservation is not None
    assert back.reservation.seat == seat


async def test_a_stay_that_no_entry_was_told_of_is_found(line: Line) -> None:
    """As a release that knows no lists would leave it, while both run."""
    first = await line.join()
    await line.free_a_seat()
    await line.lists().serve()
    await line.room.pool.execute(
        "INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step) "
        "VALUES ($1, $2, $3, 'Ada', 1, 1000, 'seated')",
        uuid4(),
        line.room.table_id,
        first.player_id,
    )
    await line.lists().serve()
    over = await line.now(first)
    assert (over.ended, over.reservation) == (Ended.SEATED, None)


async def test_a_stalled_lobby_frees_the_line_for_others(line: Line, module_database: str) -> None:
    first = await line.join()
    await line.free_a_seat()
    stalled = await asyncpg.connect(module_database, server_settings={"idle_in_transaction_session_timeout": "200"})
    await stalled.execute("BEGIN")
    await stalled.execute("SELECT pg_advisory_xact_lock(7283645)")
    await line.lists().serve()
    assert (await line.now(first)).reservation is not None
    stalled.terminate()
