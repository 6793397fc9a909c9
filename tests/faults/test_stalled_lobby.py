"""A lobby is stalled past all that it has claimed, and wakes: what others did meanwhile stands, nothing is doubled."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from cardroom.client import CardroomError, Client, PlayerClient
from cardroom.client.connection import Connection
from cardroom.client.errors import AbortedError, DeadlineExceededError, UnavailableError, from_rpc_error
from cardroom.contracts.lobby.v1.lobby_pb2 import SitDownRequest, Table
from cardroom.contracts.lobby.v1.lobby_pb2_grpc import LobbyServiceStub
from cardroom.contracts.lobby.v1.waiting_pb2 import WAITING_STATE_SEAT_RESERVED
from cardroom.local import Stack, StackOptions
from cardroom.local.services import Service
from tests.faults.owners import fetch
from tests.party import QUICK, assert_books_hold, eventually, open_table

STAYS = "select player_id::text, seat, step from seatings where table_id = $1 and step <> 'over' order by seat"
STEP = "select step from seatings where player_id = $1 and step <> 'over'"
DOUBLED = "select table_id, seat from kept_seats group by 1, 2 having count(distinct player_id) > 1"
UNFINISHED = "select 1 from seatings where due_at is not null"


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, lobby_replicas=2, env={"table": QUICK})


def at(lobby: Service, player: PlayerClient, channel: grpc.aio.Channel) -> PlayerClient:
    """The same player, who asks this lobby and no other."""
    connection = Connection(channel, player._connection._credentials, player._connection.policy)
    return PlayerClient(connection, player.player_id, player.display_name)


@asynccontextmanager
async def asking(lobby: Service, *players: PlayerClient) -> Any:
    """The players, who ask this lobby and no other."""
    async with grpc.aio.insecure_channel(lobby.place.address) as channel:
        yield [at(lobby, player, channel) for player in players]


async def insisted(call: Callable[[], Awaitable[Any]]) -> Any:
    """The answer, asked for again while nobody can give it."""
    async with asyncio.timeout(120):
        while True:
            try:
                return await call()
            except (UnavailableError, DeadlineExceededError, AbortedError):
                await asyncio.sleep(0.2)


async def sit_down_at(
    lobby: Service, player: PlayerClient, request: SitDownRequest, *, is_stalled: bool = False
) -> asyncio.Task[Any]:
    """A request to sit down, sent once; left in the socket where the lobby is stalled first, as if on its way."""
    token = await player._connection._credentials.token()
    channel = grpc.aio.insecure_channel(lobby.place.address)
    await channel.channel_ready()
    if is_stalled:
        lobby.stop()

    async def sit_down() -> Any:
        async with channel:
            try:
                metadata = (("authorization", f"Bearer {token}"),)
                return await LobbyServiceStub(channel).SitDown(request, metadata=metadata, timeout=120)
            except grpc.aio.AioRpcError as refusal:
                return from_rpc_error(refusal)

    return asyncio.create_task(sit_down())


async def small_table(client: Client, stack: Stack) -> Table:
    return await open_table(client, stack, 2 + 2 * (uuid.uuid4().int % 40), seats=2)


async def all_is_done(stack: Stack) -> bool:
    return not await fetch(stack, "lobby", UNFINISHED)


async def assert_sit(stack: Stack, table_id: str, *players: PlayerClient) -> None:
    """These and nobody else, on seats 1, 2, …: in the lobby's rows, and at the table."""
    await eventually("no stay is in between", lambda: all_is_done(stack), 60)
    rows = await fetch(stack, "lobby", STAYS, table_id)
    expected = [(player.player_id, seat) for seat, player in enumerate(players, 1)]
    assert [(row["player_id"], row["seat"]) for row in rows] == expected
    assert {row["step"] for row in rows} == {"seated"}
    assert await fetch(stack, "lobby", DOUBLED) == []
    async with players[0].play(table_id) as session:
        await anext(session)
        assert sorted((seat.player_id, seat.seat) for seat in session.view.seats) == sorted(expected)


