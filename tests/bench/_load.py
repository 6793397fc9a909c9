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

import grpc
import uvloop

from cardroom.client import CallPolicy, CardroomError, Client, PlayerClient, ServiceClient, call, check, fold, raise_to
from cardroom.client.connection import Connection
from cardroom.client.owner import Owner
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest, PlayRequest, PlayResponse
from cardroom.contracts.table.v1.table_pb2_grpc import TableServiceStub
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, LegalActions, Stakes, TurnView

STAKES = Stakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=5, big_blind=10, min_buy_in=1000, max_buy_in=10_000, seats=6)


@dataclass(slots=True)
class Tally:
    """What a phase did."""

    latencies: list[float] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    starved: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """An action that is ready to be sent: how, and where to."""

    connection: Connection
    act: Any
    request: ActRequest
    owner: Owner


class Load:
    """All players, and the way they play at the moment: not at all, at once, or when the schedule says."""

    def __init__(self, clients: list[Client], operator: ServiceClient, options: argparse.Namespace) -> None:
        self.clients = clients
        self.operator = operator
        self.options = options
        self.rng = random.Random(1)
        self.tally = Tally()
        self.is_closed_loop = False
        self.pending: deque[Answer] = deque()
        self.tasks: set[asyncio.Task[None]] = set()

    async def seat_everyone(self) -> None:
        """Opens the tables and fills their seats, a few at a time."""
        gate = asyncio.Semaphore(self.options.seating_at_once)

        async def sit(table_id: str, number: int) -> None:
            async with gate:
                client = self.clients[number % len(self.clients)]
                player = await client.sign_in_as_guest(f"Bench {number}")
                await player.sit_down(table_id, self.options.buy_in)
            self._follow(player, client, table_id)

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

    def _follow(self, player: PlayerClient, client: Client, table_id: str) -> None:
        task = asyncio.ensure_future(self._play(player, table_id))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _play(self, player: PlayerClient, table_id: str) -> None:
        """Reads the player's stream and answers its turns; opens it again when it breaks."""
        connection = player._connection
        stub = TableServiceStub(connection.channel)
        # Unread: most messages hold no turn of this player, and the load must cost the machine little.
        play = connection.channel.unary_stream(
            "/cardroom.table.v1.TableService/Play", PlayRequest.SerializeToString, None
        )
        me = player.player_id
        mark = me.encode()
        owner = Owner()
        while True:
            stream = await connection.open_stream(play, PlayRequest(table_id=table_id), along=owner.metadata)
            is_first = True
            try:
                async for message in stream:
                    if is_first and await owner.learn(stream):
                        stream.cancel()
                        break
                    is_first = False
                    turn = _turn_of(PlayResponse.FromString(message), me) if mark in message else None
                    if turn is not None:
                        request = ActRequest(table_id=table_id, turn=turn.token, action=self._choose(turn.legal))
                        self._answer(Answer(connection, stub.Act, request, owner))
                else:
                    await asyncio.sleep(0.1)
            except grpc.aio.AioRpcError as error:
                self._refuse(f"stream {error.code().name}")
                await asyncio.sleep(0.1)

    def _answer(self, answer: Answer) -> None:
        if self.is_closed_loop:
            self._start(self._act(answer, time.perf_counter()))
        else:
            self.pending.append(answer)

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _act(self, answer: Answer, due: float) -> None:
        tally = self.tally
        try:
            await answer.connection.call(answer.act, answer.request, along=answer.owner.metadata)
            tally.latencies.append(time.perf_counter() - due)
        except CardroomError as error:
            self._refuse(error.reason)

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
            self._start(self._act(self.pending.popleft(), due))

    async def closed_loop(self, seconds: float) -> None:
        """Answers every turn at once."""
        self.is_closed_loop = True
        while self.pending:
            self._start(self._act(self.pending.popleft(), time.perf_counter()))
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
    load = Load(clients, clients[0].service(options.operator, sys.stdin.readline().strip()), options)
    begun = time.monotonic()
    await load.seat_everyone()
    _say({"phase": "seated", "seconds": time.monotonic() - begun, "players": options.tables * options.seats})
    for name in options.phases.split(","):
        await load.phase(name)
    for task in list(load.tasks):
        task.cancel()
    await asyncio.gather(*load.tasks, return_exceptions=True)
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
