"""How soon tables play again after `kill -9` of their owner or its orderly stop, and how soon a new stream is current.

Players at 200 tables of two replicas, through Envoy. Each replica is killed, then each is told to stop; a table plays
again when the first action is answered there or the first hand is dealt. Before that, streams are opened anew one by
one while everyone plays, and it is measured how long each takes to be current (a resync).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import uvloop

from cardroom.client import CallPolicy, Client, call, check, fold
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import TableEvent, TurnView
from cardroom.local import Progress, Stack, StackOptions
from tests.bench._line import Caller, Failures, GaveUp, Line
from tests.bench._load import STAKES
from tests.bench._measures import cpu_lines, latency_line, names_of, percentile, sample
from tests.bench._seat import PlayerStream
from tests.bench._wire import CallFailed
from tests.faults.owners import fetch, shard_of

GIVE_UP_SECONDS = 30.0
KILLED_GOAL_SECONDS, SHARD_GOAL_SECONDS, RESYNC_GOAL_MS = 5, 1, 50
SETTLE_SECONDS = 5.0
OWNED = "select l.shard from leases l join runners r on r.runner_id = l.owner where r.address = $1"


@dataclass(eq=False, slots=True)
class At:
    """One table: its players, and what was seen of it since the last kill."""

    table: Table
    streams: list[PlayerStream] = field(default_factory=list)
    killed_at: float = 0.0
    current_at: float = 0.0
    """When the first of its players had a new snapshot."""
    plays_at: float = 0.0
    """When an action was answered or a hand dealt."""
    left_at: float = 0.0
    """When the first of its players lost the stream."""
    has_turn: bool = False
    """Whether somebody was to act when it was back."""
    acted_at: float = 0.0
    """When an action was answered."""

    def lose(self) -> None:
        """Its owner is about to go."""
        self.killed_at, self.has_turn = time.monotonic(), False
        self.current_at = self.plays_at = self.left_at = self.acted_at = 0.0

    @property
    def gap_seconds(self) -> float | None:
        """From the end of its old owner's streams to the first action that the new one answered, where one was due,
        or else to the first new snapshot."""
        back_at = self.acted_at if self.has_turn else self.current_at
        return back_at - self.left_at if self.left_at and back_at else None


class Room:
    """All tables, and players who think for a while and then check or call."""

    def __init__(self, options: argparse.Namespace, lines: Sequence[Line]) -> None:
        self.options = options
        self.lines = lines
        self.failures = Failures()
        self.tables: dict[str, At] = {}
        self.actions = 0
        self._rng = random.Random(1)
        self._acting: set[asyncio.Task[None]] = set()
        self._asked: dict[PlayerStream, tuple[int, int]] = {}

    async def fill(self, clients: Sequence[Client], operator: tuple[str, str]) -> None:
        """Open the tables and seat the players."""
        gate = asyncio.Semaphore(16)
        service = clients[0].service(*operator)

        async def open_one(number: int) -> None:
            async with gate:
                table = await service.create_table(f"Takeover {number}", STAKES)
            self.tables[table.table_id] = At(table)

        async def sit(at: At, number: int) -> None:
            async with gate:
                player = await clients[number % len(clients)].sign_in_as_guest(f"Bench {number}")
                await player.sit_down(at.table.table_id, self.options.buy_in)
            token = player._connection._credentials.token
            caller = Caller(self.lines[number % len(self.lines)], token, self.failures)
            stream = PlayerStream(caller, player.player_id, at.table.table_id, self.hears)
            at.streams.append(stream)
            stream.open()

        await asyncio.gather(*(open_one(number) for number in range(self.options.tables)))
        seats = [at for at in self.tables.values() for _ in range(self.options.players)]
        await asyncio.gather(*(sit(at, number) for number, at in enumerate(seats)))

    def hears(self, stream: PlayerStream, events: list[TableEvent]) -> None:
        """A player hears something of their table."""
        at = self.tables[stream.table_id]
        if at.killed_at and stream.lost_at > at.killed_at:
            at.left_at = min(at.left_at or stream.lost_at, stream.lost_at)
        if at.killed_at and stream.opened_at > at.killed_at and not at.current_at:
            at.current_at, at.has_turn = time.monotonic(), stream.view.hand.HasField("turn")
        if any(event.HasField("hand_started") for event in events):
            self._plays(at)
        turn = stream.turn
        if turn is None:
            return
        token = (turn.token.hand_number, turn.token.action_number)
        if events and self._asked.get(stream) == token:
            return
        self._asked[stream] = token
        # Who finds the table again is keen to go on.
        pause = self._rng.uniform(*self.options.think) if events else 0.0
        task = asyncio.create_task(self._act(stream, turn, pause))
        self._acting.add(task)
        task.add_done_callback(self._acting.discard)

    async def _act(self, stream: PlayerStream, turn: TurnView, pause: float) -> None:
        asked = TurnView()
        asked.CopyFrom(turn)
        await asyncio.sleep(pause)
        try:
            await stream.act(asked, self._choose(asked))
        except (CallFailed, GaveUp):
            return  # counted already
        self.actions += 1
        at = self.tables[stream.table_id]
        self._plays(at)
        if at.current_at and not at.acted_at:
            at.acted_at = time.monotonic()

    def _choose(self, turn: TurnView) -> Action:
        if turn.legal.can_check:
            return check()
        return fold() if self._rng.random() < 0.3 else call()

    def _plays(self, at: At) -> None:
        if at.killed_at and at.current_at and not at.plays_at:
            at.plays_at = time.monotonic()

    async def until_up(self) -> None:
        """Wait until everybody has a stream."""
        everyone = [stream for at in self.tables.values() for stream in at.streams]
        if not await _until(lambda: all(stream.is_up for stream in everyone), 60.0):
            raise SystemExit(f"without a stream: {sum(not stream.is_up for stream in everyone)} players")

    async def resync_one_by_one(self) -> list[float]:
        """Let players lose their streams and open them anew, evenly spread; how long each took to be current."""
        streams = [stream for at in self.tables.values() for stream in at.streams]
        for stream in streams:
            stream.resync_seconds.clear()
        began = time.monotonic()
        for number in range(int(self.options.resyncs_per_second * self.options.seconds)):
            due = began + number / self.options.resyncs_per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            stream = self._rng.choice(streams)
            stream.close()
            stream.open()
        await self.until_up()
        return [seconds for stream in streams for seconds in stream.resync_seconds]

    def stop(self) -> None:
        """Let everyone stop where they are."""
        for at in self.tables.values():
            for stream in at.streams:
                stream.close()
        for task in self._acting:
            task.cancel()


async def main(options: argparse.Namespace) -> None:
    """Bring the stack up, seat everyone, measure resyncs, then kill one replica after the other."""
    pause = str(options.pause_ms)
    pauses = {"CARDROOM_TABLE_PAUSE_MS": pause, "CARDROOM_TABLE_SHOWDOWN_PAUSE_MS": pause}
    async with Stack(StackOptions(env={"table": pauses}, log_level="warning"), progress=Progress()) as stack:
        clients = [Client.connect(stack.edge_grpc, policy=CallPolicy(attempt_seconds=15.0)) for _ in range(4)]
        room = Room(options, [Line(stack.edge_grpc) for _ in range(8)])
        begun = time.monotonic()
        await room.fill(clients, stack.client_credentials("operator"))
        await room.until_up()
        print(
            f"{options.tables} tables of {options.players} at 2 replicas, seated in {time.monotonic() - begun:.1f} s; "
            f"players think {options.think[0]:g} to {options.think[1]:g} s, pauses between hands {pause} ms",
            flush=True,
        )
        await asyncio.sleep(SETTLE_SECONDS)
        try:
            await _measure_resyncs(stack, room, options)
            for name in ("table-0", "table-1"):
                await _measure_takeover(stack, room, name, is_killed=True)
            for name in ("table-0", "table-1"):
                await _measure_takeover(stack, room, name, is_killed=False)
        finally:
            room.stop()
            await asyncio.gather(*(client.close() for client in clients))


async def _measure_resyncs(stack: Stack, room: Room, options: argparse.Namespace) -> None:
    names = await names_of(stack)
    before, actions = sample(names), room.actions
    taken = await room.resync_one_by_one()
    after = sample(names)
    rate = (room.actions - actions) / (after.at - before.at)
    print(f"\nstreams opened anew, {options.resyncs_per_second:g}/s, while {rate:.0f} actions/s are played:")
    print(f"  {latency_line(taken)}   goal p99 ≤ {RESYNC_GOAL_MS} ms")
    print("\n".join(cpu_lines(before, after)), flush=True)


async def _measure_takeover(stack: Stack, room: Room, name: str, *, is_killed: bool) -> None:
    process = stack.processes[name]
    owned = {row["shard"] for row in await fetch(stack, "table", OWNED, process.place.address)}
    lost = [at for at in room.tables.values() if shard_of(at.table.table_id) in owned]
    for at in room.tables.values():
        for stream in at.streams:
            stream.outages.clear()
    for at in lost:
        at.lose()
    killed = time.monotonic()
    ending = asyncio.create_task(process.terminate() if not is_killed else asyncio.to_thread(process.kill))
    await _until(lambda: all(at.plays_at for at in lost), GIVE_UP_SECONDS)
    plays = [at.plays_at - killed for at in lost if at.plays_at]
    current = [at.current_at - killed for at in lost if at.current_at]
    await ending
    how = f"kill -9 of {name}" if is_killed else f"SIGTERM to {name}"
    print(f"\n{how}, which owned {len(lost)} of {len(room.tables)} tables:")
    print(f"  a first player is back:  {_seconds(current)}")
    goal = f"   goal: every one within {KILLED_GOAL_SECONDS} s" if is_killed else ""
    print(f"  the table plays again:   {_seconds(plays)}{goal}")
    await room.until_up()
    outages = [seconds for at in room.tables.values() for stream in at.streams for seconds in stream.outages]
    twice = sum(len(stream.outages) > 1 for at in room.tables.values() for stream in at.streams)
    if not is_killed:
        print(f"  each shard's gap:        {_seconds(_gaps(lost), 'shards')}   goal: under {SHARD_GOAL_SECONDS} s")
    print(f"  players without a stream: {latency_line(outages)}; {twice} of them twice")
    if missing := len(lost) - len(plays):
        print(f"  ✗ {missing} tables did not play again within {GIVE_UP_SECONDS:g} s")
    print(f"  failures that players met: {dict(room.failures.counts) or 'none'}", flush=True)
    for at in lost:
        at.killed_at = 0.0
    room.failures.counts.clear()
    process.start()
    await process.until_ready()
    await asyncio.sleep(2 * SETTLE_SECONDS)
    await room.until_up()


async def _until(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is so, at most so long; whether it is."""
    give_up = time.monotonic() + seconds
    while True:
        if holds() or time.monotonic() > give_up:
            return holds()
        await asyncio.sleep(0.05)


