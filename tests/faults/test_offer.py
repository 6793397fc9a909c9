"""The lobby and its database go away while tables are opened and closed by demand, and somebody watches the list."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from cardroom.client import CallPolicy, CardroomError, Client, LobbySession, PlayerClient
from cardroom.contracts.lobby.v1.lobby_pb2 import TableFilter
from cardroom.local import Stack, StackOptions
from tests.faults.owners import fetch
from tests.party import assert_books_hold, eventually

BLIND = 13
STAKES = [{"name": "Yew", "small_blind": BLIND, "seats": 2, "open_seats_min": 1, "tables_max": 5}]
OWN = TableFilter(small_blind_min=BLIND, small_blind_max=BLIND)
OPENED = "select demand_number from tables where demand_key is not null order by demand_number"
CLAIMED_AND_CLOSED = """
select count(*) as wrong from tables t join kept_seats k using (table_id) where t.state not in ('opening', 'open')
"""


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    quick = {"CARDROOM_LOBBY_DEMAND_LOOK_SECONDS": "0.1", "CARDROOM_LOBBY_DEMAND_PATIENCE_SECONDS": "0.3"}
    return StackOptions(durable=False, env={"lobby": {"CARDROOM_LOBBY_STAKES": json.dumps(STAKES), **quick}})


async def _follow(session: LobbySession) -> None:
    async for _ in session:
        pass


async def _until(session: LobbySession, player: PlayerClient, *expected: tuple[str, int]) -> None:
    """The list as the watcher has it is this, and is what the lobby says."""

    async def holds() -> bool:
        seen = [(table.name, table.seats_taken) for table in session.in_order]
        return session.is_connected and seen == list(expected)

    await eventually(f"the list is {expected}", holds, 60)
    assert {table.table_id for table in await player.tables(OWN)} == set(session.tables)


async def _kill_the_lobby(stack: Stack) -> None:
    stack.processes["lobby"].kill()
    await asyncio.sleep(0.2)
    await stack.processes["lobby"].restart()


async def _sit_down(player: PlayerClient, session: LobbySession) -> str:
    """Sit down at the first table with a free seat, whatever goes away meanwhile."""
    async with asyncio.timeout(60):
        while True:
            seat = await player.my_seat()
            if seat is not None:
                return seat.table_id
            for table in session.in_order:
                if table.free_seats:
                    with contextlib.suppress(CardroomError):
                        await player.sit_down(table.table_id, 80 * BLIND)
                    break
            await asyncio.sleep(0.05)


@pytest.mark.timeout(400)
async def test_tables_are_opened_once_and_never_closed_under_anybody_and_the_list_comes_back(stack: Stack) -> None:
    # A lobby that was killed may take a while to come back.
    async with Client.connect(stack.edge_grpc, policy=CallPolicy(attempts_max=60)) as client:
        players = [await client.sign_in_as_guest(f"Guest {number}") for number in range(4)]
        watcher = await client.sign_in_as_guest("Watcher")
        async with watcher.watch_tables(OWN) as session:
            following = asyncio.create_task(_follow(session))
            await _until(session, watcher, ("Yew", 0))
            seats = {players[0]: await _sit_down(players[0], session)}
            # The last seat of the table is taken while the lobby dies: another table is due, and is opened once.
            for player in players[1:]:
                taking = asyncio.create_task(_sit_down(player, session))
                await asyncio.sleep(0.1)
                await _kill_the_lobby(stack)
                seats[player] = await taking
            await _until(session, watcher, ("Yew", 2), ("Yew 2", 2), ("Yew 3", 0))
            await stack.restart_postgres(hard=True)
            await _until(session, watcher, ("Yew", 2), ("Yew 2", 2), ("Yew 3", 0))
            leaving = [
                asyncio.create_task(player.leave_and_wait(table_id, poll_seconds=0.1))
                for player, table_id in reversed(seats.items())
            ]
            await asyncio.sleep(0.1)
            await _kill_the_lobby(stack)
            await asyncio.wait_for(asyncio.gather(*leaving), 60)
            assert (await fetch(stack, "lobby", CLAIMED_AND_CLOSED))[0]["wrong"] == 0
            await eventually("one table is left", lambda: _is_one(session), 60)
            assert session.resyncs >= 2, "the kills were seen, and the list came back"
            following.cancel()
    numbers = [row["demand_number"] for row in await fetch(stack, "lobby", OPENED)]
    assert numbers == list(range(1, len(numbers) + 1))
    await stack.until_ready()
    await assert_books_hold(stack)


async def _is_one(session: LobbySession) -> bool:
    return session.is_connected and [table.seats_taken for table in session.in_order] == [0]
