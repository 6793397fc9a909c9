"""Tables by demand on a real database: opened once whatever races and crashes there are, never closed under anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from cardroom.chassis import database
from cardroom.chassis.errors import FailedPrecondition, InvalidArgument
from cardroom.lobby import demand_statements
from cardroom.lobby.demand_store import Changed, DemandStore
from cardroom.lobby.domain.demand import Demand
from cardroom.lobby.domain.rooms import Wanted, wanted_of
from cardroom.lobby.domain.tables import Stakes
from cardroom.lobby.errors import Refused
from cardroom.lobby.settings import StakesSettings
from cardroom.lobby.store import SeatingStore, SitRequest
from cardroom.lobby.waiting_store import JoinRequest, WaitingStore
from tests.integration.lobby.conftest import Lobby, start, stop, until
from tests.integration.lobby.neighbours import Neighbours

AT_ONCE = timedelta()
OAK = StakesSettings(name="Oak", small_blind=10, seats=2, open_seats_min=1, tables_max=4)
DEMAND = OAK.demand()
LIVE = (
    "SELECT * FROM tables WHERE demand_key IS NOT NULL AND state IN ('opening', 'open', 'closing') ORDER BY created_at"
)


@dataclass
class HeadStart:
    """How much earlier one of two begins. It grows while that one loses and shrinks while it wins."""

    seconds: float = 0.0
    step: float = 0.0005
    before: bool | None = None

    def won(self, it: bool) -> None:
        self.step = self.step * 2 if it is self.before else 0.0005
        self.seconds += -self.step if it else self.step
        self.before = it


class Room:
    """A lobby's database, with lobbies that come and go."""

    def __init__(self, url: str, pool: database.Pool, amqp_url: str, neighbours: Neighbours) -> None:
        self.url, self.pool, self.amqp_url, self.neighbours = url, pool, amqp_url, neighbours
        self.lobbies: list[Lobby] = []
        self.demand = DemandStore(pool)
        self.seatings = SeatingStore(pool)
        self.waiting = WaitingStore(pool)

    async def start(self, **changes: Any) -> Lobby:
        """Start a replica that opens tables at OAK, and looks often."""
        quick = {"stakes": (OAK,), "demand_look_seconds": 0.05, "demand_patience_seconds": 0.0}
        lobby = await start(self.url, self.amqp_url, self.neighbours, **(quick | changes))
        self.lobbies.append(lobby)
        return lobby

    async def live(self) -> list[Any]:
        """The rows of the tables that were opened by demand."""
        rows: list[Any] = await self.pool.fetch(LIVE)
        return rows

    async def names(self) -> list[str]:
        """The names of those that are open."""
        return [row["name"] for row in await self.live() if row["state"] == "open"]

    async def until_names(self, *names: str) -> None:
        """Wait until exactly these are open, and nothing is on its way."""

        async def holds() -> bool:
            return [(row["name"], row["state"]) for row in await self.live()] == [(name, "open") for name in names]

        await until(holds)

    async def open_all(self) -> None:
        """Say that the table service has opened them."""
        await self.pool.execute("UPDATE tables SET state = 'open', due_at = NULL WHERE state = 'opening'")

    async def reserve(self, table_id: str) -> Any:
        """A player's claim to a seat."""
        ask = SitRequest(str(uuid4()), "Ada", table_id, 0, 1000, str(uuid4()))
        return (await self.seatings.reserve(ask))[0]

    async def join(self, table_id: str | None = None, wanted: Wanted | None = None) -> Any:
        """A player who begins to wait."""
        return await self.waiting.join(JoinRequest(str(uuid4()), str(uuid4()), table_id, wanted))


@pytest.fixture
async def room(
    fresh_database: Callable[[], Awaitable[str]], amqp_url: str, neighbours: Neighbours
) -> AsyncIterator[Room]:
    """A lobby's database without a lobby."""
    url = await fresh_database()
    await database.migrate(url, "cardroom.lobby")
    async with asyncpg.create_pool(url, min_size=1, max_size=20) as pool:
        made = Room(url, pool, amqp_url, neighbours)
        yield made
        for lobby in made.lobbies:
            await stop(lobby)


