"""The clock's way to the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.clock.domain.absences import Absence
from cardroom.clock.domain.banks import Bank
from cardroom.clock.domain.timers import Act, Firing, Timer
from cardroom.clock.errors import TableAway
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc, view_pb2

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    Answer = (
        internal_pb2.StartTimeBankResponse
        | internal_pb2.EndTurnResponse
        | internal_pb2.DealHandResponse
        | internal_pb2.SetTimeBankResponse
        | internal_pb2.JudgeAbsenceResponse
    )

CALL_SECONDS: Final = 2.0


class Tables(Protocol):
    """What the clock tells tables. Every call can be repeated; each returns whether it came too late (stale)."""

    async def tell(self, firing: Firing) -> bool:
        """Tell a table that a time has come. Raises TableAway."""

    async def set_bank(self, bank: Bank) -> bool:
        """Tell the table where the player sits what the bank holds. Raises TableAway."""

    async def judge_absence(self, absence: Absence) -> bool:
        """Tell a table that a player's absence has lasted long enough. Raises TableAway."""


class GrpcTables:
    """The table service over gRPC; any replica takes the call."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = internal_pb2_grpc.TableTimeServiceStub(channel)

    async def tell(self, firing: Firing) -> bool:
        """See `Tables`."""
        timer = firing.timer
        match firing.act:
            case Act.START_BANK:
                start = internal_pb2.StartTimeBankRequest(
                    table_id=timer.table_id,
                    turn=_token(timer),
                    generation=timer.generation,
                    bank_deadline=_timestamp(firing.deadline_ms),
                )
                return await _stale(self._stub.StartTimeBank, start)
            case Act.END_TURN:
                end = internal_pb2.EndTurnRequest(
                    table_id=timer.table_id, turn=_token(timer), generation=timer.generation
                )
                return await _stale(self._stub.EndTurn, end)
            case Act.DEAL:
                deal = internal_pb2.DealHandRequest(table_id=timer.table_id, generation=timer.generation)
                return await _stale(self._stub.DealHand, deal)

    async def set_bank(self, bank: Bank) -> bool:
        """See `Tables`."""
        assert bank.table_id is not None
        left = Duration(seconds=bank.left_ms // 1000, nanos=bank.left_ms % 1000 * 1_000_000)
        request = internal_pb2.SetTimeBankRequest(
            table_id=bank.table_id, player_id=bank.player_id, left=left, generation=bank.generation
        )
        return await _stale(self._stub.SetTimeBank, request)

    async def judge_absence(self, absence: Absence) -> bool:
        """See `Tables`."""
        request = internal_pb2.JudgeAbsenceRequest(
            table_id=absence.table_id, player_id=absence.player_id, generation=absence.generation
        )
        return await _stale(self._stub.JudgeAbsence, request)


async def _stale(method: Callable[..., Awaitable[Answer]], request: Message) -> bool:
    try:
        return (await method(request, timeout=CALL_SECONDS)).stale
    except grpc.RpcError as error:
        refusal = from_rpc_error(error)
    except CardroomError as error:
        # No token to call with yet.
        refusal = error
    if refusal.code is grpc.StatusCode.NOT_FOUND and refusal.reason == "TABLE_UNKNOWN":
        # Closed for good: nothing there waits for anything.
        return True
    raise TableAway(str(refusal)) from refusal


def _token(timer: Timer) -> view_pb2.TurnToken:
    return view_pb2.TurnToken(hand_number=timer.hand_number, action_number=timer.action_number)


def _timestamp(at_ms: int) -> Timestamp:
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)
