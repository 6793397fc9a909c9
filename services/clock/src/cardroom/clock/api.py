"""The clock's gRPC handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cardroom.chassis import auth
from cardroom.chassis.errors import InvalidArgument, PermissionDenied
from cardroom.clock.domain import banks
from cardroom.clock.store import ClockStore
from cardroom.contracts.clock.v1 import clock_pb2, clock_pb2_grpc

if TYPE_CHECKING:
    import grpc

    Context = grpc.aio.ServicerContext[Any, Any]


class ClockApi(clock_pb2_grpc.ClockServiceServicer):
    """ClockService: what is left of players' banks."""

    def __init__(self, store: ClockStore, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._now_ms = now_ms

    async def GetTimeBank(
        self, request: clock_pb2.GetTimeBankRequest, context: Context
    ) -> clock_pb2.GetTimeBankResponse:
        """Say what is left: to services of anyone, to players of themselves."""
        caller = auth.caller()
        player_id = _player_id(request.player_id)
        if not caller.is_service and caller.player_id != player_id:
            raise PermissionDenied("NOT_YOUR_TIME_BANK", f"player {player_id} is not you: ask for your own time bank")
        bank = await self._store.bank(player_id)
        left = banks.left_when_sitting_down(bank, self._now_ms())
        return clock_pb2.GetTimeBankResponse(left_ms=left, full_ms=banks.FULL_MS, generation=bank.generation)


def _player_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidArgument("INVALID_PLAYER_ID", f"{text[:80]!r} is no player's id: a UUID would be") from None
