"""The wallet's load, in a process of its own: closed-loop clients that call one method as fast as it answers.

They share one connection and write their HTTP/2 frames themselves (`_wire.py`): a client's work is not the wallet's.
Run by `wallet.py`; prints one JSON line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import uvloop

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from tests.bench._wire import CallFailed, Wire, block

SERVICE = "/cardroom.wallet.v1.LedgerService"
ACCOUNTS = 400
ANSWER_SECONDS = 30


@dataclass
class Load:
    """What was asked for, and how long each call took."""

    address: str
    token: str
    kind: str
    clients: int
    seconds: float
    rate: float
    times: list[float] = field(default_factory=list)
    failed: int = 0

    def request(self, number: int) -> tuple[str, bytes]:
        """The next call's method and request."""
        if self.kind == "linked":
            steps = [self.step(number * 50 + index) for index in range(50)]
            linked = pb.CreateLinkedTransfersRequest(request_id=str(uuid.uuid4()), instructions=steps)
            return "CreateLinkedTransfers", linked.SerializeToString()
        single = pb.CreateTransferRequest(request_id=str(uuid.uuid4()), instruction=self.step(number))
        return "CreateTransfer", single.SerializeToString()

    def step(self, number: int) -> pb.TransferInstruction:
        """One movement: between spread accounts, or from one that everyone uses."""
        debit = 0 if self.kind == "hot" else number * 7919 % ACCOUNTS
        credit = (debit + 1 + number % (ACCOUNTS - 1)) % ACCOUNTS
        return pb.TransferInstruction(
            debit_account=f"house/bench-{debit}/play", credit_account=f"house/bench-{credit}/play", amount=1
        )


async def client(load: Load, call: Callable[[int], Awaitable[object]], first: int, until: float) -> None:
    """One client: the next call when the last is answered, or at its time when a rate is asked for."""
    number = first
    pause = load.clients / load.rate if load.rate else 0.0
    due = time.perf_counter() + pause * first / load.clients
    while (now := time.perf_counter()) < until:
        if pause:
            await asyncio.sleep(max(0.0, due - now))
            due += pause
        began = time.perf_counter()
        try:
            await call(number)
            load.times.append(time.perf_counter() - began)
        except CallFailed:
            load.failed += 1
        number += load.clients


async def run(load: Load) -> dict[str, float]:
    """Call until the time is up; return what came of it."""
    wire = await Wire.connect(load.address)
    authorization = (("authorization", f"Bearer {load.token}"),)
    headers = {name: block(f"{SERVICE}/{name}", authorization) for name in ("CreateTransfer", "CreateLinkedTransfers")}

    async def call(number: int) -> None:
        method, request = load.request(number)
        answered: asyncio.Future[CallFailed | None] = asyncio.get_running_loop().create_future()
        wire.call(headers[method], request, lambda _message: None, answered.set_result)
        failed = await answered
        if failed is not None:
            raise failed

    async with asyncio.timeout(load.seconds + ANSWER_SECONDS):
        await call(10**6)
        began = time.perf_counter()
        until = began + load.seconds
        await asyncio.gather(*(client(load, call, index, until) for index in range(load.clients)))
        took = time.perf_counter() - began
    wire.close()
    times = sorted(load.times)
    return {
        "per_second": len(times) / took,
        "failed": load.failed,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[int(len(times) * 0.99)] * 1000,
    }


if __name__ == "__main__":
    address, token, kind, clients, seconds, rate = sys.argv[1:]
    print(json.dumps(uvloop.run(run(Load(address, token, kind, int(clients), float(seconds), float(rate))))))
