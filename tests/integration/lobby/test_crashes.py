"""A lobby killed at any step of a stay: another one finishes or undoes it, and no chip is lost or doubled.

The kill is an adapter that never comes back: before its call, or after it, when only the answer is lost.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import grpc
import pytest

from cardroom.chassis import database
from cardroom.lobby.domain.seating import GIVE_UP_AFTER, Seating, Step
from cardroom.lobby.domain.tables import Stakes, Table, TableState
from cardroom.lobby.errands import Errands
from cardroom.lobby.neighbours import GrpcTables, GrpcTimeBanks, GrpcWallet
from cardroom.lobby.saga import SeatingSaga, TableSaga
from cardroom.lobby.store import SeatingStore, SitRequest, TableStore
from tests.integration.lobby.neighbours import GRANT, Neighbours

BUY_IN = 1000
CALLS_IN = ("place_hold", "seat_player", "post_hold")
CALLS_OUT = ("end_seating", "cash_out")


class Killed(BaseException):
    """The process is gone."""


class Deadly:
    """A neighbour during whose call, before or after it has worked, the lobby is killed. Once."""

    def __init__(self, inner: Any, call: str, when: str) -> None:
        self._inner, self._call, self._when = inner, call, when

    def __getattr__(self, name: str) -> Any:
        work = getattr(self._inner, name)
        if name != self._call:
            return work

        async def deadly(*args: Any) -> Any:
            if self._when == "after":
                await work(*args)
            raise Killed

        return deadly


class Room:
    """The lobby's database and its neighbours, with lobbies that live and die."""

    def __init__(self, pool: database.Pool, neighbours: Neighbours, channel: grpc.aio.Channel) -> None:
        self.pool, self.neighbours, self.channel = pool, neighbours, channel
        self.store, self.tables = SeatingStore(pool), TableStore(pool)
        self.later = timedelta()
        self.table_id = ""

    def saga(self, call: str = "", when: str = "") -> SeatingSaga:
        """A lobby's saga; killed at `call`."""
        wallet = Deadly(GrpcWallet(self.channel), call, when)
        tables = Deadly(GrpcTables(self.channel), call, when)
        banks = GrpcTimeBanks(self.channel)
        return SeatingSaga(self.store, wallet, tables, banks, lambda: datetime.now(UTC) + self.later)

    async def reserve(self) -> Seating:
        """A player's wish, as far as the reserved seat."""
        ask = SitRequest(str(uuid4()), "Ada", self.table_id, 0, BUY_IN, str(uuid4()))
        seating, _ = await self.store.reserve(ask)
        return seating

    async def seat(self) -> Seating:
        """A player who sits."""
        seating = await self.reserve()
        await self.saga().advance(seating)
        return await self.store.read(seating.seating_id)

    async def restart(self, seating: Seating) -> Seating:
        """The claim of the dead lobby runs out, and another takes up what is due, as often as something is."""
        saga = self.saga()
        errands: Errands[Seating] = Errands("seating", self.store, lambda one: one.seating_id, saga.advance)
        for _ in range(4):
            await self.pool.execute(
                "UPDATE seatings SET claimed_until = now() - interval '1 s', due_at = now() WHERE due_at IS NOT NULL"
            )
            for found in await self.store.claim_due(10):
                await errands.begin(found)
        return await self.store.read(seating.seating_id)


@pytest.fixture(scope="module")
async def pool(module_database: str) -> AsyncIterator[database.Pool]:
    """A lobby's database, no lobby running."""
    await database.migrate(module_database, "cardroom.lobby")
    async with asyncpg.create_pool(module_database, min_size=1, max_size=4) as made:
        yield made


@pytest.fixture
async def room(pool: database.Pool, neighbours: Neighbours) -> AsyncIterator[Room]:
    """An open table."""
    async with grpc.aio.insecure_channel(neighbours.address) as channel:
        made = Room(pool, neighbours, channel)
        stakes = Stakes(1, 10, 20, 0, 800, 2000, 6)
        table = await made.tables.add(Table(str(uuid4()), str(uuid4()), "Table", stakes), stakes)
        await TableSaga(made.tables, GrpcTables(channel)).advance(table)
        made.table_id = table.table_id
        yield made
        await pool.execute("UPDATE seatings SET due_at = NULL, claimed_until = NULL")


