"""The lobby's gRPC handlers: they check who calls, translate, and call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import grpc

from cardroom.chassis import auth
from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby import asking, messages
from cardroom.lobby.answering import answer, told
from cardroom.lobby.domain import refusals, topping_up
from cardroom.lobby.domain.listing import Query, read_order
from cardroom.lobby.domain.seating import Seating, Step
from cardroom.lobby.domain.tables import Offer, Stakes, Table
from cardroom.lobby.offers import Offers
from cardroom.lobby.quick_seat import QuickRequest, QuickSeat
from cardroom.lobby.seats import Seats
from cardroom.lobby.store import SitRequest
from cardroom.lobby.top_up_store import TopUpRequest
from cardroom.lobby.top_ups import TopUps
from cardroom.lobby.watch_api import WatchApi

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

_STATES = {
    Step.RESERVED: lobby_pb2.SEATING_STATE_RESERVED,
    Step.HELD: lobby_pb2.SEATING_STATE_RESERVED,
    Step.AT_TABLE: lobby_pb2.SEATING_STATE_RESERVED,
    Step.UNDOING: lobby_pb2.SEATING_STATE_RESERVED,
    Step.VOIDING: lobby_pb2.SEATING_STATE_RESERVED,
    Step.SEATED: lobby_pb2.SEATING_STATE_SEATED,
    Step.LEAVING: lobby_pb2.SEATING_STATE_LEAVING,
    Step.CASHING_OUT: lobby_pb2.SEATING_STATE_LEAVING,
    Step.OVER: lobby_pb2.SEATING_STATE_OVER,
}


class LobbyApi(lobby_pb2_grpc.LobbyServiceServicer):
    """LobbyService: for players."""

    def __init__(self, offers: Offers, watch: WatchApi, seats: Seats, quick_seat: QuickSeat, top_ups: TopUps) -> None:
        self._offers = offers
        self._watch = watch
        self._seats = seats
        self._quick_seat = quick_seat
        self._top_ups = top_ups

    async def ListTables(self, request: lobby_pb2.ListTablesRequest, context: Context) -> lobby_pb2.ListTablesResponse:
        """List the open tables."""
        offers, token = await told(self._page(request), "LIST_UNFINISHED")
        return lobby_pb2.ListTablesResponse(tables=[messages.table(offer) for offer in offers], next_page_token=token)

    async def _page(self, request: lobby_pb2.ListTablesRequest) -> tuple[list[Offer], str]:
        wanted, order = messages.table_filter(request.filter), read_order(request.order_by)
        return await self._offers.page(Query(wanted, order, request.page_size, request.page_token))

    async def WatchTables(  # type: ignore[override]  # it writes its answers, which the generated types do not know
        self, request: lobby_pb2.WatchTablesRequest, context: Context
    ) -> None:
        """Stream the open tables."""
        await self._watch.watch_tables(request, context)

    async def GetTable(self, request: lobby_pb2.GetTableRequest, context: Context) -> lobby_pb2.GetTableResponse:
        """Show one open table."""
        offer = await told(self._offers.one(asking.table_id(request.table_id)), "LIST_UNFINISHED")
        return lobby_pb2.GetTableResponse(table=messages.table(offer))

    async def SitDown(self, request: lobby_pb2.SitDownRequest, context: Context) -> lobby_pb2.SitDownResponse:
        """Sit the caller down."""
        caller = auth.caller()
        ask = SitRequest(
            player_id=asking.player_id(caller),
            display_name=caller.name or "Guest",
            table_id=asking.table_id(request.table_id),
            seat=request.seat,
            buy_in=request.buy_in,
            request_id=asking.request_id(request.request_id),
        )
        seating = await told(self._seats.sit_down(ask), "SEATING_UNFINISHED")
        return lobby_pb2.SitDownResponse(seating=_seating(seating))

    async def QuickSeat(self, request: lobby_pb2.QuickSeatRequest, context: Context) -> lobby_pb2.QuickSeatResponse:
        """Sit the caller down at the best table of some stakes."""
        caller = auth.caller()
        ask = QuickRequest(
            player_id=asking.player_id(caller),
            display_name=caller.name or "Guest",
            wanted=messages.wanted(request.stakes),
            buy_in=request.buy_in,
            request_id=asking.request_id(request.request_id),
        )
        seating = await told(self._quick_seat.sit_down(ask), "SEATING_UNFINISHED")
        return lobby_pb2.QuickSeatResponse(seating=_seating(seating))

    async def LeaveTable(self, request: lobby_pb2.LeaveTableRequest, context: Context) -> lobby_pb2.LeaveTableResponse:
        """Let the caller leave."""
        player_id = asking.player_id(auth.caller())
        table_id, stay = asking.uuid_or_none(request.table_id), asking.uuid_or_none(request.seating_id)
        if table_id is None or (request.seating_id and stay is None):
            raise answer(refusals.not_seated(request.table_id))
        seating = await told(self._seats.leave(player_id, table_id, stay), "SEATING_UNFINISHED")
        return lobby_pb2.LeaveTableResponse(seating=_seating(seating), cashed_out=seating.cashed_out)

    async def TopUp(self, request: lobby_pb2.TopUpRequest, context: Context) -> lobby_pb2.TopUpResponse:
        """Bring more of the caller's chips to their table."""
        player_id, table_id = asking.player_id(auth.caller()), asking.uuid_or_none(request.table_id)
        if table_id is None:
            raise answer(refusals.not_seated(request.table_id))
        ask = TopUpRequest(player_id, table_id, request.amount, asking.request_id(request.request_id))
        top_up = await told(self._top_ups.top_up(ask), "TOP_UP_UNFINISHED")
        is_waiting = top_up.step is topping_up.Step.WAITING
        return lobby_pb2.TopUpResponse(
            state=lobby_pb2.TOP_UP_STATE_WAITING if is_waiting else lobby_pb2.TOP_UP_STATE_OVER,
            amount=top_up.amount,
            added=top_up.added,
        )

    async def GetMySeat(self, request: lobby_pb2.GetMySeatRequest, context: Context) -> lobby_pb2.GetMySeatResponse:
        """Say where the caller sits."""
        seating = await self._seats.where(asking.player_id(auth.caller()))
        return lobby_pb2.GetMySeatResponse(seating=_seating(seating) if seating else None)


