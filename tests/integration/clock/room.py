"""The clock's neighbour as its contract describes it, in memory, over real gRPC; and the events that it publishes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.bus import Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc, view_pb2

TYPE = "cardroom.events.v1.TablesChanged"


def now_ms() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


def timestamp(at_ms: int) -> Timestamp:
    """The moment as the contracts have it."""
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)


class Told(NamedTuple):
    """One call that came in."""

    method: str
    at_ms: int
    request: Any


@dataclass
class FakeTables(internal_pb2_grpc.TableTimeServiceServicer):
    """TableTimeService: everything told is in `told`; `stale` and `down` say how it answers."""

    told: list[Told] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)
    down: bool = False
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def _answer(self, request: Any, context: Any, answer: Any) -> Any:
        name = type(request).__name__.removesuffix("Request")
        self.told.append(Told(name, now_ms(), request))
        self.came.set()
        if self.down:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        return answer(stale=name in self.stale)

    async def StartTimeBank(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, internal_pb2.StartTimeBankResponse)

    async def EndTurn(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, internal_pb2.EndTurnResponse)

    async def DealHand(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, internal_pb2.DealHandResponse)

    async def SetTimeBank(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, internal_pb2.SetTimeBankResponse)

    async def JudgeAbsence(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, internal_pb2.JudgeAbsenceResponse)

    def of(self, method: str, table_id: str) -> list[Told]:
        """The calls of one method about one table."""
        return [one for one in self.told if one.method == method and one.request.table_id == table_id]

    async def until(self, true: Callable[[], Any], seconds: float = 30.0) -> Any:
        """Wait for calls to come in."""
        async with asyncio.timeout(seconds):
            while not (value := true()):
                self.came.clear()
                await self.came.wait()
        return value

    async def until_told(self, method: str, table_id: str, times: int = 1, seconds: float = 30.0) -> list[Told]:
        """Wait for this call about this table."""
        await self.until(lambda: len(self.of(method, table_id)) >= times, seconds)
        return self.of(method, table_id)


@dataclass
class Table:
    """A table as the clock sees it: its events, one version and one timing generation after the other."""

    table_id: str = field(default_factory=lambda: str(uuid4()))
    player_id: str = field(default_factory=lambda: str(uuid4()))
    version: int = 0
    generation: int = 0
    hand: int = 1
    action: int = 0

    def turn(
        self,
        *,
        base_ms: int,
        started_ago_ms: int = 0,
        bank_allowed: bool = True,
        acted: bool = False,
        anew: bool = False,
    ) -> Message:
        """The player's turn begins (or begins anew); with `acted`, because they ended the one before."""
        ended = [self._acted()] if acted else []
        self.action += not anew
        self.generation += 1
        turn = events_pb2.TurnTiming(
            token=view_pb2.TurnToken(hand_number=self.hand, action_number=self.action),
            player_id=self.player_id,
            started_at=timestamp(now_ms() - started_ago_ms),
            base_ms=base_ms,
            bank_allowed=bank_allowed,
        )
        return self.change(ended, events_pb2.Timing(generation=self.generation, turn=turn))

    def deal(self, in_ms: int, *, acted: bool = False) -> Message:
        """The next hand is due."""
        ended = [self._acted()] if acted else []
        self.generation += 1
        timing = events_pb2.Timing(
            generation=self.generation, deal=events_pb2.DealTiming(due_at=timestamp(now_ms() + in_ms))
        )
        return self.change(ended, timing)

    def nothing(self, *, acted: bool = False) -> Message:
        """The table waits for nothing."""
        ended = [self._acted()] if acted else []
        self.generation += 1
        return self.change(ended, events_pb2.Timing(generation=self.generation))

    def absence(self, due_ms: int | None) -> Message:
        """How long the table bears with the player's absence from now on; None: they are back."""
        self.version += 1
        absence = events_pb2.AbsenceTiming(
            player_id=self.player_id, generation=self.version, due_at=timestamp(due_ms) if due_ms else None
        )
        changed = events_pb2.TableChanged(table_id=self.table_id, version=self.version, absences=[absence])
        return _message(changed)

    def change(self, events: list[view_pb2.TableEvent], timing: events_pb2.Timing | None = None) -> Message:
        """One committed change."""
        self.version += 1
        seat = view_pb2.SeatView(seat=1, player_id=self.player_id)
        view = view_pb2.PublicView(table_id=self.table_id, hand=view_pb2.HandView(hand_number=self.hand), seats=[seat])
        at = Timestamp()
        at.GetCurrentTime()
        changed = events_pb2.TableChanged(
            table_id=self.table_id, version=self.version, occurred_at=at, events=events, view=view, timing=timing
        )
        return _message(changed)

    def _acted(self) -> view_pb2.TableEvent:
        taken = view_pb2.ActionTaken(seat=1, action_number=self.action, kind=view_pb2.ACTION_KIND_CHECK)
        return view_pb2.TableEvent(action_taken=taken)


def _message(changed: events_pb2.TableChanged) -> Message:
    group = events_pb2.TablesChanged(changes=[changed])
    return Message("table.changed", TYPE, group.SerializeToString(), mandatory=False)


async def serve(tables: FakeTables, port: int = 0) -> tuple[grpc.aio.Server, int]:
    """Serve the tables; return the server and its port."""
    server = grpc.aio.server()
    internal_pb2_grpc.add_TableTimeServiceServicer_to_server(tables, server)
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server, bound
