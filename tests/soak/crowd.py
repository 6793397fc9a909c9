"""The crowd, in a process of its own: hundreds of scripted guests at many tables, until it is told to go home.

Reads its orders from the command line, the operator's secret and then the word `home` on standard input. Prints one
JSON object a second, and a last one when everybody is home or the time for that is over.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from typing import Any, Final

import uvloop

from cardroom.client import CallPolicy, CardroomError, Client
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Stakes
from tests.bench._line import Failures, Line
from tests.soak.guest import Guest, Manners

SEATS: Final = 6
BIG_BLIND: Final = 10
LINES: Final = 16
GRANT: Final = 10_000
STUCK_SHOWN: Final = 20
# A turn may last for the base time and a full bank, and nothing is told while a bank runs.
QUIET_SECONDS: Final = 60.0


class Crowd:
    """Everybody, and what they share."""

    buy_in = 400

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.manners = Manners(think=tuple(options.think))
        self.failures = Failures()
        self.closing = asyncio.Event()
        self.door = asyncio.Semaphore(32)
        """So many may sit down at the same time: nobody opens a room for 640 people in one second."""
        self.patience_seconds = options.patience
        self.clients = [Client.connect(options.edge, policy=CallPolicy(attempt_seconds=15.0)) for _ in range(4)]
        self.lines = [Line(options.edge) for _ in range(LINES)]
        self.guests: list[Guest] = []
        self._rng = random.Random(options.seed)
        self._tables: dict[str, set[Guest]] = {}
        self._numbers = iter(range(1, 1_000_000))

    # What guests ask

    @property
    def is_closing(self) -> bool:
        """Whether it is time to go home."""
        return self.closing.is_set()

    def choose(self, rng: random.Random) -> str:
        """A table to try: of two, the emptier one."""
        return min(rng.sample(sorted(self._tables), 2), key=lambda table_id: len(self._tables[table_id]))

    def arrived(self, guest: Guest, table_id: str) -> None:
        """A guest sits at a table."""
        self._tables[table_id].add(guest)

    def went(self, guest: Guest, table_id: str) -> None:
        """A guest sits there no more."""
        self._tables[table_id].discard(guest)

    def note(self, failure: Exception) -> None:
        """Something that a guest could not go on from."""
        self.failures.add("a guest", type(failure).__name__)

    # A soak

    async def open_tables(self, secret: str) -> None:
        """Open all tables."""
        operator = self.clients[0].service(self.options.operator, secret)
        stakes = Stakes(
            game=GAME_NO_LIMIT_HOLDEM,
            small_blind=BIG_BLIND // 2,
            big_blind=BIG_BLIND,
            min_buy_in=20 * BIG_BLIND,
            max_buy_in=100 * BIG_BLIND,
            seats=SEATS,
        )
        gate = asyncio.Semaphore(8)

        async def open_one(number: int) -> None:
            async with gate:
                table = await operator.create_table(f"Soak {number}", stakes)
            self._tables[table.table_id] = set()

        await asyncio.gather(*(open_one(number) for number in range(1, self.options.tables + 1)))

    async def live(self, place: int, gate: asyncio.Semaphore) -> None:
        """Somebody is always in this place: who is broke is followed by somebody new."""
        while not self.is_closing:
            number = next(self._numbers)
            try:
                async with gate:
                    player = await self.clients[place % len(self.clients)].sign_in_as_guest(f"Soak {number}")
            except CardroomError as refusal:
                self.failures.add("SignInAsGuest", refusal.reason)
                await asyncio.sleep(1)
                continue
            guest = Guest(self, player, self.lines[place % LINES], random.Random(self._rng.random()))
            self.guests.append(guest)
            await guest.live()

    async def drop_lines(self) -> None:
        """Now and then a whole connection breaks, with everybody on it."""
        while not self.is_closing:
            await asyncio.sleep(self.options.drop_seconds)
            self._rng.choice(self.lines).drop()

    async def tell(self) -> None:
        """A line each second."""
        while True:
            _say(self._facts())
            await asyncio.sleep(1)

    def _facts(self) -> dict[str, Any]:
        seated = [guest for guest in self.guests if guest.stream is not None]
        return {
            "guests": len(self.guests),
            "seated": len(seated),
            "up": sum(guest.stream is not None and guest.stream.is_up for guest in seated),
            "quiet": self._quiet(),
            "failures": self.failures.counts,
            "moves": self.failures.moves,
        }

    def _quiet(self) -> list[str]:
        """The tables where at least two would play and nothing has happened for too long."""
        heard: dict[str, list[float]] = defaultdict(list)
        for guest in self.guests:
            if guest.stream is not None and guest.is_playing:
                heard[guest.stream.table_id].append(guest.changed_at)
        now = time.monotonic()
        return [table for table, at in heard.items() if len(at) > 1 and now - max(at) > QUIET_SECONDS]

    async def go_home(self) -> dict[str, Any]:
        """Everybody leaves. Who is not home in time is stuck."""
        going = [asyncio.create_task(guest.go_home()) for guest in self.guests]
        await asyncio.wait(going, timeout=self.options.home_seconds)
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        stuck = [guest for guest in self.guests if not guest.is_home]
        return self._facts() | {
            "is_last": True,
            "home": len(self.guests) - len(stuck),
            "stuck": [f"{guest.player_id}: {guest.where}" for guest in stuck[:STUCK_SHOWN]],
            "chips": sum(guest.chips for guest in self.guests),
            "granted": GRANT * len(self.guests),
        }


def _say(fact: dict[str, Any]) -> None:
    print(json.dumps(fact), flush=True)


async def main(options: argparse.Namespace) -> None:
    """Fill the room, play until told to go home, go home."""
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    crowd = Crowd(options)
    await crowd.open_tables((await orders.readline()).decode().strip())
    gate = asyncio.Semaphore(16)
    lives = [asyncio.create_task(crowd.live(place, gate)) for place in range(options.players)]
    others = [asyncio.create_task(crowd.tell()), asyncio.create_task(crowd.drop_lines())]
    await orders.readline()
    crowd.closing.set()
    await asyncio.gather(*lives)
    last = await crowd.go_home()
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    _say(last)
    await asyncio.gather(*(client.close() for client in crowd.clients))


def parser() -> argparse.ArgumentParser:
    """The orders that a crowd takes."""
    orders = argparse.ArgumentParser(description=__doc__)
    orders.add_argument("--edge", required=True)
    orders.add_argument("--operator", default="operator")
    orders.add_argument("--tables", type=int, default=200)
    orders.add_argument("--players", type=int, default=640)
    orders.add_argument("--think", type=float, nargs=2, default=(0.5, 4.0))
    orders.add_argument("--patience", type=float, default=30.0, help="seconds within which who is broke is sent away")
    orders.add_argument("--drop-seconds", type=float, default=7.0)
    orders.add_argument("--home-seconds", type=float, default=120.0)
    orders.add_argument("--seed", type=int, default=1)
    return orders


if __name__ == "__main__":
    uvloop.run(main(parser().parse_args()))
