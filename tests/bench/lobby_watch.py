"""The live list of tables with 5,000 watchers: how fresh it is, and what a change costs.

A real lobby on a real Postgres, without Envoy; the watchers are a process of their own and share a few connections.
Players "sit down" by rows that the lobby itself would write, so that nothing but the lobby is measured. Freshness is
from just before the row is committed to the moment when the watcher's process has the message. The reference is a bare
grpc.aio server that writes as large a message to as many streams and does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import grpc
import uvloop

from cardroom.contracts.identity.v1.identity_pb2 import SignInAsGuestRequest
from cardroom.contracts.identity.v1.identity_pb2_grpc import IdentityServiceStub
from cardroom.contracts.lobby.v1.lobby_pb2 import (
    GetTableRequest,
    TableFilter,
    WatchTablesRequest,
    WatchTablesResponse,
)
from cardroom.contracts.lobby.v1.lobby_pb2_grpc import LobbyServiceStub
from cardroom.local import Progress, Stack, StackOptions
from tests.bench._measures import latency_line, sample
from tests.bench.lobby_watch_load import LINE_BYTES_MAX

METHOD = "/cardroom.lobby.v1.LobbyService/WatchTables"
REFERENCE = "/cardroom.bench.Fan/Watch"
TABLES, SEATS, PLAYERS = 200, 9, 100
# Filters that all let the tables through that change, and differ.
FILTERS = [TableFilter(), *(TableFilter(small_blind_min=least) for least in range(2, 6))]
ADD_TABLES = """
INSERT INTO tables (table_id, request_id, name, game, small_blind, big_blind, ante, min_buy_in, max_buy_in, seats,
                    asked, state)
SELECT gen_random_uuid(), gen_random_uuid(), 'Bench ' || n, 1, 5, 10, 0, 400, 1000, $2, '{}', 'open'
FROM generate_series(1, $1::int) AS n RETURNING table_id::text
"""
SIT_DOWN = """
INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step)
VALUES (gen_random_uuid(), $1, gen_random_uuid(), 'Bench', $2, 400, 'seated')
"""


@dataclass
class Room:
    """The lobby's database: where players sit down, one after the other, at one table after the other."""

    pool: asyncpg.Pool[asyncpg.Record]
    tables: list[str]
    sat: int = 0
    begun: dict[tuple[str, int], float] = field(default_factory=dict)
    """When the commit began that brought a table so many players."""

    async def sit_down(self) -> None:
        """One more player."""
        table_id, seat = self.tables[self.sat % len(self.tables)], self.sat // len(self.tables) + 1
        self.sat += 1
        self.begun[table_id, seat] = time.monotonic()
        await self.pool.execute(SIT_DOWN, table_id, seat)


class Load:
    """The watchers' process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, line: str = "") -> Any:
        """Give an order, and return what it says."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n".encode())
        answer = await self.process.stdout.readline()
        assert answer, "the watchers have ended"
        return json.loads(answer)


@asynccontextmanager
async def watching(order: dict[str, Any]) -> AsyncIterator[Load]:
    """Watchers whose streams are open."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "tests.bench.lobby_watch_load")
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=LINE_BYTES_MAX)
    load = Load(process)
    try:
        began = time.monotonic()
        assert await load.ask(json.dumps(order)) == "open"
        print(f"{order['watchers']:,} watchers opened in {time.monotonic() - began:.1f} s")
        yield load
    finally:
        process.kill()
        await process.wait()


@dataclass
class Phase:
    """What a while of changes has cost and brought."""

    cpu_seconds: float
    load_cpu_seconds: float
    seconds: float
    fresh: list[float]
    messages: int
    size: int


async def changes(room: Room, load: Load, lobby: int, per_second: float, seconds: float) -> Phase:
    """Players sit down at a fixed rate; what the lobby used for it, and what the watchers got."""
    await load.ask()
    names = {lobby: "lobby", load.process.pid: "load"}
    before, began = sample(names), time.monotonic()
    for number in range(int(per_second * seconds)):
        await asyncio.sleep(max(0.0, began + number / per_second - time.monotonic()))
        await room.sit_down()
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
    await asyncio.sleep(1.5)
    after = sample(names)
    cpu, load_cpu = (after.used[name] - before.used[name] for name in names.values())
    phase = Phase(cpu, load_cpu, after.at - before.at, [], 0, 0)
    for raw, moments in await load.ask():
        message = WatchTablesResponse.FromString(bytes.fromhex(raw))
        phase.messages += len(moments)
        phase.size = max(phase.size, len(raw) // 2)
        for table in message.change.tables:
            begun = room.begun.get((table.table_id, table.seats_taken))
            # A table that changes again, for its average pot, was told before.
            if begun is not None and moments[0] - begun < 5:
                phase.fresh += [moment - begun for moment in moments]
    return phase


async def idle(load: Load, lobby: int, seconds: float) -> float:
    """The part of a core that the lobby uses while nothing changes: a look now and then, and heartbeats."""
    await load.ask()
    before = sample({lobby: "lobby"})
    await asyncio.sleep(seconds)
    after = sample({lobby: "lobby"})
    return (after.used["lobby"] - before.used["lobby"]) / (after.at - before.at)


async def bystander(address: str, token: str, table_id: str, seconds: float) -> list[float]:
    """How long somebody waits who reads one table now and then."""
    waits: list[float] = []
    async with grpc.aio.insecure_channel(address) as channel:
        get: Any = LobbyServiceStub(channel).GetTable
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            await get(GetTableRequest(table_id=table_id), metadata=(("authorization", f"Bearer {token}"),))
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.05)
    return waits


def resident_megabytes(pid: int) -> float:
    """The process's memory."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def guests(stack: Stack) -> list[str]:
    """Access tokens of some players."""
    async with grpc.aio.insecure_channel(stack.address_of("gateway")) as channel:
        stub: Any = IdentityServiceStub(channel)
        answers = [await stub.SignInAsGuest(SignInAsGuestRequest()) for _ in range(PLAYERS)]
    return [answer.tokens.access_token for answer in answers]