class LobbyAdminApi(lobby_pb2_grpc.LobbyAdminServiceServicer):
    """LobbyAdminService: for operators."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers

    async def CreateTable(
        self, request: lobby_pb2.CreateTableRequest, context: Context
    ) -> lobby_pb2.CreateTableResponse:
        """Open a table."""
        auth.caller().require("operator")
        table = Table(str(uuid4()), asking.request_id(request.request_id), request.name, _stakes(request.stakes))
        offer = await told(self._offers.create(table), "OPENING_UNFINISHED")
        return lobby_pb2.CreateTableResponse(table=messages.table(offer))

    async def CloseTable(self, request: lobby_pb2.CloseTableRequest, context: Context) -> lobby_pb2.CloseTableResponse:
        """Close an empty table."""
        auth.caller().require("operator")
        await told(self._offers.close(asking.table_id(request.table_id)), "CLOSING_UNFINISHED")
        return lobby_pb2.CloseTableResponse()


def _seating(seating: Seating) -> lobby_pb2.Seating:
    leaving = seating.wants_out and seating.step is not Step.OVER
    return lobby_pb2.Seating(
        seating_id=seating.seating_id,
        table_id=seating.table_id,
        seat=seating.seat,
        buy_in=seating.buy_in,
        state=lobby_pb2.SEATING_STATE_LEAVING if leaving else _STATES[seating.step],
    )


def _stakes(stakes: view_pb2.Stakes) -> Stakes:
    return Stakes(
        game=int(stakes.game),
        small_blind=stakes.small_blind,
        big_blind=stakes.big_blind,
        ante=stakes.ante,
        min_buy_in=stakes.min_buy_in,
        max_buy_in=stakes.max_buy_in,
        seats=stakes.seats,
    )