def _gaps(lost: Sequence[At]) -> list[float]:
    """How long each shard was nobody's, as its players see it: the longest gap of its tables counts."""
    shards: dict[int, float] = {}
    for at in lost:
        if (gap := at.gap_seconds) is not None:
            shard = shard_of(at.table.table_id)
            shards[shard] = max(gap, shards.get(shard, 0.0))
    return list(shards.values())


def _seconds(values: Sequence[float], what: str = "tables") -> str:
    parts = (("p50", 0.5), ("p99", 0.99), ("worst", 1.0))
    return ", ".join(f"{name} {percentile(values, part):.2f} s" for name, part in parts) + f" ({len(values)} {what})"


def _parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--tables", type=int, default=200)
    command.add_argument("--players", type=int, default=3, help="at each table")
    command.add_argument("--buy-in", type=int, default=5000)
    command.add_argument("--pause-ms", type=int, default=1000)
    command.add_argument("--think", type=float, nargs=2, default=(1.0, 5.0), metavar=("LEAST", "MOST"))
    command.add_argument("--resyncs-per-second", type=float, default=25.0)
    command.add_argument("--seconds", type=float, default=20.0, help="how long resyncs are measured")
    return command


if __name__ == "__main__":
    uvloop.run(main(_parser().parse_args()))
