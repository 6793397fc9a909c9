"""The load: scripted players at many tables, in a process of their own.

Reads its orders from the command line, prints one JSON object for each phase as it begins and ends. The players share a
few connections, each keeps its own stream open, and all play by a fixed policy that looks at no card.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import uvloop

from cardroom.client import CallPolicy, Client, ServiceClient, call, check, fold, raise_to
from cardroom.client.owner import OWNER, PASSED_ON
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest, PlayRequest, PlayResponse
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, LegalActions, Stakes, TurnView
from tests.bench._wire import CallFailed, Headers, Wire, block

STAKES = Stakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=5, big_blind=10, min_buy_in=1000, max_buy_in=10_000, seats=6)


@dataclass(slots=True)
class Tally:
    """What a phase did."""

    latencies: list[float] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    starved: int = 0


@dataclass(slots=True)
class Player:
    """A player at a table, the connection that they share with others, and the headers of their calls."""

    player_id: str
    table_id: str
    wire: Wire
    token: str
    play: bytes = b""
    act: bytes = b""
    owner: str = ""

    def __post_init__(self) -> None:
        self.go_to(self.owner)

    def go_to(self, owner: str) -> None:
        """Send every call to the replica that owns the table, as the client does."""
        self.owner = owner
        headers = (("authorization", f"Bearer {self.token}"), *((("cardroom-replica", owner),) if owner else ()))
        self.play = block("/cardroom.table.v1.TableService/Play", headers)
        self.act = block("/cardroom.table.v1.TableService/Act", headers)


@dataclass(frozen=True, slots=True)
class Answer:
    """An action that is ready to be sent."""

    player: Player
    request: bytes


class Load:
    """All players, and the way they play at the moment: not at all, at once, or when the schedule says."""

    def __init__(
        self, clients: list[Client], wires: list[Wire], operator: ServiceClient, options: argparse.Namespace
    ) -> None:
        self.clients = clients
        self.wires = wires
        self.operator = operator
        self.options = options
        self.rng = random.Random(1)
        self.tally = Tally()
        self.is_closed_loop = False
        self.pending: deque[Answer] = deque()

    async def seat_everyone(self) -> None:
        """Opens the tables and fills their seats, a few at a time."""
        gate = asyncio.Semaphore(self.options.seating_at_once)

        async def sit(table_id: str, number: int) -> None:
            async with gate:
                client = self.clients[number % len(self.clients)]
                player = await client.sign_in_as_guest(f"Bench {number}")
                await player.sit_down(table_id, self.options.buy_in)
            wire, token = self.wires[number % len(self.wires)], await player._connection._credentials.token()
            self._follow(Player(player.player_id, table_id, wire, token))

        stakes = Stakes()
        stakes.CopyFrom(STAKES)
        stakes.seats = self.options.seats
        number = 0
        sitting = []
        for index in range(self.options.tables):
            table = await self.operator.create_table(f"Bench {index + 1}", stakes)
            for _ in range(self.options.seats):
                sitting.append(sit(table.table_id, number))
                number += 1
        await asyncio.gather(*sitting)

    def _follow(self, player: Player) -> None:
        """Read the player's stream and answer their turns; open it again when it ends."""
        me, mark = player.player_id, player.player_id.encode()
        number = 0

        def on_headers(headers: Headers) -> None:
            owner = headers.get(OWNER, "")
            if PASSED_ON in headers and owner not in {"", player.owner}:
                player.wire.cancel(number)
                player.go_to(owner)
                self._follow(player)
            elif owner:
                player.go_to(owner)

        def on_message(message: bytes) -> None:
            # Unread: most messages hold no turn of this player, and the load must cost the machine little.
            turn = _turn_of(PlayResponse.FromString(message), me) if mark in message else None
            if turn is not None:
                request = ActRequest(table_id=player.table_id, turn=turn.token, action=self._choose(turn.legal))
                self._answer(Answer(player, request.SerializeToString()))

        def on_end(failure: CallFailed | None) -> None:
            self._refuse(f"stream {failure.status if failure else 'ended'}")
            asyncio.get_running_loop().call_later(0.1, self._follow, player)

        number = player.wire.call(
            player.play, PlayRequest(table_id=player.table_id).SerializeToString(), on_message, on_end, on_headers
        )

    def _answer(self, answer: Answer) -> None:
        if self.is_closed_loop:
            self._act(answer, time.perf_counter())
        else:
            self.pending.append(answer)

    def _act(self, answer: Answer, due: float) -> None:
        tally = self.tally

        def on_end(failure: CallFailed | None) -> None:
            if failure is None:
                tally.latencies.append(time.perf_counter() - due)
            else:
                self._refuse(f"status {failure.status} {failure}")

        answer.player.wire.call(answer.player.act, answer.request, _ignore, on_end)

    def _refuse(self, reason: str) -> None:
        self.tally.refused[reason] = self.tally.refused.get(reason, 0) + 1

    def _choose(self, legal: LegalActions) -> Action:
        """Mostly checks and calls, some folds, now and then a smallest bet."""
        chance = self.rng.random()
        if legal.can_check:
            return raise_to(legal.raise_min) if chance < 0.1 and legal.HasField("raise_min") else check()
        return fold() if chance < 0.25 else call()

    async def open_loop(self, per_second: float, seconds: float) -> None:
        """Answers the turn that waits longest at every tick of a fixed schedule; latency counts from the tick."""
        self.is_closed_loop = False
        begun = time.perf_counter()
        for number in range(int(per_second * seconds)):
            due = begun + number / per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if not self.pending:
                self.tally.starved += 1
                continue
            self._act(self.pending.popleft(), due)

    async def closed_loop(self, seconds: float) -> None:
        """Answers every turn at once."""
        self.is_closed_loop = True
        while self.pending:
            self._act(self.pending.popleft(), time.perf_counter())
        await asyncio.sleep(seconds)

    async def phase(self, name: str) -> None:
        """Warms up, then measures one phase and prints it."""
        options = self.options
        for is_measured, seconds in ((False, options.warm_seconds), (True, options.seconds)):
            self.tally = Tally()
            if is_measured:
                _say({"phase": name, "begins": True})
            begun = time.monotonic()
            if name == "open":
                await self.open_loop(options.rate, seconds)
            else:
                await self.closed_loop(seconds)
            tally, self.tally = self.tally, Tally()
            if is_measured:
                _say(
                    {
                        "phase": name,
                        "begins": False,
                        "seconds": time.monotonic() - begun,
                        "latencies": tally.latencies,
                        "refused": tally.refused,
                        "starved": tally.starved,
                    }
                )
        self.is_closed_loop = False


