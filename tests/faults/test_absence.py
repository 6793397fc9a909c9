"""Players vanish, and so do the processes that should notice: from the edge to the wallet, with short patience."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from cardroom.client import Client, PlayerClient
from cardroom.client.errors import UnavailableError
from cardroom.contracts.lobby.v1.lobby_pb2 import TOP_UP_STATE_OVER, TopUpResponse
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.local import Stack, StackOptions
from tests.faults.owners import owner_of
from tests.party import QUICK, Guest, Party, assert_books_hold, eventually, open_table, party

SHORT = {"CARDROOM_TABLE_AWAY_MS": "3000", "CARDROOM_TABLE_SITTING_OUT_MS": "4000"}
GRANT = 10_000


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, env={"table": {**QUICK, **SHORT}})


def seat(at: Party, guest: Guest) -> pb.SeatView | None:
    """A guest's seat as the first guest sees it."""
    return next((one for one in at.view.seats if one.player_id == guest.player.player_id), None)


async def vanish(at: Party, guest: Guest) -> None:
    """The guest's stream ends; they follow and play no more."""
    place = at.guests.index(guest)
    for task in (at._tasks[place], at._tasks[len(at.guests) + place]):
        task.cancel()
    await asyncio.gather(at._tasks.pop(len(at.guests) + place), at._tasks.pop(place), return_exceptions=True)
    at.guests.remove(guest)
    await guest.session.close()


@pytest.mark.parametrize("killed", ["", "clock", "owner"])
async def test_9_5_10_2_who_vanishes_is_sat_out_then_leaves_and_the_chips_are_back(stack: Stack, killed: str) -> None:
    async with party(stack) as at:
        at.gate.set()
        await at.until_hands(1)
        gone = at.guests[-1]
        await vanish(at, gone)
        await at.until("the lost connection is shown", lambda: not (found := seat(at, gone)) or not found.connected)
        if killed:
            process = await owner_of(stack, at.table.table_id) if killed == "owner" else stack.processes["clock"]
            process.kill()
            await stack.repair()
        sat_out = "they are sat out"
        await at.until(sat_out, lambda: not (s := seat(at, gone)) or s.status == pb.SEAT_STATUS_SITTING_OUT)
        await at.until("their seat is free", lambda: seat(at, gone) is None)

        async def is_home() -> bool:
            return await gone.player.my_seat() is None

        await eventually("the chips are back", is_home)
        assert all(seat(at, guest) is not None for guest in at.guests), "somebody who was there was sent away"
        await at.leave()
    await assert_books_hold(stack)


async def test_9_5_nobody_is_sat_out_because_the_owner_died(stack: Stack) -> None:
    async with party(stack) as at:
        at.gate.set()
        await at.until_hands(1)
        (await owner_of(stack, at.table.table_id)).kill()
        await at.until("everyone is back", lambda: all(g.session.resyncs and g.session.is_connected for g in at.guests))
        # Longer than the patience with who is away: the table must have looked at everyone by then.
        await asyncio.sleep(4)
        await at.until("the table goes on", lambda: len(at.view.seats) == len(at.guests))
        told = [event for guest in at.guests for events in guest.events.values() for event in events]
        changed = [event.seat_status_changed for event in told if event.HasField("seat_status_changed")]
        assert not [one for one in changed if one.reason == pb.STATUS_REASON_CONNECTION_LOST]
        assert all(one.connected for one in at.view.seats)
        await at.leave()
    await stack.repair()
    await assert_books_hold(stack)


@pytest.mark.parametrize("killed", ["", "lobby", "wallet"])
async def test_10_4_a_top_up_comes_to_the_table_and_back_whatever_dies(stack: Stack, killed: str) -> None:
    async with Client.connect(stack.edge_grpc) as client:
        table = await open_table(client, stack)
        player = await client.sign_in_as_guest("Tess")
        await player.sit_down(table.table_id, 400)
        async with player.play(table.table_id) as session:
            following = asyncio.create_task(_follow(session))
            topping_up = asyncio.create_task(_top_up(player, table.table_id))
            if killed:
                stack.processes[killed].kill()
                await stack.repair()
            answer = await topping_up
            assert (answer.state, answer.added) == (TOP_UP_STATE_OVER, 300)
            assert await player.leave_and_wait(table.table_id) == 700
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        balance = (await player.balance()).balance
        assert (balance.posted, balance.held) == (GRANT, 0)
    await assert_books_hold(stack)


async def _top_up(player: PlayerClient, table_id: str) -> TopUpResponse:
    """One top-up, asked for again under the same id until it is answered."""
    request_id = str(uuid.uuid4())
    async with asyncio.timeout(60):
        while True:
            try:
                return await player.top_up(table_id, 300, request_id=request_id)
            except UnavailableError:
                await asyncio.sleep(0.2)


async def _follow(session: object) -> None:
    async for _ in session:  # type: ignore[attr-defined]
        pass