@pytest.mark.parametrize("step", ["reserved", "held"])
async def test_10_5_a_lobby_stalled_while_it_seats_a_player_changes_nothing_when_it_wakes(
    stack: Stack, step: str
) -> None:
    stalled, other = stack.processes["lobby-0"], stack.processes["lobby-1"]
    # What the stay waits for in this step.
    neighbour = {"reserved": "wallet", "held": "table"}[step]
    neighbours = [process for process in stack.processes.values() if process.place.service == neighbour]
    async with Client.connect(stack.edge_grpc) as client:
        table = await small_table(client, stack)
        ann, bo = [await client.sign_in_as_guest(name) for name in ("Ann", "Bo")]
        before = (await ann.balance()).balance.available
        buy_in = table.stakes.min_buy_in
        request = SitDownRequest(table_id=table.table_id, seat=1, buy_in=buy_in, request_id=str(uuid.uuid4()))
        for process in neighbours:
            process.stop()
        late = await sit_down_at(stalled, ann, request)

        async def is_there() -> bool:
            return [row["step"] for row in await fetch(stack, "lobby", STEP, ann.player_id)] == [step]

        await eventually(f"the stay is {step}", is_there)
        stalled.stop()
        for process in neighbours:
            process.cont()
        async with asking(other, ann, bo) as (of_ann, of_bo):
            # Once what the stalled one has claimed runs out, the other goes on with the same stay.
            seating = await insisted(
                lambda: of_ann.sit_down(table.table_id, buy_in, seat=1, request_id=request.request_id)
            )
            assert seating.seat == 1
            await insisted(lambda: of_ann.leave_and_wait(table.table_id, poll_seconds=0.1))
            await insisted(lambda: of_bo.sit_down(table.table_id, buy_in, seat=1))
        stalled.cont()
        await late
        await stack.until_ready()
        await assert_sit(stack, table.table_id, bo)
        assert await ann.my_seat() is None
        assert (await ann.balance()).balance.available == before
        await bo.leave_and_wait(table.table_id, poll_seconds=0.1)
    await assert_books_hold(stack)


async def test_10_5_a_lobby_that_wakes_gives_nobody_a_seat_that_went_to_the_next_in_line(stack: Stack) -> None:
    stalled, other = stack.processes["lobby-0"], stack.processes["lobby-1"]
    async with Client.connect(stack.edge_grpc) as client:
        table = await small_table(client, stack)
        ann, bo, cy, di = [await client.sign_in_as_guest(name) for name in ("Ann", "Bo", "Cy", "Di")]
        buy_in = table.stakes.min_buy_in
        for player in (ann, bo):
            await player.sit_down(table.table_id, buy_in)
            if player is ann:
                await ann.play(table.table_id).sit_out()
        for player in (cy, di):
            await player.join_waiting_list(table.table_id)
        request = SitDownRequest(table_id=table.table_id, buy_in=buy_in, request_id=str(uuid.uuid4()))
        late = await sit_down_at(stalled, cy, request, is_stalled=True)
        async with asking(other, bo, cy, di) as (of_bo, of_cy, of_di):

            async def is_kept_for(player: PlayerClient) -> bool:
                states = [entry.state for entry in await insisted(player.my_waiting)]
                return WAITING_STATE_SEAT_RESERVED in states

            await insisted(lambda: of_bo.leave_and_wait(table.table_id, poll_seconds=0.1))
            await eventually("the seat is kept for Cy", lambda: is_kept_for(of_cy))
            await fetch(stack, "lobby", "update waiting set reserved_until = now() where player_id = $1", cy.player_id)
            await eventually("the seat is kept for Di", lambda: is_kept_for(of_di))
            await insisted(lambda: of_di.sit_down(table.table_id, buy_in))
        stalled.cont()
        answer = await late
        assert isinstance(answer, CardroomError)
        assert answer.reason == "TABLE_FULL", answer
        await stack.until_ready()
        await assert_sit(stack, table.table_id, ann, di)
        assert await cy.my_seat() is None
        for player in (ann, di):
            await player.leave_and_wait(table.table_id, poll_seconds=0.1)
    await assert_books_hold(stack)
