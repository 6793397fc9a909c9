"""What 500 tables cost that are open and idle: CPU of each process over 30 s, against the same stack without tables."""

from __future__ import annotations

import argparse
import asyncio
import time

from cardroom.client import Client
from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.plan import SERVICES
from tests.bench._load import STAKES
from tests.bench._measures import Moment, cpu_lines, cpu_share, names_of, sample


async def main(options: argparse.Namespace) -> None:
    """Measures the empty stack, opens the tables, measures again."""
    async with Stack(
        StackOptions(services=tuple(options.services.split(",")), log_level="warning"), progress=Progress()
    ) as stack:
        names = await names_of(stack)
        print(f"without tables, over {options.seconds:g} s:")
        empty = await _watch(names, options)
        async with Client.connect(stack.edge_grpc) as client:
            operator = client.service(*stack.client_credentials("operator"))
            begun = time.monotonic()
            for number in range(options.tables):
                await operator.create_table(f"Idle {number + 1}", STAKES)
            print(f"opened {options.tables} tables in {time.monotonic() - begun:.1f} s")
        print(f"with {options.tables} idle tables, over {options.seconds:g} s:")
        full = await _watch(names, options)
        cost = {name: cpu_share(*full, name) - cpu_share(*empty, name) for name in full[1].used}
        dearest = max(cost, key=lambda name: cost[name])
        print(
            f"{options.tables} idle tables cost {sum(cost.values()):.1%} of a core, "
            f"most of it {dearest} ({cost[dearest]:.1%})"
        )


async def _watch(names: dict[int, str], options: argparse.Namespace) -> tuple[Moment, Moment]:
    await asyncio.sleep(options.settle_seconds)
    before = sample(names)
    await asyncio.sleep(options.seconds)
    after = sample(names)
    print("\n".join(cpu_lines(before, after)), flush=True)
    return before, after


if __name__ == "__main__":
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--tables", type=int, default=500)
    command.add_argument("--seconds", type=float, default=30.0)
    command.add_argument("--settle-seconds", type=float, default=5.0)
    command.add_argument("--services", default=",".join(SERVICES))
    asyncio.run(main(command.parse_args()))