async def measure(stack: Stack, room: Room, options: argparse.Namespace) -> None:
    """A few watchers, then all of them, and the same work without a lobby."""
    address, lobby, tokens = stack.address_of("lobby"), stack.processes["lobby"].pid, await guests(stack)
    order = {
        "address": address,
        "method": METHOD,
        "requests": [WatchTablesRequest(filter=wanted).SerializeToString().hex() for wanted in FILTERS],
        "tokens": tokens,
        "connections": options.connections,
    }
    few, many = len(FILTERS), options.watchers
    costs: dict[tuple[int, float], Phase] = {}
    for watchers in (few, many):
        empty = resident_megabytes(lobby)
        async with watching(order | {"watchers": watchers}) as load:
            memory = (resident_megabytes(lobby) - empty) * 1024 / watchers
            print(f"  memory {memory:.1f} KiB a watcher; idle {await idle(load, lobby, options.seconds):.1%} of a core")
            for rate in options.rates:
                waiting = asyncio.create_task(bystander(address, tokens[0], room.tables[0], options.seconds))
                phase = costs[watchers, rate] = await changes(room, load, lobby, rate, options.seconds)
                report(phase, watchers, rate, options.seconds)
                print(f"    meanwhile GetTable: {latency_line(await waiting)}")
    reference = await fan_out(costs[many, options.rates[0]].size, order | {"watchers": many}, options.seconds)
    print(f"reference: bare grpc.aio server, {many:,} streams: {reference * 1e6:.1f} us of CPU a message")
    for rate in options.rates:
        more = costs[many, rate].messages - costs[few, rate].messages
        each = (costs[many, rate].cpu_seconds - costs[few, rate].cpu_seconds) / more
        print(
            f"{rate:g} changes/s: {each * 1e6:.1f} us of the lobby's CPU a message: {each / reference:.1f} references"
        )


def report(phase: Phase, watchers: int, rate: float, seconds: float) -> None:
    """Print one phase."""
    made = int(rate * seconds)
    print(
        f"  {rate:g} changes/s, {watchers:,} watchers, {phase.messages / watchers / seconds:.1f} messages/s to each of "
        f"up to {phase.size} bytes: fresh {latency_line(phase.fresh)}"
    )
    told = len(phase.fresh) / watchers / made
    print(
        f"    {phase.cpu_seconds / phase.seconds:.1%} of a core, {phase.cpu_seconds / made * 1e3:.1f} ms a change, "
        f"{phase.cpu_seconds / made / watchers * 1e6:.1f} us a change and watcher; {told:.0%} of the changes told; "
        f"the watchers' own process {phase.load_cpu_seconds / phase.seconds:.1%} of a core",
        flush=True,
    )


async def fan_out(size: int, order: dict[str, Any], seconds: float) -> float:
    """CPU seconds for each message of a bare server that writes `size` bytes to every stream twice a second."""
    command = (sys.executable, "-m", "tests.bench.lobby_watch", "--serve-reference", str(size))
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert server.stdout is not None
        port = int(await server.stdout.readline())
        async with watching(order | {"address": f"127.0.0.1:{port}", "method": REFERENCE}) as load:
            await load.ask()
            before = sample({server.pid: "server"})
            await asyncio.sleep(seconds)
            after = sample({server.pid: "server"})
            messages = sum(len(moments) for _, moments in await load.ask())
        return (after.used["server"] - before.used["server"]) / messages
    finally:
        server.kill()
        await server.wait()


async def serve_reference(size: int) -> None:
    """The bare server."""
    number, news = 0, asyncio.Event()

    async def watch(_: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        while True:
            await context.write(number.to_bytes(8, "big") + b"x" * (size - 8))
            await news.wait()

    server = grpc.aio.server()
    handlers = {"Watch": grpc.unary_stream_rpc_method_handler(watch)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("cardroom.bench.Fan", handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    while True:
        await asyncio.sleep(0.5)
        number, old, news = number + 1, news, asyncio.Event()
        old.set()


async def main(options: argparse.Namespace) -> None:
    """Bring up what the lobby needs, and measure."""
    env = {"lobby": {"CARDROOM_LOBBY_WATCH_STREAMS_PER_PLAYER_MAX": "100"}}
    stack_options = StackOptions(services=("gateway", "wallet", "lobby"), edge=False, env=env, log_level="warning")
    async with (
        Stack(stack_options, progress=Progress()) as stack,
        asyncpg.create_pool(stack.database_url("lobby"), min_size=1, max_size=4) as pool,
    ):
        tables = [row["table_id"] for row in await pool.fetch(ADD_TABLES, TABLES, SEATS)]
        print(
            f"{options.watchers:,} watchers with {len(FILTERS)} filters over {options.connections} connections, "
            f"{TABLES} tables; load average before {os.getloadavg()[0]:.1f}"
        )
        await measure(stack, Room(pool, tables), options)


if __name__ == "__main__":
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--watchers", type=int, default=5000)
    command.add_argument("--connections", type=int, default=10)
    command.add_argument("--rates", type=lambda text: [float(part) for part in text.split(",")], default=[1.0, 10.0])
    command.add_argument("--seconds", type=float, default=20.0)
    command.add_argument("--serve-reference", type=int, default=0, help=argparse.SUPPRESS)
    given = command.parse_args()
    uvloop.run(serve_reference(given.serve_reference) if given.serve_reference else main(given))
