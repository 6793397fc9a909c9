"""The owner of a table is killed or stalled in the middle of a hand."""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest

from cardroom.client import CardroomError, check
from cardroom.client.errors import from_rpc_error
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest
from cardroom.contracts.table.v1.table_pb2_grpc import TableServiceStub
from cardroom.contracts.table.v1.view_pb2 import TurnToken
from cardroom.local import Stack, StackOptions
from cardroom.local.services import Service
from tests.faults.owners import assert_log_is_sound, fetch, owner_of
from tests.party import QUICK, Guest, Party, assert_books_hold, party

BACK_SECONDS = 5


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, env={"table": QUICK})


def _what_must_stay(at: Party) -> tuple[object, ...]:
    hand = at.view.hand
    seats = [(seat.seat, seat.player_id, seat.stack) for seat in at.view.seats]
    players = [(p.seat, p.street_total, p.hand_total, p.status) for p in hand.players]
    return hand.hand_number, hand.board, hand.turn.token.action_number, hand.turn.player_id, seats, players


def _cards(at: Party) -> list[str]:
    return [guest.session.own_cards for guest in at.guests]


async def test_after_kill_9_of_the_owner_the_same_hand_goes_on_within_5_seconds(stack: Stack) -> None:
    async with party(stack) as at:
        await at.hold_in_the_middle_of_a_hand()
        before, cards = _what_must_stay(at), _cards(at)
        owner = await owner_of(stack, at.table.table_id)
        owner.kill()
        killed = time.monotonic()
        back = "a new snapshot for everyone"
        await at.until(back, lambda: all(g.session.resyncs and g.session.is_connected for g in at.guests))
        assert _what_must_stay(at) == before
        assert _cards(at) == cards
        await at.until("the same turn", lambda: at.actor is not None)
        assert at.actor is not None
        await at.actor.session.act(check())
        assert time.monotonic() - killed < BACK_SECONDS
        at.gate.set()
        await at.until_hands(2)
        await assert_log_is_sound(stack, at.table.table_id)
        await at.leave()
    await stack.repair()
    await assert_books_hold(stack)


async def test_an_owner_stalled_past_its_lease_changes_nothing_when_it_wakes(stack: Stack) -> None:
    async with party(stack) as at:
        actor = await at.hold_in_the_middle_of_a_hand()
        before = at.view.hand.hand_number
        owner = await owner_of(stack, at.table.table_id)
        epoch = await _epoch(stack, at.table.table_id)
        late = await _act_at_stalled(owner, actor, at, check())
        at.gate.set()
        await at.until_hands(2)
        assert at.view.hand.hand_number > before
        assert await owner_of(stack, at.table.table_id) is not owner
        owner.cont()
        answer = await late
        # The same action was taken by the new owner meanwhile: the repeat hears the first answer.
        assert answer is None, answer
        await at.until_hands(2)
        await assert_log_is_sound(stack, at.table.table_id)
        written = await fetch(
            stack, "table", "select distinct epoch from table_log where table_id = $1 order by 1", at.table.table_id
        )
        assert written[-1]["epoch"] > epoch
        await at.leave()
    await stack.repair()
    await assert_books_hold(stack)


async def test_the_same_action_sent_three_times_counts_once(stack: Stack) -> None:
    async with party(stack) as at:
        actor = await at.hold_in_the_middle_of_a_hand()
        version, turn = at.view.version, at.view.hand.turn.token
        raise_to = Action(kind=pb.ACTION_KIND_RAISE, amount=at.view.hand.turn.legal.raise_min)
        request = ActRequest(table_id=at.table.table_id, turn=turn, action=raise_to)
        connection = actor.player._connection
        stub = TableServiceStub(connection.channel)
        answers = await asyncio.gather(*(connection.call(stub.Act, request) for _ in range(3)))
        assert len({answer.SerializeToString(deterministic=True) for answer in answers}) == 1
        assert answers[0].version == version + 1
        await at.until("the raise", lambda: at.view.version == version + 1)
        again = await connection.call(stub.Act, request)
        assert again == answers[0]
        other = ActRequest(table_id=at.table.table_id, turn=turn, action=Action(kind=pb.ACTION_KIND_FOLD))
        with pytest.raises(CardroomError) as refused:
            await connection.call(stub.Act, other)
        assert refused.value.reason == "LATE_TURN"
        at.gate.set()
        await at.until_hands(1)
        assert await connection.call(stub.Act, request) == answers[0], "a repeat after the hand's end"
        await assert_log_is_sound(stack, at.table.table_id)
        await at.leave()
    await assert_books_hold(stack)


async def test_a_drained_owner_hands_over_and_nobody_notices_more_than_a_resync(stack: Stack) -> None:
    async with party(stack) as at:
        await at.hold_in_the_middle_of_a_hand()
        before, cards = _what_must_stay(at), _cards(at)
        owner = await owner_of(stack, at.table.table_id)
        assert await owner.terminate() == 0
        await at.until("everyone connected", lambda: all(g.session.is_connected for g in at.guests), seconds=10)
        assert _what_must_stay(at)[:4] == before[:4]
        assert _cards(at) == cards
        at.gate.set()
        await at.until_hands(2)
        assert [r.reason for g in at.guests for r in g.refusals if r.reason not in {"LATE_TURN", "NOT_YOUR_TURN"}] == []
        await at.leave()
    await stack.repair()
    await assert_books_hold(stack)


async def _act_at_stalled(
    owner: Service, actor: Guest, at: Party, action: Action
) -> asyncio.Task[CardroomError | None]:
    """Stall a replica and leave an action in its socket, as a request that was on its way."""
    token = await actor.player._connection._credentials.token()
    turn = TurnToken()
    turn.CopyFrom(at.view.hand.turn.token)
    request = ActRequest(table_id=at.table.table_id, turn=turn, action=action)
    channel = grpc.aio.insecure_channel(owner.place.address)
    await channel.channel_ready()
    owner.stop()

    async def act() -> CardroomError | None:
        async with channel:
            try:
                await TableServiceStub(channel).Act(
                    request, metadata=(("authorization", f"Bearer {token}"),), timeout=90
                )
            except grpc.aio.AioRpcError as refusal:
                return from_rpc_error(refusal)
        return None

    return asyncio.create_task(act())


async def _epoch(stack: Stack, table_id: str) -> int:
    rows = await fetch(stack, "table", "select max(epoch) as epoch from table_log where table_id = $1", table_id)
    return int(rows[0]["epoch"])
