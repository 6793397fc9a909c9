"""Waiting for a seat, through the edge: over each way that it speaks, live, and at a terminal."""

from __future__ import annotations

import asyncio
import itertools
import os
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf.json_format import Parse

from cardroom.client import PlayerClient, wanted_stakes
from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.lobby.v1 import waiting_pb2 as pb
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.local import Stack
from tests.e2e.door import WEB, Call, Caller, Door
from tests.e2e.person import StartPerson
from tests.e2e.room import LOBBY
from tests.party import assert_books_hold, eventually, open_table

WAITING = "cardroom.lobby.v1.WaitingService"
WAYS = ["gRPC", "gRPC-Web", "JSON"]
FRESH_SECONDS = 5.0
"""The promise is 1 s, which `make bench BENCH=lobby_watch` measures; tests run beside others on busy machines."""
SMALL_BLINDS = itertools.count(51)
"""Each table has stakes of its own, so that nobody of another test waits for its seats."""
Following = Callable[[], Awaitable[pb.WatchMyWaitingResponse]]


async def full_table(door: Door, stack: Stack) -> tuple[Table, list[PlayerClient]]:
    """A table with two seats and a player on each; no hand keeps them or whoever comes next, since they sit out."""
    name = f"Full {os.urandom(3).hex()}"
    table = await open_table(door.client, stack, 2 * next(SMALL_BLINDS), seats=2, name=name)
    players = [await door.client.sign_in_as_guest(name) for name in ("Ann", "Bo")]
    for player in players:
        await player.sit_down(table.table_id, table.stakes.min_buy_in)
        await player.play(table.table_id).sit_out()
    return table, players


def stakes_of(table: Table) -> pb.WantedStakes:
    return wanted_stakes(table.stakes.small_blind, table.stakes.big_blind)


class Waiter:
    """Somebody who makes every call one way."""

    def __init__(self, caller: Caller, way: str) -> None:
        self.caller, self.way = caller, way

    async def says(self, name: str, request: Any) -> Any:
        return await self.caller.ways[self.way](Call.of(name, request))

    async def joins(self, **where: Any) -> pb.WaitingEntry:
        request = pb.JoinWaitingListRequest(request_id=str(uuid4()), **where)
        entry: pb.WaitingEntry = (await self.says(f"{WAITING}/JoinWaitingList", request)).entry
        return entry

    async def entries(self) -> list[pb.WaitingEntry]:
        return list((await self.says(f"{WAITING}/GetMyWaiting", pb.GetMyWaitingRequest())).waiting.entries)


@pytest.mark.parametrize("way", WAYS)
async def test_a_wait_from_the_line_to_the_seat(door: Door, stack: Stack, way: str) -> None:
    table, sitting = await full_table(door, stack)
    first, second = Waiter(await door.guest("Cy"), way), Waiter(await door.guest("Di"), way)
    entry = await first.joins(table_id=table.table_id)
    assert (entry.table_id, entry.state, entry.position) == (table.table_id, pb.WAITING_STATE_WAITING, 1)
    other = await second.joins(stakes=stakes_of(table))
    assert (other.stakes, other.position) == (stakes_of(table), 1)
    seated = await sitting[0].my_seat()
    await sitting[0].leave_and_wait(table.table_id)

    async def is_kept() -> bool:
        return (await first.entries())[0].state == pb.WAITING_STATE_SEAT_RESERVED

    await eventually("a seat is kept", is_kept, 5)
    (kept,) = await first.entries()
    assert seated is not None
    assert (kept.reserved.table_id, kept.reserved.seat) == (table.table_id, seated.seat)
    assert 0 < kept.reserved.left_ms <= 60_000
    first_word = await first.says(f"{WAITING}/WatchMyWaiting", pb.WatchMyWaitingRequest())
    assert [one.state for one in first_word.waiting.entries] == [pb.WAITING_STATE_SEAT_RESERVED]
    request = lobby.QuickSeatRequest(stakes=stakes_of(table), buy_in=table.stakes.min_buy_in, request_id=str(uuid4()))
    seating = (await first.says(f"{LOBBY}/QuickSeat", request)).seating
    assert (seating.table_id, seating.seat) == (table.table_id, seated.seat)
    left = (await second.says(f"{WAITING}/LeaveWaitingList", pb.LeaveWaitingListRequest(entry_id=other.entry_id))).entry
    assert left.state == pb.WAITING_STATE_LEFT