def assert_sits(room: Room, seating: Seating) -> None:
    assert seating.step is Step.SEATED
    assert room.neighbours.escrow[seating.table_id, seating.player_id] == BUY_IN
    assert len(room.neighbours.seated(seating.player_id)) == 1
    assert room.neighbours.balance(seating.player_id) == GRANT - BUY_IN


def assert_gone(room: Room, seating: Seating) -> None:
    assert seating.step is Step.OVER
    assert room.neighbours.seated(seating.player_id) == []
    assert room.neighbours.held(seating.player_id) == 0
    assert (seating.table_id, seating.player_id) not in room.neighbours.escrow
    assert room.neighbours.balance(seating.player_id) == GRANT


async def kill(room: Room, seating: Seating, call: str, when: str) -> None:
    with pytest.raises(Killed):
        await room.saga(call, when).advance(seating)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", CALLS_IN)
async def test_a_seating_that_was_cut_off_is_finished(room: Room, call: str, when: str) -> None:
    seating = await room.reserve()
    await kill(room, seating, call, when)
    assert_sits(room, await room.restart(seating))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", CALLS_IN)
async def test_a_seating_that_was_cut_off_for_too_long_is_undone_unless_the_table_had_the_player(
    room: Room, call: str, when: str
) -> None:
    seating = await room.reserve()
    await kill(room, seating, call, when)
    room.later = GIVE_UP_AFTER + timedelta(seconds=1)
    after = await room.restart(seating)
    if call == "post_hold":
        assert_sits(room, after)
        return
    assert_gone(room, after)
    had_a_seat = (call, when) == ("seat_player", "after")
    assert (after.refusal is None) == had_a_seat
    if not had_a_seat:
        assert after.refusal is not None
        assert after.refusal.reason == "SEATING_EXPIRED"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", CALLS_OUT)
async def test_a_leaving_that_was_cut_off_is_finished(room: Room, call: str, when: str) -> None:
    seating = await room.seat()
    await room.store.ask_to_leave(seating.player_id, seating.table_id)
    claimed = await room.store.claim(seating.seating_id)
    assert claimed is not None
    await kill(room, claimed, call, when)
    after = await room.restart(seating)
    assert_gone(room, after)
    assert after.cashed_out == BUY_IN


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["end_seating", "void_hold"])
async def test_an_undoing_that_was_cut_off_is_finished_and_its_refusal_remembered(
    room: Room, call: str, when: str
) -> None:
    sitting = await room.seat()
    await room.pool.execute("UPDATE seatings SET step = 'over' WHERE seating_id = $1", sitting.seating_id)
    seating = await room.reserve()
    await kill(room, seating, call, when)
    after = await room.restart(seating)
    assert_gone(room, after)
    assert after.refusal is not None
    assert after.refusal.reason == "SEAT_TAKEN"


async def test_a_seat_that_ended_while_the_lobby_was_dead_is_paid_and_cashed_out(room: Room) -> None:
    seating = await room.reserve()
    await kill(room, seating, "seat_player", "after")
    stay = room.neighbours.stays[seating.seating_id]
    assert stay is not None
    stay.is_over = True
    after = await room.restart(seating)
    assert_gone(room, after)
    assert (after.refusal, after.cashed_out) == (None, BUY_IN)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_creation_that_was_cut_off_is_finished(room: Room, when: str) -> None:
    stakes = Stakes(1, 5, 10, 0, 400, 1000, 6)
    table = await room.tables.add(Table(str(uuid4()), str(uuid4()), "Cut off", stakes), stakes)
    deadly = TableSaga(room.tables, Deadly(GrpcTables(room.channel), "open_table", when))
    with pytest.raises(Killed):
        await deadly.advance(table)
    (found,) = await room.tables.claim_due(10)
    await TableSaga(room.tables, GrpcTables(room.channel)).advance(found)
    assert (await room.tables.read(table.table_id)).state is TableState.OPEN


async def test_lobbies_that_share_the_work_do_each_piece_once(room: Room) -> None:
    for _ in range(6):
        await kill(room, await room.reserve(), "place_hold", "before")
    await room.pool.execute("UPDATE seatings SET claimed_until = now() - interval '1 s'")
    first, second = await room.store.claim_due(4), await room.store.claim_due(4)
    assert len(first) == 4
    assert len({one.seating_id for one in [*first, *second]}) == 6
    assert await room.store.claim(first[0].seating_id) is None