def _ignore(_: bytes) -> None:
    """The answer says only what the stream says."""


def _turn_of(message: PlayResponse, me: str) -> TurnView | None:
    """The turn that a message brings, if it is this player's."""
    if message.HasField("change"):
        for event in reversed(message.change.events):
            if event.HasField("turn_started"):
                return event.turn_started if event.turn_started.player_id == me else None
    elif message.HasField("snapshot") and message.snapshot.view.hand.HasField("turn"):
        turn = message.snapshot.view.hand.turn
        return turn if turn.player_id == me else None
    return None


def _say(fact: dict[str, Any]) -> None:
    print(json.dumps(fact), flush=True)


async def main(options: argparse.Namespace) -> None:
    """Seats everyone, plays the phases, says what came of them."""
    # Sitting down is not measured, and takes its time while everyone does so at once.
    policy = CallPolicy(attempt_seconds=15.0)
    clients = [Client.connect(options.edge, policy=policy) for _ in range(options.connections)]
    wires = [await Wire.connect(options.edge.removeprefix("http://")) for _ in range(options.connections)]
    load = Load(clients, wires, clients[0].service(options.operator, sys.stdin.readline().strip()), options)
    begun = time.monotonic()
    await load.seat_everyone()
    _say({"phase": "seated", "seconds": time.monotonic() - begun, "players": options.tables * options.seats})
    for name in options.phases.split(","):
        await load.phase(name)
    for client in clients:
        await client.close()


def parser() -> argparse.ArgumentParser:
    """The orders that the load takes; the operator's secret comes on standard input."""
    orders = argparse.ArgumentParser(description=__doc__)
    orders.add_argument("--edge", required=True)
    orders.add_argument("--operator", default="operator")
    orders.add_argument("--tables", type=int, default=48)
    orders.add_argument("--seats", type=int, default=6)
    orders.add_argument("--buy-in", type=int, default=5000)
    orders.add_argument("--connections", type=int, default=4)
    orders.add_argument("--seating-at-once", type=int, default=16)
    orders.add_argument("--rate", type=float, default=100.0)
    orders.add_argument("--seconds", type=float, default=20.0)
    orders.add_argument("--warm-seconds", type=float, default=5.0)
    orders.add_argument("--phases", default="open,closed")
    return orders


if __name__ == "__main__":
    uvloop.run(main(parser().parse_args()))
