"""What is done to the room while the crowd plays: each process in turn is stopped or killed, and started again."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cardroom.local import Stack
from cardroom.local.services import Service

OTHERS: Final = ("wallet", "clock", "lobby", "gateway", "spectator")
DOWN_SECONDS: Final = (0.0, 3.0)


@dataclass(frozen=True, slots=True)
class Fault:
    """One process, and whether it is asked to stop (SIGTERM) or killed (SIGKILL)."""

    name: str
    is_killed: bool

    def __str__(self) -> str:
        return f"{self.name} {'killed' if self.is_killed else 'stopped'}"


def in_turn(replicas: Sequence[str]) -> Iterator[Fault]:
    """Table replicas and the other services alternate for ever; each is stopped one time and killed the next."""
    for number in itertools.count():
        for names in (replicas, OTHERS):
            times, place = divmod(number, len(names))
            # Of two neighbours in the order one begins with a stop, the other with a kill.
            yield Fault(names[place], (place + times) % 2 == 1)


class Faults:
    """Makes them, one at a time."""

    def __init__(
        self, stack: Stack, say: Callable[[str], None], before: Callable[[], Awaitable[None]], rng: random.Random
    ) -> None:
        self._stack = stack
        self._say = say
        self._before = before
        self._rng = rng
        self._order = in_turn(sorted(name for name in stack.processes if name.startswith("table-")))
        self.made: list[Fault] = []
        self.stop_seconds: list[float] = []
        """How long each process took that was asked to stop."""
        self.down_seconds: defaultdict[str, float] = defaultdict(float)
        """How long each was not ready in all."""

    async def run(self, seconds: float, every_seconds: float) -> None:
        """Make faults for so long, and see the last one mended."""
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            await self._make(next(self._order))
            await asyncio.sleep(max(1.0, began + every_seconds - time.monotonic()))

    async def _make(self, fault: Fault) -> None:
        process = self._stack.processes[fault.name]
        await self._before()
        ended = time.monotonic()
        how = await self._end(process, fault)
        process.start()
        began = time.monotonic()
        await process.until_ready()
        self.made.append(fault)
        self.down_seconds[fault.name] += time.monotonic() - ended
        self._say(f"  ! {fault} {how}; ready again {time.monotonic() - began:.1f} s after its start")

    async def _end(self, process: Service, fault: Fault) -> str:
        if fault.is_killed:
            down = self._rng.uniform(*DOWN_SECONDS)
            process.kill()
            await asyncio.sleep(down)
            return f"and left down for {down:.1f} s"
        began = time.monotonic()
        code = await process.terminate()
        self.stop_seconds.append(time.monotonic() - began)
        return f"within {self.stop_seconds[-1]:.1f} s (exit code {code})"
