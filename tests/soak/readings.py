"""What is read of a running room from outside: its log, the clock's own metrics, memory, error logs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg

from cardroom.contracts.table.v1.storage_pb2 import LoggedCommand
from cardroom.local import Stack
from tests.bench._measures import names_of, processes_of

HANDS: Final = "select count(*) from hands where last_version is not null"
ACTIONS: Final = "select count(*) from table_log where action_number is not null"
OTHER_COMMANDS: Final = "select command from table_log where action_number is null"
TOP_UPS: Final = "select count(*), coalesce(sum(added), 0)::bigint from top_ups where added > 0"
LATENESS: Final = "cardroom_clock_lateness_seconds_bucket"
_SHOWN: Final = ("end_turn", "take_over", "restart_turn", "void_hand", "judge_absence", "set_connected")


@dataclass(frozen=True, slots=True)
class Played:
    """What the tables' log says."""

    hands: int
    actions: int
    top_ups: int = 0
    topped_up: int = 0
    commands: Mapping[str, int] = field(default_factory=dict)
    """How many of each other command, by its name in the log."""


async def played_so_far(database: asyncpg.Connection[asyncpg.Record]) -> Played:
    """Hands and actions."""
    return Played(await database.fetchval(HANDS), await database.fetchval(ACTIONS))


async def played(database: asyncpg.Connection[asyncpg.Record]) -> Played:
    """All of it."""
    so_far = await played_so_far(database)
    top_ups = await database.fetchrow(TOP_UPS)
    assert top_ups is not None
    kinds: Counter[str] = Counter()
    async with database.transaction():
        async for row in database.cursor(OTHER_COMMANDS, prefetch=1000):
            kinds[str(LoggedCommand.FromString(row["command"]).WhichOneof("command"))] += 1
    commands = {kind: kinds[kind] for kind in _SHOWN}
    return Played(so_far.hands, so_far.actions, top_ups[0], top_ups[1], commands)


class Lateness:
    """The clock's histogram of how late it was, over all the lives of its process."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._lives: dict[int, dict[float, float]] = {}
        self._before: dict[float, float] = {}

    async def read(self) -> None:
        """Keep what the running clock says; to be called before it is ended, and at the end."""
        clock = self._stack.processes["clock"]
        if clock.running and await clock.ready():
            self._lives[clock.pid] = buckets_of(await clock.metrics())

    async def begin(self) -> None:
        """Count from now on only."""
        await self.read()
        self._before = self._sum()

    def buckets(self) -> dict[float, float]:
        """How many were at most so many seconds late."""
        return {bound: count - self._before.get(bound, 0.0) for bound, count in self._sum().items()}

    def _sum(self) -> dict[float, float]:
        total: Counter[float] = Counter()
        for life in self._lives.values():
            total.update(life)
        return dict(total)


def buckets_of(metrics: str) -> dict[float, float]:
    """The clock's histogram, out of what it shows Prometheus."""
    found = {}
    for line in metrics.splitlines():
        if line.startswith(LATENESS):
            bound, _, count = line.partition('le="')[2].partition('"} ')
            found[math.inf if bound == "+Inf" else float(bound)] = float(count)
    return found


def quantile(buckets: Mapping[float, float], part: float) -> float:
    """The value that `part` of a histogram's samples do not exceed, reckoned as Prometheus does."""
    total = max(buckets.values(), default=0.0)
    lower, below = 0.0, 0.0
    for bound, count in sorted(buckets.items()):
        if total and count >= part * total:
            if math.isinf(bound) or count == below:
                return lower
            return lower + (bound - lower) * (part * total - below) / (count - below)
        lower, below = bound, count
    return math.nan


def worst(buckets: Mapping[float, float]) -> float:
    """The bound of the highest bucket that is not empty; infinite beyond the last bound."""
    total = max(buckets.values(), default=0.0)
    return next((bound for bound, count in sorted(buckets.items()) if count >= total), math.nan) if total else math.nan


async def memory(stack: Stack) -> dict[str, float]:
    """MB of each process with all that it has started; what they share is divided among them."""
    names = await names_of(stack)
    used: Counter[str] = Counter()
    for pid, name in processes_of(names).items():
        used[name] += _proportional_kb(pid)
    return {name: kb / 1024 for name, kb in used.items()}


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended meanwhile
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def errors_logged(logs: Path) -> Counter[str]:
    """The error lines of all logs: by process and event."""
    found: Counter[str] = Counter()
    for path in sorted(logs.glob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            if '"level":"error"' in line.replace(" ", ""):
                found[f"{path.stem}: {_event(line)}"] += 1
            elif line.startswith("Traceback"):
                found[f"{path.stem}: a bare traceback"] += 1
    return found


def _event(line: str) -> str:
    try:
        fact = json.loads(line)
    except ValueError:
        return line[:120]
    return str(fact.get("event") or fact.get("message") or line[:120])


async def stopped_tables(stack: Stack) -> int:
    """Tables that stand still since their owner's start, by the replicas' own count."""
    stopped = 0.0
    for name, process in stack.processes.items():
        if name.startswith("table-"):
            for line in (await process.metrics()).splitlines():
                if line.startswith("cardroom_table_stopped_total "):
                    stopped += float(line.split()[1])
    return int(stopped)