async def test_it_is_told_live_over_grpc(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    method: Any = door.channel.unary_stream(f"/{WAITING}/WatchMyWaiting")  # type: ignore[call-arg]
    stream = method(b"", metadata=tuple(caller.headers.items()))

    async def following() -> pb.WatchMyWaitingResponse:
        return pb.WatchMyWaitingResponse.FromString(await stream.read())

    await _assert_follows(following, caller, door, stack)
    stream.cancel()


async def test_it_is_told_live_over_grpc_web(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    headers = {"content-type": WEB, **caller.headers}
    body = struct.pack(">BI", 0, 0)
    async with door.http.post(f"/{WAITING}/WatchMyWaiting", data=body, headers=headers) as answer:

        async def following() -> pb.WatchMyWaitingResponse:
            flag, length = struct.unpack(">BI", await answer.content.readexactly(5))
            assert flag == 0
            return pb.WatchMyWaitingResponse.FromString(await answer.content.readexactly(length))

        await _assert_follows(following, caller, door, stack)


async def test_it_is_told_live_as_server_sent_events(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    headers = {"accept": "text/event-stream", **caller.headers}
    async with door.http.get("/v1/me/waiting/watch", headers=headers) as answer:
        assert answer.content_type == "text/event-stream"

        async def following() -> pb.WatchMyWaitingResponse:
            event = (await answer.content.readuntil(b"\n\n")).decode()
            return Parse(event.removeprefix("data: "), pb.WatchMyWaitingResponse())

        await _assert_follows(following, caller, door, stack)


async def _assert_follows(following: Following, caller: Caller, door: Door, stack: Stack) -> None:
    """Nothing, then a place in line, then the first place, then a kept seat: each soon after its cause."""

    async def until(state: pb.WaitingState.ValueType, position: int) -> None:
        began = time.monotonic()
        async with asyncio.timeout(30):
            while [(e.state, e.position) for e in (await following()).waiting.entries] != [(state, position)]:
                pass
        assert time.monotonic() - began < FRESH_SECONDS

    assert not (await following()).waiting.entries
    table, sitting = await full_table(door, stack)
    before, me = await door.player(await door.guest()), await door.player(caller)
    entry = await before.join_waiting_list(stakes_of(table))
    await me.join_waiting_list(table.table_id)
    await until(pb.WAITING_STATE_WAITING, 2)
    await before.leave_waiting_list(entry.entry_id)
    await until(pb.WAITING_STATE_WAITING, 1)
    await sitting[1].leave_and_wait(table.table_id, poll_seconds=0.1)
    await until(pb.WAITING_STATE_SEAT_RESERVED, 0)


async def test_the_session_of_the_client_follows_a_wait(door: Door, stack: Stack) -> None:
    table, sitting = await full_table(door, stack)
    player = await door.client.sign_in_as_guest("Cy")
    await player.join_waiting_list(stakes_of(table))
    async with player.watch_my_waiting() as waiting:
        await sitting[0].leave_and_wait(table.table_id, poll_seconds=0.1)
        async with asyncio.timeout(30):
            async for _ in waiting:
                kept = waiting.seat_kept()
                if kept is not None:
                    break
        assert kept is not None
        assert 50 < waiting.seconds_left(kept) <= 60
        seating = await player.sit_down(kept.reserved.table_id, table.stakes.min_buy_in)
        assert seating.seat == kept.reserved.seat
        async with asyncio.timeout(30):
            async for _ in waiting:
                if waiting.entries[0].state == pb.WAITING_STATE_SEATED:
                    break
    await assert_books_hold(stack)


@pytest.mark.timeout(300)
async def test_a_person_waits_at_a_terminal_and_sits_down(
    door: Door, stack: Stack, start_person: StartPerson, tmp_path: Path
) -> None:
    table, sitting = await full_table(door, stack)
    person = await start_person(tmp_path, "--table", table.name)
    await person.hears("How many chips")
    person.types("")
    await person.hears("are taken or kept for players who wait")
    await person.hears("w waits for a seat")
    person.types("w")
    await person.hears(f"You are number 1 in line for {table.name}")
    person.types("f")
    await person.hears("q leaves the line")
    await sitting[0].leave_and_wait(table.table_id, poll_seconds=0.1)
    assert "for 60 s" in await person.hears("is kept for you")
    await person.hears("How many chips")
    person.types("7")
    await person.hears("a buy-in of 7 is not allowed here")
    person.types(str(table.stakes.min_buy_in))
    await person.hears("You sit on seat")
    person.types("q")
    await person.hears("You have left")
    assert await person.ends() == 0


@pytest.mark.timeout(300)
async def test_a_person_asks_for_stakes_and_keeps_the_place_in_line(
    door: Door, stack: Stack, start_person: StartPerson, tmp_path: Path
) -> None:
    table, sitting = await full_table(door, stack)
    blinds = f"{table.stakes.small_blind}/{table.stakes.big_blind}"
    first = await start_person(tmp_path, "--stakes", blinds, "--buy-in", str(table.stakes.min_buy_in))
    await first.hears(f"no seat at {blinds} is free")
    await first.hears("w waits for a seat")
    first.types("w")
    await first.hears(f"You are number 1 in line for any table at {blinds}")
    assert await first.ends() == 0
    await first.hears("You keep your place in line")
    again = await start_person(tmp_path)
    await again.hears(f"You are number 1 in line for any table at {blinds}")
    again.types("q")
    await again.hears(f"You no longer wait for any table at {blinds}")
    await again.hears("Which table")
    await sitting[0].leave_and_wait(table.table_id, poll_seconds=0.1)
    again.types(blinds)
    await again.hears("How many chips")
    again.types("")
    await again.hears("You sit on seat")
    again.types("q")
    await again.hears("You have left")
    assert await again.ends() == 0
