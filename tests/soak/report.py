"""What a soak has found, as text, and whether it is good."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.soak.faults import Fault
from tests.soak.readings import Played, quantile, worst

FAILURES_SHOWN: Final = 30
ERRORS_SHOWN: Final = 20
# Reasons that a room in order never gives, whatever is restarted.
FAULTY: Final = ("INTERNAL", "UNKNOWN", "DATA_LOSS", "UNIMPLEMENTED", "TABLE_STOPPED", "a gap between versions")


@dataclass(slots=True)
class Soak:
    """Everything that was measured."""

    options: argparse.Namespace
    minutes: float = 0.0
    calm_seconds: float = 0.0
    last: Mapping[str, Any] = field(default_factory=dict)
    played: Played = field(default_factory=lambda: Played(0, 0))
    faults: Sequence[Fault] = ()
    stop_seconds: Sequence[float] = ()
    clock_down_seconds: float = 0.0
    """In the storm, from each of its ends until it was ready again."""
    storm_lateness: Mapping[float, float] = field(default_factory=dict)
    lateness: Mapping[float, float] = field(default_factory=dict)
    memory: list[Mapping[str, float]] = field(default_factory=list)
    """MB of each process: when everybody was seated, at the beginning of the last peace, at its end."""
    quiet: Sequence[str] = ()
    """Tables at which nothing happened although two would play."""
    stopped_tables: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    audit_code: int = -1

    def wrong(self) -> Iterator[str]:
        """What must not be."""
        if self.audit_code != 0:
            yield f"cardroom audit ended with {self.audit_code}"
        if stuck := self.last["guests"] - self.last["home"]:
            yield f"{stuck} guests are stuck: " + "; ".join(self.last["stuck"])
        elif self.last["chips"] != self.last["granted"]:
            yield f"the guests have {self.last['chips']:,} chips, and were given {self.last['granted']:,}"
        if self.quiet:
            yield f"{len(self.quiet)} tables fell silent: {', '.join(self.quiet[:5])}"
        if self.stopped_tables:
            yield f"{self.stopped_tables} tables have stopped"
        if void := self.played.commands.get("void_hand", 0):
            yield f"{void} hands were void"
        for failure, count in self.last["failures"].items():
            if failure.startswith(FAULTY):
                yield f"{count} times a guest was told {failure}"

    def verdict(self) -> bool:
        """Whether all is well."""
        return not list(self.wrong())


def lines(soak: Soak) -> Iterator[str]:
    """The report."""
    played, options = soak.played, soak.options
    seconds = max(1.0, 60 * soak.minutes)
    yield f"\n## Soak: {soak.minutes:.1f} minutes, {options.tables} tables, {options.players} guests at a time\n"
    yield f"hands          {played.hands:,} ({played.hands / seconds:.1f}/s)"
    yield f"actions        {played.actions:,} ({played.actions / seconds:.1f}/s)"
    yield f"timeouts       {played.commands.get('end_turn', 0):,}"
    yield f"lost and found {played.commands.get('set_connected', 0):,} connections that came or went"
    yield f"absences       judged {played.commands.get('judge_absence', 0):,} times"
    yield f"top-ups        {played.top_ups:,}, of {played.topped_up:,} chips"
    yield f"takeovers      {played.commands.get('take_over', 0):,} tables; turns begun anew for want of a clock: " + (
        f"{played.commands.get('restart_turn', 0):,}"
    )
    yield f"               {soak.last['moves']:,} streams ended as their table moved, and went on with a new snapshot"
    yield from _faults(soak)
    down = f"the clock itself was down for {soak.clock_down_seconds:.1f} s of it"
    yield f"clock lateness {_lateness(soak.storm_lateness)}, through the storm ({down})"
    yield f"               {_lateness(soak.lateness)}, in the peace after it"
    yield from _memory(soak)
    yield from _counted("failed calls, by reason", Counter(soak.last["failures"]), FAILURES_SHOWN)
    yield from _counted("error lines in the logs", soak.errors, ERRORS_SHOWN)
    guests, home, chips, granted = (soak.last[name] for name in ("guests", "home", "chips", "granted"))
    yield f"guests         {guests:,}, {home:,} of them home with {chips:,} of {granted:,} chips"
    wrong = list(soak.wrong())
    yield from (f"✗ {one}" for one in wrong)
    if not wrong:
        yield "✓ the audit holds, everybody has every chip back, no table stopped or fell silent"


def _faults(soak: Soak) -> Iterator[str]:
    counts = Counter(str(fault) for fault in soak.faults)
    each = ", ".join(f"{what} {count}x" for what, count in sorted(counts.items()))
    yield f"ended          {len(soak.faults)} processes: {each}"
    if soak.stop_seconds:
        yield f"               whoever was asked to stop took at most {max(soak.stop_seconds):.1f} s"


def _lateness(buckets: Mapping[float, float]) -> str:
    count = max(buckets.values(), default=0.0)
    if not count:
        return "no timer fired"
    bound = worst(buckets)
    at_most = "over 30 s" if math.isinf(bound) else f"at most {bound:g} s"
    return f"p99 {quantile(buckets, 0.99) * 1e3:.0f} ms, worst {at_most} ({count:,.0f} timers)"


def _memory(soak: Soak) -> Iterator[str]:
    start, calm, end = soak.memory
    minutes = soak.calm_seconds / 60
    yield f"memory         MB when all were seated, and after the storm → {minutes:.1f} minutes later"
    for name in sorted(end):
        first, then, now = start.get(name, 0.0), calm.get(name, 0.0), end[name]
        yield f"  {name:<12} {first:7.1f}   {then:7.1f} → {now:7.1f}  ({now - then:+.1f})"


def _counted(title: str, counts: Counter[str], most: int) -> Iterator[str]:
    yield f"{title}: {'none' if not counts else f'{sum(counts.values()):,}'}"
    for what, count in counts.most_common(most):
        yield f"  {count:7,}  {what}"
    if len(counts) > most:
        yield f"  and {len(counts) - most} kinds more"
