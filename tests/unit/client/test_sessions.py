"""A session keeps its view current whatever happens to the stream, and acts for the right turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from cardroom.client import check, errors
from cardroom.client.sessions import TableSession
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import view_pb2 as vw

ME = "me"
POLICY = CallPolicy(backoff=Backoff(first_seconds=0.0, max_seconds=0.0))


def failure(code: grpc.StatusCode) -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(), "", None)


class FakeStream:
    """A stream that gives its script, then hangs, ends or fails."""

    def __init__(self, *script: pb.PlayResponse | Exception, said: tuple[tuple[str, str], ...] = ()) -> None:
        self.script = list(script)
        self.said = said
        self.is_cancelled = False

    async def initial_metadata(self) -> tuple[tuple[str, str], ...]:
        return self.said

    async def read(self) -> Any:
        if not self.script:
            await asyncio.Event().wait()
        item = self.script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeConnection:
    """Gives the streams in turn, and keeps what was called."""

    def __init__(self, streams: Iterable[FakeStream] = ()) -> None:
        self.answers: list[Any] = []
        self.channel = grpc.aio.insecure_channel("127.0.0.1:1")
        self.policy = POLICY
        self.streams = list(streams)
        self.opened = 0
        self.renewals = 0
        self.requests: list[Any] = []
        self.along: list[Any] = []

    async def open_stream(self, method: Any, request: pb.PlayRequest, along: Any = ()) -> FakeStream:
        self.opened += 1
        self.along.append(along)
        return self.streams.pop(0)

    async def renew(self) -> bool:
        self.renewals += 1
        return True

    async def call(self, method: Any, request: Any, **options: Any) -> Any:
        self.requests.append(request)
        self.along.append(options.get("along", ()))
        return self.answers.pop(0) if self.answers else pb.ActResponse(turn=request.turn)


def seat(number: int, player_id: str) -> vw.SeatView:
    return vw.SeatView(seat=number, player_id=player_id, stack=100)


def snapshot(version: int, turn: vw.TurnView | None = None, own: str = "AhKd") -> pb.PlayResponse:
    view = vw.PublicView(table_id="t", version=version, seats=[seat(1, ME), seat(2, "you")])
    view.hand.CopyFrom(vw.HandView(hand_number=7, turn=turn))
    content = pb.Snapshot(view=view, own_cards=pb.OwnCards(hand_number=7, cards=own))
    return pb.PlayResponse(version=version, snapshot=content)


def change(version: int, **event: Any) -> pb.PlayResponse:
    return pb.PlayResponse(version=version, change=pb.Change(events=[vw.TableEvent(**event)]))


def turn(action_number: int, player_id: str = ME) -> vw.TurnView:
    return vw.TurnView(token=vw.TurnToken(hand_number=7, action_number=action_number), seat=1, player_id=player_id)


def stack(chips: int) -> dict[str, Any]:
    return {"stack_changed": vw.StackChanged(seat=1, stack=chips)}


def session(*streams: FakeStream) -> tuple[TableSession, FakeConnection]:
    connection = FakeConnection(streams)
    return TableSession(connection, "t", ME), connection  # type: ignore[arg-type]


async def test_a_snapshot_then_changes_keep_the_view_current() -> None:
    table, _ = session(
        FakeStream(snapshot(4), pb.PlayResponse(version=4, heartbeat=pb.Heartbeat()), change(5, **stack(70)))
    )
    first, second = await anext(table), await anext(table)
    assert (first.is_snapshot, first.version, second.is_snapshot, second.version) == (True, 4, False, 5)
    assert (table.view.version, table.view.seats[0].stack, table.own_cards) == (5, 70, "AhKd")


async def test_a_gap_in_the_versions_leads_to_a_new_snapshot() -> None:
    broken = FakeStream(snapshot(4), change(6, **stack(70)))
    table, connection = session(broken, FakeStream(snapshot(6)))
    updates = [await anext(table), await anext(table)]
    assert [(update.is_snapshot, update.version) for update in updates] == [(True, 4), (True, 6)]
    assert broken.is_cancelled
    assert (connection.opened, table.resyncs) == (2, 1)


@pytest.mark.parametrize(
    "code",
    [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED],
)
async def test_a_broken_stream_is_opened_again(code: grpc.StatusCode) -> None:
    table, connection = session(
        FakeStream(snapshot(4), failure(code)), FakeStream(failure(code)), FakeStream(snapshot(5))
    )
    assert [(await anext(table)).version, (await anext(table)).version] == [4, 5]
    assert connection.opened == 3


async def test_a_definite_refusal_is_raised() -> None:
    table, _ = session(FakeStream(failure(grpc.StatusCode.NOT_FOUND)))
    with pytest.raises(errors.NotFoundError):
        await anext(table)
    with pytest.raises(StopAsyncIteration):
        await anext(table)


async def test_too_many_streams_is_final_at_first_but_not_after_a_stream_that_worked() -> None:
    refused = failure(grpc.StatusCode.RESOURCE_EXHAUSTED)
    table, _ = session(FakeStream(refused))
    with pytest.raises(errors.ResourceExhaustedError):
        await anext(table)
    table, _ = session(
        FakeStream(snapshot(1), failure(grpc.StatusCode.UNAVAILABLE)), FakeStream(refused), FakeStream(snapshot(2))
    )
    assert [(await anext(table)).version, (await anext(table)).version] == [1, 2]


async def test_an_expired_token_is_renewed_and_the_stream_opened_again() -> None:
    table, connection = session(FakeStream(failure(grpc.StatusCode.UNAUTHENTICATED)), FakeStream(snapshot(1)))
    assert (await anext(table)).version == 1
    assert connection.renewals == 1


async def test_iterating_ends_when_the_player_has_left() -> None:
    stream = FakeStream(snapshot(4), change(5, player_left=vw.PlayerLeft(seat=1, player_id=ME)))
    table, _ = session(stream)
    assert [update.version async for update in table] == [4, 5]
    assert stream.is_cancelled


async def test_a_cancelled_reader_is_cancelled_and_closes_its_stream() -> None:
    stream = FakeStream(snapshot(4))
    table, _ = session(stream)
    await anext(table)
    reader = asyncio.ensure_future(anext(table))
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert stream.is_cancelled


async def test_own_cards_belong_to_their_hand_only() -> None:
    started = vw.HandStarted(hand_number=8)
    table, _ = session(FakeStream(snapshot(4), change(5, hand_started=started)))
    await anext(table)
    assert table.own_cards == "AhKd"
    await anext(table)
    assert table.own_cards == ""


async def test_an_action_answers_the_turn_that_is_on() -> None:
    table, connection = session(FakeStream(snapshot(4, turn(3))))
    await anext(table)
    await table.act(check())
    request = connection.requests[0]
    assert (request.table_id, request.turn.hand_number, request.turn.action_number) == ("t", 7, 3)


async def test_a_turn_is_mine_until_it_is_answered() -> None:
    table, _ = session(FakeStream(snapshot(4, turn(3)), change(5, turn_started=turn(4))))
    await anext(table)
    is_mine = [table.turn is not None]
    await table.act(check())
    is_mine.append(table.turn is not None)
    await anext(table)
    is_mine.append(table.turn is not None)
    assert is_mine == [True, False, True]


async def test_10_1_sitting_out_and_coming_back_say_what_was_seen_in_the_stream_or_an_answer() -> None:
    table, connection = session(FakeStream(snapshot(4), change(5, **stack(70)), snapshot(9)))
    connection.answers = [pb.SitOutResponse(version=7), pb.ComeBackResponse(version=7), pb.SitOutResponse(version=9)]
    await anext(table)
    await anext(table)
    await table.sit_out()
    await table.come_back()
    await anext(table)
    await table.sit_out()
    assert [request.seen_version for request in connection.requests] == [5, 7, 9]


async def test_acting_out_of_turn_sends_nothing() -> None:
    table, connection = session(FakeStream(snapshot(4, turn(3, "you"))))
    await anext(table)
    with pytest.raises(errors.NotYourTurnError):
        await table.act(check())
    assert not connection.requests


ELSEWHERE = (("cardroom-owner", "b3duZXI="), ("cardroom-forwarded", "1"))
HERE = (("cardroom-owner", "b3duZXI="),)
HINT = (("cardroom-replica", "b3duZXI="),)


async def test_a_stream_that_takes_a_detour_is_opened_anew_at_the_owner_without_a_resync() -> None:
    detour, direct = FakeStream(snapshot(1), said=ELSEWHERE), FakeStream(snapshot(1), said=HERE)
    connection = FakeConnection([detour, direct])
    session = TableSession(connection, "t", ME)  # type: ignore[arg-type]
    assert (await anext(session)).is_snapshot
    assert detour.is_cancelled
    assert connection.along == [(), HINT]
    assert session.resyncs == 0
    await session.close()


async def test_a_detour_that_cannot_be_avoided_is_taken() -> None:
    connection = FakeConnection([FakeStream(snapshot(1), said=ELSEWHERE), FakeStream(snapshot(1), said=ELSEWHERE)])
    session = TableSession(connection, "t", ME)  # type: ignore[arg-type]
    assert (await anext(session)).is_snapshot
    assert connection.opened == 2
    await session.close()


async def test_who_is_sent_away_by_the_owner_does_not_ask_it_for_the_new_one() -> None:
    moved = FakeStream(snapshot(1), failure(grpc.StatusCode.UNAVAILABLE), said=HERE)
    connection = FakeConnection([moved, FakeStream(snapshot(2), said=HERE)])
    session = TableSession(connection, "t", ME)  # type: ignore[arg-type]
    await anext(session)
    assert (await anext(session)).is_snapshot
    assert connection.along == [(), ()]
    await session.close()


async def test_actions_go_to_the_owner_too() -> None:
    connection = FakeConnection([FakeStream(snapshot(1, turn=vw.TurnView(player_id=ME)), said=HERE)])
    session = TableSession(connection, "t", ME)  # type: ignore[arg-type]
    await anext(session)
    await session.act(check())
    assert connection.along == [(), HINT]
    await session.close()
