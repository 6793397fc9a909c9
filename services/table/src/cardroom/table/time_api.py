"""gRPC for the clock: time has come."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.errors import Unavailable
from cardroom.contracts.table.v1 import internal_pb2 as pb
from cardroom.contracts.table.v1.view_pb2 import TurnToken
from cardroom.table.domain.commands import DealHand, EndTurn, JudgeAbsence, SetTimeBank, StartTimeBank, Token
from cardroom.table.methods import Methods, uuid_of

if TYPE_CHECKING:
    from cardroom.chassis.auth import Caller
    from cardroom.table.forwarding import Forwarding
    from cardroom.table.tables import Tables

__all__ = ["SERVICE", "TimeApi"]

SERVICE: Final = "cardroom.table.v1.TableTimeService"
SCOPE: Final = "table.time"
DRAWS: Final = 1 << 30
"""So many that taking a draw modulo 9 seats is fair to within a billionth."""
EARLY_MS_MAX: Final = 500
"""A timeout that comes this little too early waits here; one that comes earlier is asked to come again."""


class TimeApi(Methods):
    """`TableTimeService`. What has passed is answered as stale."""

    def __init__(self, tables: Tables, forwarding: Forwarding) -> None:
        super().__init__(SERVICE, forwarding)
        self._tables = tables
        self.unary("StartTimeBank", pb.StartTimeBankRequest, self._start_time_bank)
        self.unary("EndTurn", pb.EndTurnRequest, self._end_turn)
        self.unary("DealHand", pb.DealHandRequest, self._deal_hand)
        self.unary("JudgeAbsence", pb.JudgeAbsenceRequest, self._judge_absence)
        self.unary("SetTimeBank", pb.SetTimeBankRequest, self._set_time_bank)

    def permit(self, name: str, caller: Caller) -> None:
        """The clock's scope."""
        caller.require(SCOPE)

    async def _start_time_bank(
        self, request: pb.StartTimeBankRequest, _: Caller, table_id: str
    ) -> pb.StartTimeBankResponse:
        command = StartTimeBank(_token(request.turn), request.generation, _ms(request.bank_deadline))
        return pb.StartTimeBankResponse(stale=await self._tables.execute(table_id, command))

    async def _end_turn(self, request: pb.EndTurnRequest, _: Caller, table_id: str) -> pb.EndTurnResponse:
        command = EndTurn(_token(request.turn), request.generation)
        try:
            return pb.EndTurnResponse(stale=await self._tables.execute(table_id, command))
        except Unavailable as early:
            wait_ms = int(early.metadata.get("wait_ms", "0"))
            if early.reason != "TOO_EARLY" or wait_ms > EARLY_MS_MAX:
                raise
        await asyncio.sleep(wait_ms / 1000)
        return pb.EndTurnResponse(stale=await self._tables.execute(table_id, command))

    async def _deal_hand(self, request: pb.DealHandRequest, _: Caller, table_id: str) -> pb.DealHandResponse:
        command = DealHand(request.generation, secrets.randbelow(DRAWS))
        return pb.DealHandResponse(stale=await self._tables.execute(table_id, command))

    async def _judge_absence(
        self, request: pb.JudgeAbsenceRequest, _: Caller, table_id: str
    ) -> pb.JudgeAbsenceResponse:
        player_id = uuid_of("player_id", request.player_id)
        live = await self._tables.loaded(table_id)
        command = JudgeAbsence(player_id, request.generation, live.feed.has_stream_of(player_id))
        return pb.JudgeAbsenceResponse(stale=await self._tables.execute(table_id, command))

    async def _set_time_bank(self, request: pb.SetTimeBankRequest, _: Caller, table_id: str) -> pb.SetTimeBankResponse:
        command = SetTimeBank(uuid_of("player_id", request.player_id), _ms(request.left), request.generation)
        return pb.SetTimeBankResponse(stale=await self._tables.execute(table_id, command))


def _token(turn: TurnToken) -> Token:
    return Token(turn.hand_number, turn.action_number)


def _ms(time: Timestamp | Duration) -> int:
    return time.seconds * 1000 + time.nanos // 1_000_000
