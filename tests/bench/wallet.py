"""Measures the wallet against pgbench on the same Postgres, in the same run: `python -m tests.bench.wallet [seconds]`.

Every transfer goes through gRPC with a durable commit. The goals stand beside the numbers.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import grpc

from cardroom.chassis.bus import EventBus, Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.identity.v1.identity_pb2 import IssueServiceTokenRequest
from cardroom.contracts.identity.v1.identity_pb2_grpc import IdentityServiceStub
from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1.ledger_pb2_grpc import LedgerServiceStub
from cardroom.local import Progress, Stack, StackOptions

ACCOUNTS = 400
TABLES, SEATS, HANDS_PER_TABLE = 100, 6, 150
LONG = 1_000_000
READS = 400

FILL_LONG = """
with posting as (insert into postings (id, transfers) values ($1, $2)),
moved as (
    insert into transfers (id, kind, currency, legs, reason, actor, created_at)
    select $1 * 100000 + n, 4, 'PLAY', 2, 'bench', 'bench', $5::timestamptz + make_interval(secs => n)
      from generate_series(0, $2 - 1) n
)
insert into entries (account_id, version, transfer_id, leg, amount, balance_after, held_change, held_after, created_at)
select case l when 1 then $3::bigint else $4::bigint end, a.version + n + 1, $1 * 100000 + n, l,
       case l when 1 then 1 else -1 end, a.posted + case l when 1 then n + 1 else -n - 1 end, 0, 0,
       $5::timestamptz + make_interval(secs => n)
  from generate_series(0, $2 - 1) n cross join generate_series(1, 2) l
  join accounts a on a.id = case l when 1 then $3::bigint else $4::bigint end
