"""What a player waits for stays current whatever happens to its stream; and the calls say what their arguments say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from cardroom.client import PlayerClient, WaitingSession, errors, wanted_stakes
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.client.waiting import is_over
from cardroom.contracts.lobby.v1 import lobby_pb2
from cardroom.contracts.lobby.v1 import waiting_pb2 as pb
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM

WAITING, KEPT, LAPSED = pb.WAITING_STATE_WAITING, pb.WAITING_STATE_SEAT_RESERVED, pb.WAITING_STATE_LAPSED


class FakeStream:
    """A stream that gives its script, then hangs or fails."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)

    async def read(self) -> Any:
        if not self.script:
            await asyncio.Event().wait()
        item = self.script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item

    def cancel(self) -> None:
        self.script.clear()


class FakeConnection:
    """Gives the streams in turn, answers from a list, keeps the requests."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.policy = CallPolicy(backoff=Backoff(first_seconds=0.0, max_seconds=0.0))
        self.streams: list[FakeStream] = []
        self.answers: list[Any] = []
        self.requests: list[Any] = []

    async def open_stream(self, method: Any, request: Any) -> FakeStream:
        return self.streams.pop(0)

    async def call(self, method: Any, request: Any, *, is_safe_to_repeat: bool = True) -> Any:
        assert is_safe_to_repeat
        self.requests.append(request)
        return self.answers.pop(0)


@pytest.fixture
async def connection() -> AsyncIterator[FakeConnection]:
    channel = grpc.aio.insecure_channel("127.0.0.1:1")
    yield FakeConnection(channel)
    await channel.close(None)


@pytest.fixture
def player(connection: FakeConnection) -> PlayerClient:
    return PlayerClient(connection, "me", "Ann")  # type: ignore[arg-type]


def session(connection: FakeConnection, *streams: FakeStream) -> WaitingSession:
    connection.streams = list(streams)
    return WaitingSession(connection)  # type: ignore[arg-type]


def told(state: pb.WaitingState.ValueType, position: int = 0, left_ms: int = 0) -> pb.WatchMyWaitingResponse:
    entry = pb.WaitingEntry(entry_id="e", state=state, position=position)
    if left_ms:
        entry.reserved.CopyFrom(pb.ReservedSeat(table_id="t", seat=3, left_ms=left_ms))
    return pb.WatchMyWaitingResponse(waiting=pb.Waiting(entries=[entry]))


HEARTBEAT = pb.WatchMyWaitingResponse(heartbeat=pb.WaitingHeartbeat())


async def test_each_message_is_all_of_it_and_heartbeats_are_none(connection: FakeConnection) -> None:
    waiting = session(connection, FakeStream(told(WAITING, 2), HEARTBEAT, told(WAITING, 1), told(KEPT, 0, 60_000)))
    assert [(await anext(waiting)).entries[0].position for _ in range(2)] == [2, 1]
    assert waiting.seat_kept() is None
    await anext(waiting)
    entry = waiting.seat_kept()
    assert entry is not None
    assert entry.reserved.seat == 3
    assert (waiting.resyncs, waiting.is_connected) == (0, True)


async def test_what_is_left_of_the_60_s_runs_by_the_clock_here(connection: FakeConnection) -> None:
    waiting = session(connection, FakeStream(told(KEPT, 0, 60_000)))
    entry = (await anext(waiting)).entries[0]
    assert 59 < waiting.seconds_left(entry) <= 60
    waiting._told_at -= 45
    assert 14 < waiting.seconds_left(entry) <= 15
    waiting._told_at -= 45
    assert waiting.seconds_left(entry) == 0
    assert waiting.seconds_left(pb.WaitingEntry()) == 0


async def test_a_broken_stream_is_opened_again(connection: FakeConnection) -> None:
    gone = AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "", None)
    waiting = session(connection, FakeStream(told(WAITING, 2), gone), FakeStream(told(LAPSED)))
    assert is_over((await anext(waiting)).entries[0]) is False
    assert is_over((await anext(waiting)).entries[0]) is True
    assert waiting.resyncs == 1


async def test_too_many_streams_is_final(connection: FakeConnection) -> None:
    refused = AioRpcError(grpc.StatusCode.RESOURCE_EXHAUSTED, Metadata(), Metadata(), "", None)
    with pytest.raises(errors.ResourceExhaustedError):
        await anext(session(connection, FakeStream(refused)))


async def test_a_list_is_named_by_its_table_or_its_stakes(player: PlayerClient, connection: FakeConnection) -> None:
    connection.answers = [pb.JoinWaitingListResponse(entry=pb.WaitingEntry(entry_id=name)) for name in "abc"]
    stakes = wanted_stakes(10, 20, ante=5, seats=6)
    assert stakes == pb.WantedStakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=10, big_blind=20, ante=5, seats=6)
    entries = [
        await player.join_waiting_list("t"),
        await player.join_waiting_list(stakes),
        await player.join_waiting_list("t", request_id="mine"),
    ]
    assert [entry.entry_id for entry in entries] == ["a", "b", "c"]
    first, second, third = connection.requests
    assert (first.WhichOneof("list"), first.table_id) == ("table_id", "t")
    assert (second.WhichOneof("list"), second.stakes) == ("stakes", stakes)
    assert third.request_id == "mine"
    assert len({first.request_id, second.request_id, ""}) == 3


async def test_leaving_and_looking(player: PlayerClient, connection: FakeConnection) -> None:
    entry = pb.WaitingEntry(entry_id="e", state=LAPSED)
    connection.answers = [
        pb.LeaveWaitingListResponse(entry=entry),
        pb.GetMyWaitingResponse(waiting=pb.Waiting(entries=[entry])),
    ]
    assert await player.leave_waiting_list("e") == entry
    assert await player.my_waiting() == [entry]
    assert connection.requests[0].entry_id == "e"


async def test_a_quick_seat_says_stakes_and_buy_in(player: PlayerClient, connection: FakeConnection) -> None:
    connection.answers = [lobby_pb2.QuickSeatResponse(seating=lobby_pb2.Seating(seat=4))]
    assert (await player.quick_seat(wanted_stakes(10, 20), 1000)).seat == 4
    (request,) = connection.requests
    assert (request.stakes.big_blind, request.buy_in, len(request.request_id)) == (20, 1000, 36)