@pytest.fixture
async def two_tables(room: Room) -> list[str]:
    """Two open, empty tables at OAK; the second is one too many."""
    await room.demand.settle(replace(DEMAND, open_seats_min=4), AT_ONCE)
    await room.open_all()
    return [str(row["table_id"]) for row in await room.live()]


async def test_tables_follow_the_demand_with_two_replicas(room: Room) -> None:
    lobby, other = await asyncio.gather(room.start(), room.start())
    await room.until_names("Oak")
    players = [lobby.player() for _ in range(5)]
    seats = {}
    for number, player in enumerate(players):
        answer = await (lobby, other)[number % 2].player().tables()
        open_table = next(table for table in answer.tables if table.free_seats)
        seats[player.id] = (await player.sit(open_table.table_id)).table_id
        await room.until_names(*["Oak", "Oak 2", "Oak 3"][: (number + 1) // 2 + 1])
    assert room.neighbours.tables.keys() >= {str(row["table_id"]) for row in await room.live()}
    for player in reversed(players[2:]):
        await player.leave(seats[player.id])
    await room.until_names("Oak", "Oak 2")
    for player in players[:2]:
        await player.leave(seats[player.id])
    await room.until_names("Oak")
    await asyncio.sleep(0.3)
    assert await room.pool.fetchval("SELECT max(demand_number) FROM tables") == 3, "nothing was opened in vain"


async def test_many_replicas_at_once_open_a_table_once(room: Room) -> None:
    changed = await asyncio.gather(*(room.demand.settle(DEMAND, AT_ONCE) for _ in range(15)))
    assert sum(one.opened for one in changed) == 1
    wider = replace(DEMAND, open_seats_min=6)
    changed = await asyncio.gather(*(room.demand.settle(wider, AT_ONCE) for _ in range(15)))
    assert sum(one.opened for one in changed) == 2
    assert [row["demand_number"] for row in await room.live()] == [1, 2, 3]


async def test_the_key_alone_makes_an_opening_one_table(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever became of the lock: it spares the work, and the number decides."""
    monkeypatch.setattr(demand_statements, "LOCK_DEMAND", "SELECT $1::text")
    for tables in range(1, 5):
        wider = replace(DEMAND, open_seats_min=2 * tables)
        changed = await asyncio.gather(*(room.demand.settle(wider, AT_ONCE) for _ in range(15)))
        assert sum(one.opened for one in changed) == 1
    assert [row["demand_number"] for row in await room.live()] == [1, 2, 3, 4]


async def test_a_replica_that_was_killed_after_it_decided_leaves_the_opening_to_another(room: Room) -> None:
    await room.demand.settle(DEMAND, AT_ONCE)
    (table,) = await room.live()
    assert str(table["table_id"]) not in room.neighbours.tables
    await room.start()
    await room.until_names("Oak")
    assert str(table["table_id"]) in room.neighbours.tables


async def test_a_replica_that_was_killed_before_it_committed_has_decided_nothing(room: Room) -> None:
    async with room.pool.acquire() as conn:
        await conn.execute("BEGIN")
        await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 7283646))", DEMAND.key)
        other = asyncio.create_task(room.demand.settle(DEMAND, AT_ONCE))
        await asyncio.sleep(0.05)
        assert not other.done()
        await conn.execute("ROLLBACK")
    assert await other == Changed(opened=1)


async def test_the_table_service_may_be_away_for_a_while(room: Room) -> None:
    room.neighbours.failing |= {"OpenTable", "CloseTable"}
    lobby = await room.start()
    await until(lambda: called(room, "OpenTable", 2))
    assert len(await room.live()) == 1
    room.neighbours.failing.clear()
    await room.until_names("Oak")
    ada = lobby.player()
    bob = lobby.player()
    table_id = str((await room.live())[0]["table_id"])
    await ada.sit(table_id)
    await bob.sit(table_id)
    await room.until_names("Oak", "Oak 2")
    room.neighbours.failing.add("CloseTable")
    await bob.leave(table_id)
    await until(lambda: called(room, "CloseTable", 2))
    room.neighbours.failing.clear()
    await room.until_names("Oak")


async def called(room: Room, method: str, times: int) -> bool:
    return room.neighbours.calls[method] >= times


async def test_a_refusal_of_the_table_service_is_not_asked_for_again_and_again(room: Room) -> None:
    room.neighbours.refusing["OpenTable"] = InvalidArgument("INVALID_STAKES", "not these")
    await room.start()
    await until(lambda: called(room, "OpenTable", 1))
    await asyncio.sleep(0.5)
    assert room.neighbours.calls["OpenTable"] == 1
    await room.pool.execute("UPDATE tables SET created_at = now() - interval '2 minutes'")
    room.neighbours.refusing.clear()
    await room.until_names("Oak")


async def test_a_table_that_the_table_service_keeps_open_is_back_on_offer(room: Room) -> None:
    lobby = await room.start(demand_patience_seconds=3600.0)
    await room.until_names("Oak")
    players = [lobby.player(), lobby.player()]
    table_id = str((await room.live())[0]["table_id"])
    for player in players:
        await player.sit(table_id)
    await room.until_names("Oak", "Oak 2")
    for player in players:
        await player.leave(table_id)
    room.neighbours.refusing["CloseTable"] = FailedPrecondition("TABLE_OCCUPIED", "somebody sits")
    assert (await room.demand.settle(DEMAND, AT_ONCE)).closed == 1
    await until(lambda: called(room, "CloseTable", 1))
    await room.until_names("Oak", "Oak 2")


async def test_a_table_must_have_been_empty_for_a_while(room: Room, two_tables: list[str]) -> None:
    assert not await room.demand.settle(DEMAND, timedelta(seconds=60))
    await room.pool.execute("UPDATE tables SET created_at = now() - interval '61 seconds'")
    stay = await room.reserve(two_tables[1])
    over = "UPDATE seatings SET step = 'over', due_at = NULL, over_at = now() - $2::interval WHERE seating_id = $1"
    await room.pool.execute(over, stay.seating_id, timedelta(seconds=59))
    # The first one is older and would stay, but it is the one that has been empty for long.
    assert (await room.demand.settle(DEMAND, timedelta(seconds=60))).closed == 1
    assert [str(row["table_id"]) for row in await room.live() if row["state"] == "open"] == [two_tables[1]]


@pytest.mark.parametrize("why", ["a seat claimed", "a player", "a place on its list", "a seat kept"])
async def test_a_table_is_not_closed_while_there_is(room: Room, two_tables: list[str], why: str) -> None:
    first, second = two_tables
    for table_id in two_tables:
        if why in {"a seat claimed", "a player"}:
            stay = await room.reserve(table_id)
            if why == "a player":
                rest = "UPDATE seatings SET step = 'seated', due_at = NULL WHERE seating_id = $1"
                await room.pool.execute(rest, stay.seating_id)
        else:
            entry = await room.join(table_id)
            if why == "a seat kept":
                await room.waiting.keep_seats()
                kept = "SELECT reserved_table_id FROM waiting WHERE entry_id = $1"
                assert str(await room.pool.fetchval(kept, entry.entry_id)) == table_id
    assert not await room.demand.settle(DEMAND, AT_ONCE)
    assert not await room.demand.close_unwanted([], AT_ONCE)
    # With one free again there is one too many, and that is it.
    for end in (
        "UPDATE seatings SET step = 'over', due_at = NULL, over_at = now() WHERE table_id = $1",
        "UPDATE waiting SET ended_at = now(), ended_how = 'left' WHERE coalesce(reserved_table_id, table_id) = $1",
    ):
        await room.pool.execute(end, second)
    assert (await room.demand.settle(DEMAND, AT_ONCE)).closed == 1
    assert {str(row["table_id"]): row["state"] for row in await room.live()} == {first: "open", second: "closing"}


async def test_players_who_wait_for_these_stakes_get_a_table(room: Room) -> None:
    await room.demand.settle(DEMAND, AT_ONCE)
    await room.open_all()
    (first,) = await room.live()
    for _ in range(2):
        await room.reserve(str(first["table_id"]))
    for seats in (2, 0, 2):
        await room.join(wanted=replace(wanted_of(DEMAND.stakes), seats=seats))
    assert (await room.demand.settle(DEMAND, AT_ONCE)).opened == 2
    await room.join(table_id=str(first["table_id"]))
    assert not await room.demand.settle(DEMAND, AT_ONCE), "who waits for one table wants no other"


async def test_whoever_races_for_a_table_that_is_being_closed_has_a_seat_there_or_is_told_that_it_is_gone(
    room: Room,
) -> None:
    """Closing against sitting down and against joining the table's waiting list: many rounds, any may win.

    Whoever wins starts later in the next round of its kind, so that the rounds gather where the two meet,
    however fast the machine is."""
    outcomes = set()
    heads = {room.reserve: HeadStart(), room.join: HeadStart()}
    for number in range(60):
        await room.demand.settle(replace(DEMAND, open_seats_min=3), AT_ONCE)
        await room.open_all()
        *_, victim = [str(row["table_id"]) for row in await room.live() if row["state"] == "open"]

        async def closes(head: HeadStart) -> None:
            await asyncio.sleep(max(0.0, -head.seconds))
            await room.demand.settle(DEMAND, AT_ONCE)

        async def comes(come: Callable[[str], Awaitable[Any]], head: HeadStart, table_id: str) -> str:
            await asyncio.sleep(max(0.0, head.seconds))
            try:
                await come(table_id)
            except Refused as no:
                return no.refusal.reason
            return "came"

        come = (room.reserve, room.join)[number % 2]
        head = heads[come]
        _, outcome = await asyncio.gather(closes(head), comes(come, head, victim))
        head.won(outcome != "came")
        # Where the last one is not free, the other one may be what is too many.
        state = await room.pool.fetchval("SELECT state FROM tables WHERE table_id = $1", victim)
        assert (outcome, state) in {("came", "open"), ("TABLE_UNKNOWN", "closing")}, f"round {number}"
        outcomes.add((number % 2, outcome))
        await room.pool.execute("UPDATE seatings SET step = 'over', due_at = NULL, over_at = now()")
        await room.pool.execute("UPDATE waiting SET ended_at = now(), ended_how = 'left' WHERE ended_at IS NULL")
        await room.pool.execute("UPDATE tables SET state = 'closed', due_at = NULL WHERE state = 'closing'")
    assert len(outcomes) == 4, "each has won, or the race was none"


async def test_a_table_where_somebody_takes_a_seat_at_this_moment_is_left_alone(
    room: Room, two_tables: list[str]
) -> None:
    async with room.pool.acquire() as conn, conn.transaction():
        for table_id in two_tables:
            await conn.execute("SELECT FROM tables WHERE table_id = $1 FOR NO KEY UPDATE", table_id)
        assert not await asyncio.wait_for(room.demand.settle(DEMAND, AT_ONCE), 30)


async def test_tables_of_stakes_that_are_not_wanted_any_more_are_closed_when_they_are_empty(
    room: Room, two_tables: list[str]
) -> None:
    stay = await room.reserve(two_tables[0])
    elm = Demand("Elm", Stakes(1, 5, 10, 0, 400, 1000, 6), 1, 1)
    assert not await room.demand.close_unwanted([DEMAND, elm], AT_ONCE)
    assert [await room.demand.close_unwanted([elm], AT_ONCE) for _ in range(2)] == [Changed(closed=1), Changed()]
    await room.pool.execute(
        "UPDATE seatings SET step = 'over', due_at = NULL, over_at = now() WHERE seating_id = $1", stay.seating_id
    )
    assert (await room.demand.close_unwanted([], AT_ONCE)).closed == 1


async def test_what_an_operator_has_opened_counts_and_is_never_closed(room: Room) -> None:
    lobby = await room.start()
    await room.until_names("Oak")
    ours = [(await lobby.create(name=f"Ours {n}", small_blind=10, big_blind=20, seats=2)).table_id for n in range(3)]
    await asyncio.sleep(0.4)
    states = await room.pool.fetch("SELECT state FROM tables WHERE table_id = ANY($1::uuid[])", ours)
    assert [row["state"] for row in states] == ["open"] * 3
    assert await room.names() == [], "with those, its own was one too many"
