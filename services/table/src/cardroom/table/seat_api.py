"""gRPC for the lobby: tables opened and closed, players seated and taken off; and stacks for the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cardroom.chassis.errors import InvalidArgument
from cardroom.contracts.table.v1 import internal_pb2 as pb
from cardroom.contracts.table.v1.view_pb2 import Stakes
from cardroom.table.domain.commands import CloseTable, EndSeating, OpenTable, Pace, SeatPlayer, TopUp
from cardroom.table.domain.step import EndedSeating, ToppedUp
from cardroom.table.methods import Methods, uuid_of

if TYPE_CHECKING:
    from cardroom.chassis.auth import Caller
    from cardroom.table.forwarding import Forwarding
    from cardroom.table.tables import Tables

__all__ = ["SERVICE", "SeatApi"]

SERVICE: Final = "cardroom.table.v1.TableSeatService"
NAME_MAX: Final = 64
_SCOPES: Final = {
    "OpenTable": ("table.open", "table.seat"),
    "CloseTable": ("table.open", "table.seat"),
    "SeatPlayer": ("table.seat",),
    "EndSeating": ("table.seat",),
    "TopUpSeating": ("table.seat",),
    "GetStacks": ("table.seat", "operator"),
}


class SeatApi(Methods):
    """`TableSeatService`. Every call may be sent again."""

    def __init__(self, tables: Tables, forwarding: Forwarding, pace: Pace) -> None:
        super().__init__(SERVICE, forwarding)
        self._tables = tables
        self._pace = pace
        self.unary("OpenTable", pb.OpenTableRequest, self._open_table)
        self.unary("CloseTable", pb.CloseTableRequest, self._close_table)
        self.unary("SeatPlayer", pb.SeatPlayerRequest, self._seat_player)
        self.unary("EndSeating", pb.EndSeatingRequest, self._end_seating)
        self.unary("TopUpSeating", pb.TopUpSeatingRequest, self._top_up)
        self.unary("GetStacks", pb.GetStacksRequest, self._get_stacks)

    def permit(self, name: str, caller: Caller) -> None:
        """One of the method's scopes."""
        scopes = _SCOPES[name]
        if not caller.scopes.intersection(scopes):
            caller.require(scopes[0])

    async def _open_table(self, request: pb.OpenTableRequest, _: Caller, table_id: str) -> pb.OpenTableResponse:
        _check_name("name", request.name)
        stakes = Stakes()
        stakes.CopyFrom(request.stakes)
        await self._tables.execute(table_id, OpenTable(table_id, request.name, stakes, self._pace))
        return pb.OpenTableResponse(version=await self._version(table_id))

    async def _close_table(self, _: pb.CloseTableRequest, __: Caller, table_id: str) -> pb.CloseTableResponse:
        await self._tables.execute(table_id, CloseTable())
        version = await self._version(table_id)
        self._tables.forget(table_id)
        return pb.CloseTableResponse(version=version)

    async def _seat_player(self, request: pb.SeatPlayerRequest, _: Caller, table_id: str) -> pb.SeatPlayerResponse:
        _check_name("display_name", request.display_name)
        command = SeatPlayer(
            seating_id=uuid_of("seating_id", request.seating_id),
            player_id=uuid_of("player_id", request.player_id),
            display_name=request.display_name,
            seat=request.seat,
            stack=request.stack,
            time_bank_ms=max(0, request.time_bank_left_ms),
            time_bank_generation=max(0, request.time_bank_generation),
        )
        await self._tables.execute(table_id, command)
        return pb.SeatPlayerResponse(version=await self._version(table_id))

    async def _end_seating(self, request: pb.EndSeatingRequest, _: Caller, table_id: str) -> pb.EndSeatingResponse:
        command = EndSeating(uuid_of("seating_id", request.seating_id))
        ended: EndedSeating | None = await self._tables.execute(table_id, command)
        if ended is None:
            return pb.EndSeatingResponse(is_over=False, had_begun=True)
        return pb.EndSeatingResponse(
            is_over=True,
            final_stack=ended.final_stack,
            last_hand_number=ended.last_hand_number,
            had_begun=ended.had_begun,
        )

    async def _top_up(self, request: pb.TopUpSeatingRequest, _: Caller, table_id: str) -> pb.TopUpSeatingResponse:
        command = TopUp(
            uuid_of("seating_id", request.seating_id), uuid_of("top_up_id", request.top_up_id), request.amount
        )
        over: ToppedUp | None = await self._tables.execute(table_id, command)
        return pb.TopUpSeatingResponse(is_over=over is not None, added=over.added if over else 0)

    async def _get_stacks(self, _: pb.GetStacksRequest, __: Caller, table_id: str) -> pb.GetStacksResponse:
        live = await self._tables.loaded(table_id)
        state = live.state
        assert state is not None
        is_running = state.hand is not None
        return pb.GetStacksResponse(
            last_hand_number=state.hand_number - is_running,
            hand_running=is_running,
            stacks=[
                pb.GetStacksResponse.SeatStack(player_id=seat.player_id, stack=seat.stack)
                for _, seat in sorted(state.seats.items())
            ],
        )

    async def _version(self, table_id: str) -> int:
        live = await self._tables.loaded(table_id)
        assert live.state is not None
        return live.state.version


def _check_name(field: str, name: str) -> None:
    if not name.strip() or len(name) > NAME_MAX:
        text = f"{field} has {len(name)} characters: send 1 to {NAME_MAX}, not only spaces"
        raise InvalidArgument("INVALID_NAME", text, field=field)
