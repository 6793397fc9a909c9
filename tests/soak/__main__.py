"""The soak: `make soak MINUTES=20`. A whole card room under a lively crowd, while its processes are ended in turn.

Everybody is seated, plays in peace for a while, then through the storm: table replicas and the other services are
stopped or killed and started again, one after the other. Then there is peace again, in which memory should not grow
and no timer be late. At last everybody goes home, and `cardroom audit` proves the books.

Ends with 0 only if the audit holds, every guest has every chip back, and no table has stopped or fallen silent.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

import asyncpg
import uvloop

from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.interrupts import cancelled_by_signals
from tests.soak import readings, report
from tests.soak.crew import Crew
from tests.soak.faults import Faults
from tests.soak.report import Soak

_Answer = TypeVar("_Answer")

SEATING_SECONDS = 300.0
END_SECONDS = 420.0
TICK_SECONDS = 10.0
AUDIT_TRIES, AUDIT_PAUSE_SECONDS = 12, 5.0
# Rules 2.5, 9.1, 9.5 and 10.2 at a sped-up pace: the same things happen, only sooner.
PACE = {
    "CARDROOM_TABLE_TURN_MS": "4000",
    "CARDROOM_TABLE_PAUSE_MS": "1000",
    "CARDROOM_TABLE_SHOWDOWN_PAUSE_MS": "2000",
    "CARDROOM_TABLE_AWAY_MS": "6000",
    "CARDROOM_TABLE_SITTING_OUT_MS": "15000",
    "CARDROOM_TABLE_NO_CHIPS_MS": "10000",
}


async def main(options: argparse.Namespace) -> int:
    """Run it, within a time; the exit code."""
    stack_options = StackOptions(env={"table": PACE}, log_level="warning", keep_logs=options.keep_logs)
    with cancelled_by_signals():
        try:
            async with asyncio.timeout(60 * options.minutes + SEATING_SECONDS + END_SECONDS):
                async with Stack(stack_options, progress=Progress()) as stack:
                    return await _soak(stack, options)
        except TimeoutError:
            print("✗ the soak did not come to its end in time", flush=True)
            return 1
        except asyncio.CancelledError:
            print("✓ stopped, nothing is left behind", flush=True)
            return 130


async def _soak(stack: Stack, options: argparse.Namespace) -> int:
    soak = Soak(options)
    database = await asyncpg.connect(stack.database_url("table"))
    lateness = readings.Lateness(stack)
    faults = Faults(stack, _say, lateness.read, random.Random(options.seed))
    async with Crew(stack, options) as crew:
        try:
            await _phases(stack, soak, crew, faults, lateness, database)
            _say("… everybody goes home")
            soak.last = await crew.go_home()
            soak.played = await readings.played(database)
            await lateness.read()
            soak.lateness = lateness.buckets()
        finally:
            await database.close()
    soak.faults, soak.stop_seconds = faults.made, faults.stop_seconds
    soak.clock_down_seconds = faults.down_seconds["clock"]
    soak.errors = readings.errors_logged(stack.logs)
    soak.stopped_tables = await readings.stopped_tables(stack)
    soak.audit_code = await _audit(stack)
    print("\n".join(report.lines(soak)), flush=True)
    return 0 if soak.verdict() else 1


async def _phases(
    stack: Stack,
    soak: Soak,
    crew: Crew,
    faults: Faults,
    lateness: readings.Lateness,
    database: asyncpg.Connection[asyncpg.Record],
) -> None:
    """Peace, storm, peace."""
    options, clock = soak.options, _Ticks(crew, database)
    seconds = 60.0 * options.minutes
    await crew.until_seated(0.9, SEATING_SECONDS)
    clock.begin()
    await clock.during("peace", asyncio.sleep(0.1 * seconds))
    soak.memory.append(await readings.memory(stack))
    await clock.during("storm", faults.run(0.5 * seconds, options.fault_seconds))
    soak.storm_lateness = await _lateness_so_far(lateness)
    await clock.during("peace", asyncio.sleep(0.1 * seconds))
    # Only now: what came late because the clock was down has come.
    await lateness.begin()
    soak.calm_seconds = 0.3 * seconds
    soak.memory.append(await readings.memory(stack))
    await clock.during("peace", asyncio.sleep(soak.calm_seconds))
    soak.memory.append(await readings.memory(stack))
    soak.minutes = (time.monotonic() - clock.began) / 60
    soak.quiet = list(crew.now["quiet"])


async def _lateness_so_far(lateness: readings.Lateness) -> dict[float, float]:
    await lateness.read()
    return lateness.buckets()


class _Ticks:
    """A line every ten seconds, whatever else is going on."""

    def __init__(self, crew: Crew, database: asyncpg.Connection[asyncpg.Record]) -> None:
        self._crew = crew
        self._database = database
        self._last = readings.Played(0, 0)
        self._last_at = self.began = time.monotonic()

    def begin(self) -> None:
        """The time runs from now."""
        self._last_at = self.began = time.monotonic()

    async def during(self, phase: str, work: Awaitable[_Answer]) -> _Answer:
        """Tell how things are while `work` is done."""
        task = asyncio.ensure_future(work)
        telling = asyncio.create_task(self._tell(phase))
        try:
            done, _ = await asyncio.wait({task, telling}, return_when=asyncio.FIRST_COMPLETED)
            if task not in done:
                telling.result()
            return await task
        finally:
            for one in (task, telling):
                one.cancel()
            await asyncio.gather(task, telling, return_exceptions=True)

    async def _tell(self, phase: str) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            played, now = await readings.played_so_far(self._database), time.monotonic()
            span = now - self._last_at
            crowd = self._crew.now
            minutes, seconds = divmod(int(now - self.began), 60)
            _say(
                f"{minutes:3}:{seconds:02} {phase}: {played.hands:,} hands, {played.actions:,} actions "
                f"({(played.actions - self._last.actions) / span:.0f}/s), {crowd['seated']} seated, "
                f"{crowd['seated'] - crowd['up']} of them cut off, {sum(crowd['failures'].values()):,} failed calls"
                + (f", {len(crowd['quiet'])} tables silent" if crowd["quiet"] else "")
            )
            self._last, self._last_at = played, now


async def _audit(stack: Stack) -> int:
    """`cardroom audit` as an operator runs it, again while hands wait to be settled; its exit code."""
    name, secret = stack.client_credentials("operator")
    command = [str(Path(sys.executable).with_name("cardroom")), "audit", "--from-start", "--edge", stack.edge_grpc]
    environment = {**os.environ, "CARDROOM_CLIENT_ID": name, "CARDROOM_CLIENT_SECRET": secret}
    pipe = asyncio.subprocess.PIPE
    for _ in range(AUDIT_TRIES):
        child = await asyncio.create_subprocess_exec(*command, env=environment, stdout=pipe)
        try:
            output, _ = await child.communicate()
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode == 0:
            break
        await asyncio.sleep(AUDIT_PAUSE_SECONDS)
    _say(f"$ cardroom audit --from-start\n{output.decode().rstrip()}")
    return child.returncode or 0


def _say(line: str) -> None:
    print(line, flush=True)


def _options() -> argparse.Namespace:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--minutes", type=float, default=20.0, help="from when everybody is seated (20)")
    command.add_argument("--tables", type=int, default=200)
    command.add_argument("--players", type=int, default=640, help="guests at a time")
    command.add_argument("--think", type=float, nargs=2, default=(0.5, 4.0), metavar=("LEAST", "MOST"))
    command.add_argument("--fault-seconds", type=float, default=12.0, help="from one fault to the next")
    command.add_argument("--drop-seconds", type=float, default=7.0, help="from one broken connection to the next")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--keep-logs", action="store_true")
    return command.parse_args()


if __name__ == "__main__":
    sys.exit(uvloop.run(main(_options())))
