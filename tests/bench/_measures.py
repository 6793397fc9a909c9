"""What the measurements share: percentiles, CPU time by process, and what else the machine was doing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cardroom.local import Stack, engine, runs

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_SERVERS = {"beam.smp": "rabbitmq", "postgres": "postgres"}


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that is not exceeded by `part` of the values; NaN without any."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else math.nan


def latency_line(seconds: Sequence[float]) -> str:
    """p50, p90, p99 and the worst, in milliseconds."""
    parts = [f"{name} {percentile(seconds, part) * 1e3:.1f} ms" for name, part in _PARTS]
    return f"{', '.join(parts)} ({len(seconds):,} samples)"


_PARTS = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    program: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Moment:
    """CPU seconds used so far, by name; `busy` is the whole machine's."""

    at: float
    used: Mapping[str, float]
    busy: float


async def names_of(stack: Stack) -> dict[int, str]:
    """The run's processes by their ids: services, Envoy, Postgres and RabbitMQ, in containers or not."""
    names = {process.pid: name for name, process in stack.processes.items()} | {stack.edge.pid: "envoy"}
    if await engine.answers():
        label = f"label={runs.LABEL}={stack.folder.name}"
        for container in (await engine.docker("ps", "--quiet", "--filter", label)).split():
            shown = await engine.docker("inspect", "--format", "{{.State.Pid}} {{.Config.Image}}", container)
            main, image = shown.split()
            names[int(main)] = image.partition(":")[0].rpartition("/")[2]
    stats = _processes()
    for pid, process in stats.items():
        if process.program in _SERVERS and os.getpid() in _ancestors(pid, stats):
            names[pid] = _SERVERS[process.program]
    return names


def sample(names: Mapping[int, str]) -> Moment:
    """CPU time of the named processes, with all that they have started."""
    stats = _processes()
    used: dict[str, float] = {}
    for pid, name in _named(names, stats):
        used[name] = used.get(name, 0.0) + stats[pid].seconds
    return Moment(time.monotonic(), used, _busy_seconds())


def processes_of(names: Mapping[int, str]) -> dict[int, str]:
    """The named processes and all that they have started, with the same names."""
    return dict(_named(names, _processes()))


def _named(names: Mapping[int, str], stats: Mapping[int, _Process]) -> Iterator[tuple[int, str]]:
    for pid in stats:
        name = next((names[one] for one in (pid, *_ancestors(pid, stats)) if one in names), None)
        if name is not None:
            yield pid, name


def _ancestors(pid: int, stats: Mapping[int, _Process]) -> Iterator[int]:
    while pid in stats:
        pid = stats[pid].parent
        yield pid


def cpu_lines(before: Moment, after: Moment, actions: int = 0) -> list[str]:
    """Percent of one core by name, most first, and for each of `actions`; the rest belongs to others on the machine."""
    span = after.at - before.at
    shares = {name: (seconds - before.used.get(name, 0.0)) / span for name, seconds in after.used.items()}
    total = sum(shares.values())
    others = max(0.0, (after.busy - before.busy) / span - total)

    def line(name: str, share: float) -> str:
        each = f", {share * span / actions * 1e3:.2f} ms for each action" if actions else ""
        return f"  {name:<12} {share:7.1%} of a core{each}"

    lines = [line(name, share) for name, share in sorted(shares.items(), key=lambda one: -one[1])]
    return [*lines, line("together", total), f"  {'others':<12} {others:7.1%} of a core, of {os.cpu_count()} cores"]


def cpu_share(before: Moment, after: Moment, name: str) -> float:
    """The part of a core that one name used."""
    return (after.used.get(name, 0.0) - before.used.get(name, 0.0)) / (after.at - before.at)


def _processes() -> dict[int, _Process]:
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        program = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        seconds = (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
        found[int(folder.name)] = _Process(int(fields[1]), program, seconds)
    return found


def _busy_seconds() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _TICKS_PER_SECOND