"""


class Bench:
    """A wallet of its own on a Postgres and a RabbitMQ of their own, and what was measured on it."""

    def __init__(self, stack: Stack, seconds: float) -> None:
        self.stack = stack
        self.seconds = seconds
        self.reference = 0.0
        self.token = ""
        self.address = stack.address_of("wallet")
        self.channel = grpc.aio.insecure_channel(self.address)
        self.stub: Any = LedgerServiceStub(self.channel)

    async def sign_in(self) -> None:
        """Get tokens: the sandbox's for the load, the operator's for setting up."""
        async with grpc.aio.insecure_channel(self.stack.address_of("gateway")) as channel:
            issue = IdentityServiceStub(channel).IssueServiceToken
            answers = []
            for name in ("sandbox", "operator"):
                client, secret = self.stack.client_credentials(name)
                answers.append(await issue(IssueServiceTokenRequest(client_id=client, client_secret=secret)))
        self.token = answers[0].tokens.access_token
        self.operator = [("authorization", f"Bearer {answers[1].tokens.access_token}")]

    async def call(self, method: str, request: Any) -> Any:
        """A call by the operator."""
        return await getattr(self.stub, method)(request, metadata=self.operator, timeout=60)

    async def fund(self) -> None:
        """House accounts with chips."""
        for index in range(ACCOUNTS):
            account = f"house/bench-{index}/play"
            await self.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=f"open-{index}", account=account))
            grant = pb.GrantRequest(request_id=f"fund-{index}", account=account, amount=10**9, reason="bench")
            await self.call("Grant", grant)

    async def pgbench(self) -> None:
        """The reference: pgbench's standard transaction at 32 clients."""
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
        program = shutil.which("pgbench") or str(found[-1])
        url = await self.stack.postgres.create_database("reference")
        await _output(program, "-i", "-s", "32", "-q", url)
        text = await _output(program, "-c", "32", "-j", "2", "-T", str(int(self.seconds)), url)
        self.reference = float(re.findall(r"tps = ([\d.]+)", text)[0])
        print(f"{'pgbench TPC-B, 32 clients':48} {self.reference:9.0f} /s   (the reference)")

    async def load(self, title: str, kind: str, clients: int, goal: float, *, times: int = 1, rate: float = 0) -> float:
        """Run one kind of load and print it beside its goal."""
        args = [self.address, self.token, kind, str(clients), str(self.seconds), str(rate)]
        got = json.loads(await _output(sys.executable, "-m", "tests.bench.wallet_load", *args))
        per_second = got["per_second"] * times
        verdict = "goal p99 30 ms" if rate else f"{per_second / self.reference:5.2f} x, goal {goal:4.2f} x"
        latency = f"p50 {got['p50_ms']:.1f} ms, p99 {got['p99_ms']:.1f} ms"
        print(f"{title:48} {per_second:9.0f} /s   {latency}   {verdict} {int(got['failed']) or ''}")
        return float(per_second)

    async def settlements(self) -> None:
        """Hands from the queue: publish with the wallet stalled, wake it, time the drain."""
        tables = [(str(uuid.uuid4()), [str(uuid.uuid4()) for _ in range(SEATS)]) for _ in range(TABLES)]
        for table, players in tables:
            for player in players:
                play = f"player/{player}/play"
                hold = await self.call("PlaceHold", pb.PlaceHoldRequest(request_id=player, account=play, amount=5000))
                post = pb.PostHoldRequest(request_id=f"{player}/post", hold_id=hold.hold.hold_id)
                post.to_account = f"escrow/{table}/{player}"
                await self.call("PostHold", post)
        bus = EventBus(self.stack.rabbitmq.url, "bench")
        await bus.start()
        await bus.wait_connected()
        self.stack.processes["wallet"].stop()
        messages = [_hand(table, players, n) for n in range(1, HANDS_PER_TABLE + 1) for table, players in tables]
        for start in range(0, len(messages), 500):
            await bus.publish(messages[start : start + 500], timeout_seconds=30)
        await bus.stop()
        began = time.perf_counter()
        self.stack.processes["wallet"].cont()
        pool = await asyncpg.connect(self.stack.database_url("wallet"))
        # The wallet is another process; its database is where to look.
        while await pool.fetchval("select count(*) from settlements") < len(messages):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        took = time.perf_counter() - began
        await pool.close()
        print(f"{'settlements from the queue':48} {len(messages) / took:9.0f} /s   goal 2000 /s")

    async def long_account(self) -> None:
        """A statement page and a past balance over an account of a million entries."""
        names = ["house/long/play", "house/bench-0/play"]
        await self.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id="long", account=names[0]))
        connection = await asyncpg.connect(self.stack.database_url("wallet"))
        ids = [await connection.fetchval("select id from accounts where name = $1", name) for name in names]
        start = datetime.now(UTC) + timedelta(hours=1)
        chunk = 20_000
        for index in range(LONG // chunk):
            posting = await connection.fetchval("select nextval('posting_ids')")
            at = start + timedelta(seconds=index * chunk)
            await connection.execute(FILL_LONG, posting, chunk, *ids, at, timeout=120)
        await connection.close()

        async def page(number: int) -> None:
            begin = start + timedelta(seconds=number * 7919 % LONG)
            request = pb.ListAccountEntriesRequest(account=names[0], page_size=50)
            request.end_time.FromDatetime(begin)
            await self.call("ListAccountEntries", request)

        async def past(number: int) -> None:
            request = pb.GetAccountRequest(account=names[0])
            request.at_time.FromDatetime(start + timedelta(seconds=number * 7919 % LONG))
            await self.call("GetAccount", request)

        await _timed("a statement page of a million entries", page)
        await _timed("a past balance of a million entries", past)
        for title, first in (("audit of everything", True), ("audit of what is new", False)):
            report = await self.call("RunAudit", pb.RunAuditRequest(from_start=first))
            checked = next(check.checked for check in report.checks if check.name == "versions")
            print(f"{title:48} {report.duration_ms:9d} ms   {checked} entries, passed {report.passed}")


async def _timed(title: str, call: Callable[[int], Awaitable[None]]) -> None:
    times = []
    for number in range(READS):
        began = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    print(f"{title:48} p50 {times[READS // 2]:.1f} ms, p99 {times[int(READS * 0.99)]:.1f} ms   goal p99 10 ms")


def _hand(table: str, players: list[str], number: int) -> Message:
    event = events_pb2.HandSettled(table_id=table, hand_number=number, currency="PLAY")
    for seat, player in enumerate(players):
        won = 10 * (SEATS - 1) if seat == number % SEATS else -10
        event.deltas.add(player_id=player, delta=won, stack=5000)
    return Message(f"table.settled.{table}", "cardroom.events.v1.HandSettled", event.SerializeToString())


async def _output(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    return out.decode()


async def main(seconds: float) -> None:
    """Measure everything, one after the other."""
    limits = {"CARDROOM_WALLET_AUDIT_SECONDS": "0"}
    options = StackOptions(services=("gateway", "wallet"), edge=False, env={"wallet": limits})
    async with Stack(options, progress=Progress()) as stack:
        bench = Bench(stack, seconds)
        await bench.sign_in()
        await bench.fund()
        await bench.pgbench()
        single = await bench.load("single transfers, 32 clients", "single", 32, 0.5)
        await bench.load("single transfers at half the goal's load", "single", 32, 0, rate=bench.reference / 4)
        await bench.load("single transfers at half of what was reached", "single", 32, 0, rate=single / 2)
        await bench.load("linked transfers, batches of 50, 32 clients", "linked", 32, 3, times=50)
        await bench.load("one hot account, 50 clients", "hot", 50, 0.4)
        await bench.settlements()
        await bench.long_account()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0))
