"""Tables by demand in a whole card room: they come with the players and go with them, and the books hold."""

from __future__ import annotations

import asyncio

from cardroom.client import LobbySession
from cardroom.contracts.lobby.v1.lobby_pb2 import TableFilter
from cardroom.local import Stack
from tests.e2e.conftest import BY_DEMAND
from tests.e2e.door import Door
from tests.party import assert_books_hold

BLIND = 13


def seated(session: LobbySession) -> list[tuple[str, int]]:
    """The tables as the list tells, with how many sit there."""
    return [(table.name, table.seats_taken) for table in session.in_order]


async def until(session: LobbySession, *expected: tuple[str, int]) -> None:
    """Follow the list until it is this."""
    async with asyncio.timeout(30):
        while seated(session) != list(expected):
            await anext(session)


async def test_tables_come_with_the_players_and_go_with_them(door: Door, stack: Stack) -> None:
    assert (BY_DEMAND["name"], BY_DEMAND["small_blind"]) == ("Yew", BLIND)
    players = [await door.player(await door.guest(f"Guest {number}")) for number in range(3)]
    wanted = TableFilter(small_blind_min=BLIND, small_blind_max=BLIND)
    async with players[0].watch_tables(wanted) as session:
        await until(session, ("Yew", 0))
        (first,) = session.in_order
        for player in players[:2]:
            await player.sit_down(first.table_id, 80 * BLIND)
        await until(session, ("Yew", 2), ("Yew 2", 0))
        second = session.in_order[1]
        await players[2].sit_down(second.table_id, 80 * BLIND)
        await until(session, ("Yew", 2), ("Yew 2", 1))
        await players[2].leave_and_wait(second.table_id, poll_seconds=0.1)
        await until(session, ("Yew", 2), ("Yew 2", 0))
        # The players of the first table have a hand on, which they have to wait for.
        await asyncio.gather(*(player.leave_and_wait(first.table_id, poll_seconds=0.1) for player in players[:2]))
        await until(session, ("Yew", 0))
    await assert_books_hold(stack)
