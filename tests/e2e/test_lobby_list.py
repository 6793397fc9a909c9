"""The list of tables through the edge: filtered and sorted, and live over each way that the edge speaks."""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import Parse

from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM
from cardroom.local import Stack
from tests.e2e.door import WEB, Call, Door
from tests.e2e.room import LOBBY
from tests.party import open_table
from tests.processes import running

WAYS = ["gRPC", "gRPC-Web", "JSON"]
BLIND = 7
"""A small blind that no other test's tables have."""
OWN = lobby.WatchTablesRequest(filter=lobby.TableFilter(small_blind_min=BLIND, small_blind_max=BLIND))
Following = Callable[[], Awaitable[lobby.WatchTablesResponse]]


@pytest.fixture(params=WAYS)
async def say(door: Door, request: pytest.FixtureRequest) -> Callable[[str, Any], Awaitable[Any]]:
    """A guest's calls, one way."""
    caller = await door.guest()

    async def made(method: str, asked: Any) -> Any:
        return await caller.ways[request.param](Call.of(f"{LOBBY}/{method}", asked))

    return made


async def test_tables_are_filtered_and_sorted(
    say: Callable[[str, Any], Awaitable[Any]], door: Door, stack: Stack
) -> None:
    small_blind = 5000 + time.monotonic_ns() % 100_000  # another one each way
    for seats, name in ((2, "Elm"), (6, "Ash"), (9, "Oak")):
        await open_table(door.client, stack, 2 * small_blind, seats=seats, name=name)
    mine: dict[str, Any] = {"small_blind_min": small_blind, "small_blind_max": small_blind}
    mine["games"] = [GAME_NO_LIMIT_HOLDEM]

    async def names(order_by: str = "", **more: Any) -> list[str]:
        wanted = lobby.TableFilter(**mine, **more)
        answer = await say("ListTables", lobby.ListTablesRequest(filter=wanted, order_by=order_by))
        return [table.name for table in answer.tables]

    assert await names() == ["Ash", "Elm", "Oak"]
    assert await names("stakes.seats desc") == ["Oak", "Ash", "Elm"]
    assert await names("seats_taken, name desc", seats_max=6) == ["Elm", "Ash"]
    assert await names(players_min=1) == []
    first = await say("WatchTables", lobby.WatchTablesRequest(filter=lobby.TableFilter(**mine, seats_min=9)))
    assert [table.name for table in first.snapshot.tables] == ["Oak"]


async def test_the_list_goes_on_over_grpc(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    call = Call.of(f"{LOBBY}/WatchTables", OWN)
    method: Any = door.channel.unary_stream(call.path)  # type: ignore[call-arg]
    stream = method(OWN.SerializeToString(), metadata=tuple(caller.headers.items()))

    async def following() -> lobby.WatchTablesResponse:
        return lobby.WatchTablesResponse.FromString(await stream.read())

    await _assert_follows(following, door, stack)
    stream.cancel()


async def test_the_list_goes_on_over_grpc_web(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    message = OWN.SerializeToString()
    body = struct.pack(">BI", 0, len(message)) + message
    headers = {"content-type": WEB, **caller.headers}
    async with door.http.post(f"/{LOBBY}/WatchTables", data=body, headers=headers) as answer:

        async def following() -> lobby.WatchTablesResponse:
            flag, length = struct.unpack(">BI", await answer.content.readexactly(5))
            assert flag == 0
            return lobby.WatchTablesResponse.FromString(await answer.content.readexactly(length))

        await _assert_follows(following, door, stack)


async def test_the_list_goes_on_as_server_sent_events(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    params = {"filter.small_blind_min": str(BLIND), "filter.small_blind_max": str(BLIND)}
    headers = {"accept": "text/event-stream", **caller.headers}
    async with door.http.get("/v1/tables:watch", params=params, headers=headers) as answer:
        assert answer.content_type == "text/event-stream"

        async def following() -> lobby.WatchTablesResponse:
            event = (await answer.content.readuntil(b"\n\n")).decode()
            return Parse(event.removeprefix("data: "), lobby.WatchTablesResponse())

        await _assert_follows(following, door, stack)


async def test_a_silent_list_sends_heartbeats(door: Door) -> None:
    caller = await door.guest()
    params = {"filter.small_blind_min": "999999"}
    async with door.http.get("/v1/tables:watch", params=params, headers=caller.headers) as answer:
        began = time.monotonic()
        events = [(await answer.content.readuntil(b"\n\n")).decode() for _ in range(2)]
    assert '"snapshot"' in events[0]
    assert '"heartbeat"' in events[1]
    assert time.monotonic() - began > 4


async def _assert_follows(following: Following, door: Door, stack: Stack) -> None:
    """A snapshot, then a table that is opened, taken, left and closed, each told soon after its answer."""
    told = {table.table_id: table for table in (await following()).snapshot.tables}
    versions: list[int] = []

    async def until(table_id: str, taken: int | None) -> None:
        while (told[table_id].seats_taken if table_id in told else None) != taken:
            message = await asyncio.wait_for(following(), 30)
            if message.HasField("change"):
                versions.append(message.version)
                told.update((table.table_id, table) for table in message.change.tables)
                for gone in message.change.removed_table_ids:
                    told.pop(gone, None)

    table_id = (await open_table(door.client, stack, 2 * BLIND)).table_id
    await until(table_id, 0)
    player = await door.player(await door.guest())
    await player.sit_down(table_id, 40 * BLIND)
    await until(table_id, 1)
    await player.leave_and_wait(table_id, poll_seconds=0.05)
    await until(table_id, 0)
    await door.client.service(*stack.client_credentials("operator")).close_table(table_id)
    await until(table_id, None)
    assert versions == list(range(versions[0], versions[0] + len(versions)))


async def test_a_session_of_the_client_keeps_the_list(door: Door, stack: Stack) -> None:
    player = await door.player(await door.guest())
    async with player.watch_tables(OWN.filter) as session:
        await anext(session)
        table_id = (await open_table(door.client, stack, 2 * BLIND)).table_id
        async with asyncio.timeout(30):
            async for update in session:  # noqa: B007  (the last one counts)
                if table_id in session.tables:
                    break
        assert not update.is_snapshot
        assert session.tables[table_id] == await player.table(table_id)
    assert [table.table_id for table in await player.tables(OWN.filter)] == [t.table_id for t in session.in_order]


async def test_a_person_sees_the_list_in_a_terminal(door: Door, stack: Stack, tmp_path: Path) -> None:
    await open_table(door.client, stack, 2 * BLIND, name="Rowan")
    program = str(Path(sys.executable).with_name("cardroom"))
    command = (program, "tables", "--edge", stack.edge_grpc, "--config-dir", str(tmp_path))
    for _ in range(2):  # the second time as the same guest
        async with running(*command, "--blind", str(BLIND), "--free", stdout=asyncio.subprocess.PIPE) as process:
            shown, _ = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0
        assert f"{BLIND}/{2 * BLIND}" in next(line for line in shown.decode().splitlines() if "Rowan" in line)
    async with running(*command, "--order-by", "luck", stderr=asyncio.subprocess.PIPE) as process:
        _, said = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert b"'luck'" in said
    assert b"INVALID_ORDER_BY" in said
