"""The lobby's gRPC handlers: they check who calls, translate, and call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid4

import grpc

from cardroom.chassis import auth
from cardroom.chassis import errors as answers
from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.domain import refusals, topping_up
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.seating import Seating, Step
from cardroom.lobby.domain.tables import Offer, Stakes, Table
from cardroom.lobby.errors import NotNow, Refused
from cardroom.lobby.neighbours import stakes_message
from cardroom.lobby.offers import Offers
from cardroom.lobby.seats import Seats
from cardroom.lobby.store import SitRequest
from cardroom.lobby.top_up_store import TopUpRequest
from cardroom.lobby.top_ups import TopUps

T = TypeVar("T")
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

    def __init__(self, offers: Offers, seats: Seats, top_ups: TopUps) -> None:
        self._offers = offers
        self._seats = seats
        self._top_ups = top_ups

    async def ListTables(self, request: lobby_pb2.ListTablesRequest, context: Context) -> lobby_pb2.ListTablesResponse:
        """List the open tables."""
        offers, token = await _told(self._offers.page(request.page_size, request.page_token), "LIST_UNFINISHED")
        return lobby_pb2.ListTablesResponse(tables=[_table(offer) for offer in offers], next_page_token=token)

    async def GetTable(self, request: lobby_pb2.GetTableRequest, context: Context) -> lobby_pb2.GetTableResponse:
        """Show one open table."""
        offer = await _told(self._offers.one(_table_id(request.table_id)), "LIST_UNFINISHED")
        return lobby_pb2.GetTableResponse(table=_table(offer))

    async def SitDown(self, request: lobby_pb2.SitDownRequest, context: Context) -> lobby_pb2.SitDownResponse:
        """Sit the caller down."""
        caller = auth.caller()
        ask = SitRequest(
            player_id=_player_id(caller),
            display_name=caller.name or "Guest",
            table_id=_table_id(request.table_id),
            seat=request.seat,
            buy_in=request.buy_in,
            request_id=_request_id(request.request_id),
        )
        seating = await _told(self._seats.sit_down(ask), "SEATING_UNFINISHED")
        return lobby_pb2.SitDownResponse(seating=_seating(seating))

    async def LeaveTable(self, request: lobby_pb2.LeaveTableRequest, context: Context) -> lobby_pb2.LeaveTableResponse:
        """Let the caller leave."""
        player_id = _player_id(auth.caller())
        table_id, stay = _uuid(request.table_id), _uuid(request.seating_id)
        if table_id is None or (request.seating_id and stay is None):
            raise _answer(refusals.not_seated(request.table_id))
        seating = await _told(self._seats.leave(player_id, table_id, stay), "SEATING_UNFINISHED")
        return lobby_pb2.LeaveTableResponse(seating=_seating(seating), cashed_out=seating.cashed_out)

    async def TopUp(self, request: lobby_pb2.TopUpRequest, context: Context) -> lobby_pb2.TopUpResponse:
        """Bring more of the caller's chips to their table."""
        player_id, table_id = _player_id(auth.caller()), _uuid(request.table_id)
        if table_id is None:
            raise _answer(refusals.not_seated(request.table_id))
        ask = TopUpRequest(player_id, table_id, request.amount, _request_id(request.request_id))
        top_up = await _told(self._top_ups.top_up(ask), "TOP_UP_UNFINISHED")
        is_waiting = top_up.step is topping_up.Step.WAITING
        return lobby_pb2.TopUpResponse(
            state=lobby_pb2.TOP_UP_STATE_WAITING if is_waiting else lobby_pb2.TOP_UP_STATE_OVER,
            amount=top_up.amount,
            added=top_up.added,
        )

    async def GetMySeat(self, request: lobby_pb2.GetMySeatRequest, context: Context) -> lobby_pb2.GetMySeatResponse:
        """Say where the caller sits."""
        seating = await self._seats.where(_player_id(auth.caller()))
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
        table = Table(str(uuid4()), _request_id(request.request_id), request.name, _stakes(request.stakes))
        offer = await _told(self._offers.create(table), "OPENING_UNFINISHED")
        return lobby_pb2.CreateTableResponse(table=_table(offer))

    async def CloseTable(self, request: lobby_pb2.CloseTableRequest, context: Context) -> lobby_pb2.CloseTableResponse:
        """Close an empty table."""
        auth.caller().require("operator")
        await _told(self._offers.close(_table_id(request.table_id)), "CLOSING_UNFINISHED")
        return lobby_pb2.CloseTableResponse()


async def _told(work: Awaitable[T], unfinished: str) -> T:
    try:
        return await work
    except Refused as no:
        raise _answer(no.refusal) from no
    except NotNow as why:
        raise answers.Unavailable(unfinished, f"{why}: send the same request again") from why


def _answer(refusal: Refusal) -> answers.CardroomError:
    return answers.make(grpc.StatusCode[refusal.code], refusal.reason, refusal.message, refusal.metadata)


def _uuid(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _table_id(text: str) -> str:
    known = _uuid(text)
    if known is None:
        raise _answer(refusals.invalid_table_id(text))
    return known


def _request_id(text: str) -> str:
    known = _uuid(text)
    if known is None:
        raise _answer(refusals.request_id_missing(text))
    return known


def _player_id(caller: auth.Caller) -> str:
    known = _uuid(caller.player_id)
    if known is None:
        raise answers.PermissionDenied("NOT_A_PLAYER", f"{caller.player_id[:80]!r} is no player's id: a UUID would be")
    return known


def _seating(seating: Seating) -> lobby_pb2.Seating:
    leaving = seating.wants_out and seating.step is not Step.OVER
    return lobby_pb2.Seating(
        seating_id=seating.seating_id,
        table_id=seating.table_id,
        seat=seating.seat,
        buy_in=seating.buy_in,
        state=lobby_pb2.SEATING_STATE_LEAVING if leaving else _STATES[seating.step],
    )


def _table(offer: Offer) -> lobby_pb2.Table:
    table = offer.table
    return lobby_pb2.Table(
        table_id=table.table_id,
        name=table.name,
        stakes=stakes_message(table.stakes),
        seats_taken=len(offer.taken_seats),
        average_pot=offer.average_pot,
        hands_per_hour=offer.hands_per_hour,
        free_seats=offer.free_seats,
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
