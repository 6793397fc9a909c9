"""WaitingService: places on waiting lists, for players."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.timestamp_pb2 import Timestamp
from prometheus_client import Gauge

from cardroom.chassis import auth
from cardroom.contracts.lobby.v1 import waiting_pb2, waiting_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby import asking, messages
from cardroom.lobby.answering import answer, told
from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.rooms import Wanted
from cardroom.lobby.domain.waiting import Ended, Entry
from cardroom.lobby.waiting_store import JoinRequest

if TYPE_CHECKING:
    import grpc

    from cardroom.chassis.admission import Admission
    from cardroom.lobby.waiting import WaitingLists
    from cardroom.lobby.waiting_feed import Wait, WaitingFeed, Waits

    Context = grpc.aio.ServicerContext[Any, Any]

SERVICE: Final = "cardroom.lobby.v1.WaitingService"
WATCHERS: Final = Gauge("cardroom_lobby_waiting_watchers", "Streams of waiting players on this replica.")

_ENDS: Final = {
    Ended.SEATED: waiting_pb2.WAITING_STATE_SEATED,
    Ended.LEFT: waiting_pb2.WAITING_STATE_LEFT,
    Ended.LAPSED: waiting_pb2.WAITING_STATE_LAPSED,
    Ended.TABLE_CLOSED: waiting_pb2.WAITING_STATE_TABLE_CLOSED,
    Ended.EXPIRED: waiting_pb2.WAITING_STATE_EXPIRED,
}


class WaitingApi(waiting_pb2_grpc.WaitingServiceServicer):
    """WaitingService."""

    def __init__(self, lists: WaitingLists, feed: WaitingFeed, admission: Admission) -> None:
        self._lists = lists
        self._feed = feed
        self._admission = admission

    async def JoinWaitingList(
        self, request: waiting_pb2.JoinWaitingListRequest, context: Context
    ) -> waiting_pb2.JoinWaitingListResponse:
        """Put the caller on a list."""
        player_id = asking.player_id(auth.caller())
        ask = JoinRequest(player_id, asking.request_id(request.request_id), *_list(request))
        entry = await told(self._lists.join(ask), "JOINING_UNFINISHED")
        return waiting_pb2.JoinWaitingListResponse(entry=await self._shown(player_id, entry))

    async def LeaveWaitingList(
        self, request: waiting_pb2.LeaveWaitingListRequest, context: Context
    ) -> waiting_pb2.LeaveWaitingListResponse:
        """Take the caller off a list."""
        player_id, entry_id = asking.player_id(auth.caller()), asking.uuid_or_none(request.entry_id)
        if entry_id is None:
            raise answer(refusals.waiting_entry_unknown(request.entry_id))
        entry = await told(self._lists.leave(player_id, entry_id), "LEAVING_UNFINISHED")
        return waiting_pb2.LeaveWaitingListResponse(entry=await self._shown(player_id, entry))

    async def GetMyWaiting(
        self, request: waiting_pb2.GetMyWaitingRequest, context: Context
    ) -> waiting_pb2.GetMyWaitingResponse:
        """Say what the caller waits for."""
        waits = await self._feed.of(asking.player_id(auth.caller()))
        return waiting_pb2.GetMyWaitingResponse(waiting=_waiting(waits))

    async def WatchMyWaiting(
        self, request: waiting_pb2.WatchMyWaitingRequest, context: Context
    ) -> AsyncIterator[waiting_pb2.WatchMyWaitingResponse]:
        """Stream what the caller waits for."""
        player_id = asking.player_id(auth.caller())
        with self._admission.admit(player_id):
            async for waits in self._feed.watch(player_id):
                if waits is None:
                    yield waiting_pb2.WatchMyWaitingResponse(heartbeat=waiting_pb2.WaitingHeartbeat())
                else:
                    yield waiting_pb2.WatchMyWaitingResponse(waiting=_waiting(waits))

    async def _shown(self, player_id: str, entry: Entry) -> waiting_pb2.WaitingEntry:
        waits = await self._feed.of(player_id)
        # One that ended long ago is no longer told of; its answer stays the same.
        return next(
            (_entry(wait.entry, wait) for wait in waits if wait.entry.entry_id == entry.entry_id), _entry(entry)
        )


def _list(request: waiting_pb2.JoinWaitingListRequest) -> tuple[str | None, Wanted | None]:
    named = request.WhichOneof("list")
    if named == "table_id":
        return asking.table_id(request.table_id), None
    if named is None:
        raise answer(refusals.waiting_list_missing())
    return None, messages.wanted(request.stakes)


def _waiting(waits: Waits) -> waiting_pb2.Waiting:
    return waiting_pb2.Waiting(entries=[_entry(wait.entry, wait) for wait in waits])


def _entry(entry: Entry, wait: Wait | None = None) -> waiting_pb2.WaitingEntry:
    message = waiting_pb2.WaitingEntry(
        entry_id=entry.entry_id,
        joined_at=_moment(entry.joined_at),
        state=_state(entry),
        position=wait.place if wait else 0,
    )
    if entry.table_id is not None:
        message.table_id = entry.table_id
    else:
        stakes = entry.wanted
        message.stakes.CopyFrom(
            waiting_pb2.WantedStakes(
                game=view_pb2.Game.ValueType(stakes.game),
                small_blind=stakes.small_blind,
                big_blind=stakes.big_blind,
                ante=stakes.ante,
                seats=stakes.seats,
            )
        )
    if entry.reservation is not None:
        kept = entry.reservation
        message.reserved.CopyFrom(
            waiting_pb2.ReservedSeat(
                table_id=kept.table_id,
                seat=kept.seat,
                reserved_until=_moment(kept.until),
                left_ms=wait.left_ms if wait and entry.ended is None else 0,
            )
        )
    return message


def _moment(when: datetime) -> Timestamp:
    moment = Timestamp()
    moment.FromDatetime(when)
    return moment


def _state(entry: Entry) -> waiting_pb2.WaitingState.ValueType:
    if entry.ended is not None:
        return _ENDS[entry.ended]
    if entry.seating_id is not None:
        return waiting_pb2.WAITING_STATE_SITTING_DOWN
    if entry.reservation is not None:
        return waiting_pb2.WAITING_STATE_SEAT_RESERVED
    return waiting_pb2.WAITING_STATE_WAITING
