"""Actions through the gateway to the committed answer: latency at 100 a second, and the most that is sustained.

The whole stack runs on this machine, with durable commits and two table replicas. The players are a process of their
own (`_load.py`). The pauses between hands are shortened, so that fewer tables make the same number of actions: the
report says to what. It is done for tables of six and again for heads-up tables: an action is told to fewer there, but
a hand, with its deal and its settlement, ends after a few actions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.plan import SERVICES
from tests.bench import _load, _reference
from tests.bench._measures import Moment, cpu_lines, latency_line, names_of, percentile, sample

REFERENCE_SECONDS = 5.0
# A phase's latencies come as one line.
_LINE_BYTES_MAX = 64 * 1024 * 1024


async def main(options: argparse.Namespace) -> None:
    """Measures tables of each size, each with a stack of its own."""
    for size in options.sizes.split(","):
        tables, _, seats = size.partition("x")
        chosen = argparse.Namespace(**vars(options) | {"tables": int(tables), "seats": int(seats)})
        name = {2: "heads-up: "}.get(chosen.seats, "")
        print(f"\n### {name}{tables} tables of {seats}\n", flush=True)
        await _size(chosen)


async def _size(options: argparse.Namespace) -> None:
    """Brings the stack up, measures the references, then the phases."""
    pause = str(options.pause_ms)
    pauses = {"CARDROOM_TABLE_PAUSE_MS": pause, "CARDROOM_TABLE_SHOWDOWN_PAUSE_MS": pause}
    stack_options = StackOptions(
        table_replicas=options.table_replicas,
        services=tuple(options.services.split(",")),
        env={"table": pauses},
        log_level="warning",
    )
    async with Stack(stack_options, progress=Progress()) as stack:
        print(
            f"{options.tables} tables of {options.seats}, {options.connections} connections, "
            f"{options.table_replicas} table replicas, pauses between hands {pause} ms; "
            f"load average before {os.getloadavg()[0]:.1f}"
        )
        writers = min(options.tables, 32)
        rate = await _reference.commits_per_second(stack.database_url("table"), writers, REFERENCE_SECONDS)
        print(f"reference: {rate:,.0f} durable single-row commits/s by {writers} connections on the same Postgres")
        echoes = await _reference.echo_latencies(Path(stack.folder), options.rate, REFERENCE_SECONDS)
        print(f"reference: bare grpc.aio echo through Envoy at {options.rate:g}/s: {latency_line(echoes)}")
        await _measure(stack, options, rate, percentile(echoes, 0.5))


async def _measure(stack: Stack, options: argparse.Namespace, commits: float, echo_p50: float) -> None:
    client_id, secret = stack.client_credentials("operator")
    orders = ["--edge", stack.edge_grpc, "--operator", client_id]
    for name in ("tables", "seats", "connections", "rate", "seconds", "phases", "warm_seconds"):
        orders += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    pipe = asyncio.subprocess.PIPE
    load = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench._load", *orders, stdin=pipe, stdout=pipe, limit=_LINE_BYTES_MAX
    )
    names = await names_of(stack) | {load.pid: "load client"}
    assert load.stdin is not None
    assert load.stdout is not None
    try:
        load.stdin.write(f"{secret}\n".encode())
        before = sample(names)
        while line := await load.stdout.readline():
            now, fact = sample(names), json.loads(line)
            if fact["phase"] == "seated":
                print(f"seated {fact['players']} players in {fact['seconds']:.1f} s", flush=True)
            elif not fact["begins"]:
                _report(fact, before, now, options, commits, echo_p50)
            before = now
        if await load.wait():
            raise SystemExit(f"the load client ended with {load.returncode}")
    finally:
        if load.returncode is None:
            load.kill()
            await load.wait()


def _report(
    fact: dict[str, Any], before: Moment, after: Moment, options: argparse.Namespace, commits: float, echo_p50: float
) -> None:
    latencies = fact["latencies"]
    rate = len(latencies) / fact["seconds"]
    if fact["phase"] == "open":
        print(f"\nopen loop, {options.rate:g} actions/s for {fact['seconds']:.0f} s: {latency_line(latencies)}")
        ratio = percentile(latencies, 0.5) / echo_p50
        print(f"  p50 is {ratio:.1f} times the echo's; {fact['starved']} ticks of the schedule found no turn")
    else:
        print(f"\nclosed loop for {fact['seconds']:.0f} s: {rate:,.0f} actions/s; {latency_line(latencies)}")
        print(f"  {rate / commits:.2f} times the reference's commits/s")
    if fact["refused"]:
        print(f"  refused: {fact['refused']}")
    print("\n".join(cpu_lines(before, after, len(latencies))), flush=True)


if __name__ == "__main__":
    command = _load.parser()
    command.add_argument("--table-replicas", type=int, default=2)
    command.add_argument("--pause-ms", type=int, default=250)
    command.add_argument("--sizes", default="48x6,96x2", help="tables x seats, one measurement each")
    for action in command._actions:
        if action.dest == "edge":
            action.required = False
    command.add_argument("--services", default=",".join(SERVICES))
    asyncio.run(main(command.parse_args()))
