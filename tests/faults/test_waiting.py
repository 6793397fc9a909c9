"""The lobby dies while players wait for a seat: the line stands, the seat is kept for the next, and taken once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from cardroom.client import Client, PlayerClient, WaitingSession
from cardroom.client.errors import AbortedError, DeadlineExceededError, UnavailableError
from cardroom.contracts.lobby.v1 import waiting_pb2 as pb
from cardroom.local import Stack, StackOptions
from tests.party import QUICK, assert_books_hold, open_table

T = TypeVar("T")


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, env={"table": QUICK})


async def insisted(call: Callable[[], Awaitable[T]]) -> T:
    """The answer, asked for again while nobody can give it."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await call()
            except (UnavailableError, DeadlineExceededError, AbortedError):
                await asyncio.sleep(0.2)


async def until_told(session: WaitingSession, state: pb.WaitingState.ValueType) -> pb.WaitingEntry:
    """Follow the player's stream, whatever becomes of it, until their entry is in this state."""
    async with asyncio.timeout(60):
        while not session.entries or session.entries[-1].state != state:
            await anext(session)
        return session.entries[-1]


async def full_table(client: Client, stack: Stack) -> tuple[str, list[PlayerClient]]:
    """Two seats, two players, and no hand that keeps them: one sits out."""
    table = await open_table(client, stack, 2 + 2 * (uuid.uuid4().int % 40), seats=2)
    players = [await client.sign_in_as_guest(name) for name in ("Ann", "Bo")]
    for player in players:
        await player.sit_down(table.table_id, table.stakes.min_buy_in)
        if player is players[0]:
            await player.play(table.table_id).sit_out()
    return table.table_id, players


async def test_10_5_a_seat_is_kept_and_taken_although_the_lobby_is_killed_at_each_step(stack: Stack) -> None:
    lobby = stack.processes["lobby"]
    async with Client.connect(stack.edge_grpc) as client:
        table_id, sitting = await full_table(client, stack)
        first, second = [await client.sign_in_as_guest(name) for name in ("Cy", "Di")]
        await first.join_waiting_list(table_id)
        await second.join_waiting_list(table_id)
        async with first.watch_my_waiting() as of_first, second.watch_my_waiting() as of_second:
            assert (await until_told(of_second, pb.WAITING_STATE_WAITING)).position == 2
            leaving = asyncio.create_task(insisted(lambda: sitting[1].leave_and_wait(table_id, poll_seconds=0.1)))
            await asyncio.sleep(0.02)
            lobby.kill()
            await stack.repair()
            kept = await until_told(of_first, pb.WAITING_STATE_SEAT_RESERVED)
            await leaving
            buy_in, request_id = (await insisted(lambda: first.table(table_id))).stakes.min_buy_in, str(uuid.uuid4())
            taking = asyncio.create_task(
                insisted(lambda: first.sit_down(table_id, buy_in, request_id=request_id)),
            )
            await asyncio.sleep(0.01)
            lobby.kill()
            await stack.repair()
            assert (await taking).seat == kept.reserved.seat
            await until_told(of_first, pb.WAITING_STATE_SEATED)
            # The next in line, told by the lobby that came back.
            lobby.kill()
            await stack.repair()
            await insisted(lambda: first.leave_and_wait(table_id, poll_seconds=0.1))
            again = await until_told(of_second, pb.WAITING_STATE_SEAT_RESERVED)
            assert again.reserved.seat == kept.reserved.seat
            assert await insisted(lambda: second.sit_down(table_id, buy_in))
        for player in (sitting[0], second):
            await insisted(lambda player=player: player.leave_and_wait(table_id, poll_seconds=0.1))  # type: ignore[misc]
    await assert_books_hold(stack)
