"""What the measurements share: percentiles, CPU time by process, and what else the machine was doing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_BROKER_NAMES = {"beam.smp": "rabbitmq", "postgres": "postgres"}


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
class Moment:
    """CPU seconds used so far, by name; `busy` is the whole machine's."""

    at: float
    used: Mapping[str, float]
    busy: float


def sample(names: Mapping[int, str]) -> Moment:
    """CPU time of the named processes and their children, and of Postgres and RabbitMQ wherever they run.

    Where Postgres and RabbitMQ are containers they are no children of ours, so they are found by their programs' names.
    """
    used: dict[str, float] = {}
    owners: dict[int, str] = dict(names)
    stats = _processes()
    for pid in sorted(stats):
        parent, program, seconds = stats[pid]
        name = owners.get(pid) or owners.get(parent) or _BROKER_NAMES.get(program)
        if name is not None:
            owners[pid] = name
            used[name] = used.get(name, 0.0) + seconds
    return Moment(time.monotonic(), used, _busy_seconds())


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


def _processes() -> dict[int, tuple[int, str, float]]:
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
        found[int(folder.name)] = (int(fields[1]), program, (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND)
    return found


def _busy_seconds() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _TICKS_PER_SECOND
