"""What the measurements share: percentiles, CPU time by process, and what else the machine was doing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def sample(names: Mapping[int, str]) -> Moment:
    """CPU time of the named processes with their children, and of the run's Postgres and RabbitMQ."""
    stats = _processes()
    owners: dict[int, str] = dict(names) | _servers(stats)
    used: dict[str, float] = {}
    for pid in sorted(stats):
        name = owners.get(pid) or owners.get(stats[pid].parent)
        if name is not None:
            owners[pid] = name
            used[name] = used.get(name, 0.0) + stats[pid].seconds
    return Moment(time.monotonic(), used, _busy_seconds())


def _servers(stats: Mapping[int, _Process]) -> dict[int, str]:
    """Postgres and RabbitMQ: our own children; in containers they are not, and then every one on the machine counts."""
    found = {pid: _SERVERS[process.program] for pid, process in stats.items() if process.program in _SERVERS}
    ours = {pid: name for pid, name in found.items() if _is_ours(pid, stats)}
    return ours or found


def _is_ours(pid: int, stats: Mapping[int, _Process]) -> bool:
    while pid in stats and pid != os.getpid():
        pid = stats[pid].parent
    return pid == os.getpid()


def cpu_lines(before: Moment, after: Moment) -> list[str]:
    """Percent of one core, by name, most first; what is left belongs to others on the machine."""
    span = after.at - before.at
    shares = {name: (seconds - before.used.get(name, 0.0)) / span for name, seconds in after.used.items()}
    others = max(0.0, (after.busy - before.busy) / span - sum(shares.values()))
    lines = [f"  {name:<12} {share:7.1%} of a core" for name, share in sorted(shares.items(), key=lambda one: -one[1])]
    total = sum(shares.values())
    cores = os.cpu_count() or 1
    lines.append(f"  {'together':<12} {total:7.1%} of {cores} cores; others on this machine {others:.1%}")
    return lines


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
