"""A connection dies without a word: no reset, no end, nothing gets through any more (rule 9.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from cardroom.client import Client, TableSession
from cardroom.local import Stack, StackOptions
from tests.party import QUICK, Guest, Party, assert_books_hold, party
from tests.relay import Relay

NOTICED_SECONDS = 15
# The edge spreads its pings by 15 %, the table waits half a second for a new stream, and the machine may be busy.
TOLERANCE_SECONDS = 6


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, env={"table": QUICK})


@pytest.fixture
async def relay(stack: Stack) -> AsyncIterator[Relay]:
    """On the way of one player."""
    async with Relay(stack.edge_grpc) as running:
        yield running


def is_connected(at: Party, guest: Guest) -> bool:
    """Whether everyone is told that the guest is there."""
    return next(seat.connected for seat in at.view.seats if seat.player_id == guest.player.player_id)


async def seconds_until_it_knows(session: TableSession) -> float:
    """How long a session takes to notice that its connection is dead."""
    began = time.monotonic()
    async with asyncio.timeout(60):
        while True:
            if not session.is_connected:
                return time.monotonic() - began
            await asyncio.sleep(0.05)


async def test_9_5_a_silent_connection_is_an_absence_within_15_seconds_for_the_table_and_the_client(
    stack: Stack, relay: Relay
) -> None:
    async with Client.connect(stack.edge_grpc) as client, Client.connect(relay.address) as far:
        players = [await client.sign_in_as_guest("Ann"), await far.sign_in_as_guest("Far")]
        async with party(stack, players=players) as at:
            at.gate.set()
            await at.until_hands(2)
            gone = at.guests[-1]
            relay.cut()
            began = time.monotonic()
            knows = asyncio.create_task(seconds_until_it_knows(gone.session))
            limit = NOTICED_SECONDS + TOLERANCE_SECONDS
            await at.until("everyone sees the absence", lambda: not is_connected(at, gone), seconds=limit)
            print(f"the table noticed after {time.monotonic() - began:.1f} s, the client after {await knows:.1f} s")
            assert await knows < limit
            relay.mend()
            await at.until("they are back", lambda: is_connected(at, gone) and gone.session.is_connected)
            await at.until_hands(2)
            assert gone.session.resyncs == 1
            await at.leave()
    await assert_books_hold(stack)


async def test_9_5_an_old_stream_that_dies_after_a_new_one_opened_evicts_nobody(stack: Stack, relay: Relay) -> None:
    async with Client.connect(stack.edge_grpc) as client, Client.connect(relay.address) as far:
        players = [await client.sign_in_as_guest("Ann"), await far.sign_in_as_guest("Far")]
        async with party(stack, players=players) as at:
            await at.hold_in_the_middle_of_a_hand()
            mover = at.guests[-1]
            relay.cut()
            elsewhere = await client.player_with_token(await mover.player._connection._credentials.token())
            async with elsewhere.play(at.table.table_id) as second:
                following = asyncio.create_task(_follow(second))
                await seconds_until_it_knows(mover.session)
                # By now the edge has given up the old connection as well.
                await asyncio.sleep(TOLERANCE_SECONDS)
                assert second.is_connected
                told = [event for events in at.guests[0].events.values() for event in events]
                assert not [event for event in told if event.HasField("connection_changed")], "somebody saw them go"
                assert is_connected(at, mover)
                relay.mend()
                at.gate.set()
                await at.until_hands(2)
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            await at.leave()
    await assert_books_hold(stack)


async def _follow(session: TableSession) -> None:
    async for _ in session:
        pass
