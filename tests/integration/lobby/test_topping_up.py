"""Topping up: funded at once, added between hands, paid in part or whole, cancelled by leaving (rule 10.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import grpc
import pytest

from cardroom.chassis.bus import EventBus, Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.lobby.v1 import lobby_pb2
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.domain.topping_up import Step
from cardroom.lobby.neighbours import GrpcTables, GrpcWallet
from cardroom.lobby.top_up_store import TopUpRequest, TopUpStore
from cardroom.lobby.top_ups import TopUpSaga
from tests.integration.lobby.conftest import Lobby, Player, refusal, until
from tests.integration.lobby.neighbours import GRANT, Neighbours
from tests.integration.lobby.test_crashes import Deadly, Killed

BUY_IN, WAITING, OVER = 1000, lobby_pb2.TOP_UP_STATE_WAITING, lobby_pb2.TOP_UP_STATE_OVER


async def seated(lobby: Lobby, table_id: str) -> Player:
    """A player with 1,000 chips at the table."""
    player = lobby.player()
    await player.sit(table_id, buy_in=BUY_IN)
    return player


def stay_of(neighbours: Neighbours, player: Player) -> Any:
    (stay,) = neighbours.seated(player.id)
    return stay


async def test_10_4_between_hands_the_chips_are_there_with_the_answer(
    lobby: Lobby, neighbours: Neighbours, table_id: str
) -> None:
    player = await seated(lobby, table_id)
    answer = await player.top_up(table_id, 300)
    assert (answer.state, answer.amount, answer.added) == (OVER, 300, 300)
    assert stay_of(neighbours, player).stack == BUY_IN + 300
    await until_posted(neighbours, table_id, player, BUY_IN + 300)


async def until_posted(neighbours: Neighbours, table_id: str, player: Player, chips: int) -> None:
    async def is_so() -> bool:
        return neighbours.escrow.get((table_id, player.id)) == chips and not neighbours.held(player.id)

    await until(is_so)
    assert neighbours.all_chips(player.id) == GRANT


async def test_10_4_only_up_to_the_biggest_buy_in_and_the_rest_is_free(
    lobby: Lobby, neighbours: Neighbours, table_id: str
) -> None:
    player = await seated(lobby, table_id)
    answer = await player.top_up(table_id, 1500)
    assert (answer.state, answer.added) == (OVER, 1000)
    await until_posted(neighbours, table_id, player, 2000)


async def test_10_4_during_a_hand_the_chips_are_set_aside_and_come_when_it_ends(
    lobby: Lobby, neighbours: Neighbours, table_id: str, amqp_url: str
) -> None:
    player = await seated(lobby, table_id)
    neighbours.hand_running = True
    request_id = str(uuid4())
    answer = await player.top_up(table_id, 300, request_id)
    assert (answer.state, answer.added) == (WAITING, 0)
    assert neighbours.held(player.id) == 300
    neighbours.hand_running = False
    neighbours.add_chips(stay_of(neighbours, player))
    await tell(amqp_url, table_id, player)
    await until_posted(neighbours, table_id, player, BUY_IN + 300)
    again = await player.top_up(table_id, 300, request_id)
    assert (again.state, again.added) == (OVER, 300)


async def tell(amqp_url: str, table_id: str, player: Player) -> None:
    """The table says that chips were added."""
    view = view_pb2.PublicView(seats=[view_pb2.SeatView(seat=1, player_id=player.id)])
    event = view_pb2.TableEvent(stack_changed=view_pb2.StackChanged(seat=1, stack=1300))
    change = events_pb2.TableChanged(table_id=table_id, version=200, events=[event], view=view)
    body = events_pb2.TablesChanged(changes=[change]).SerializeToString()
    bus = EventBus(amqp_url, "table")
    await bus.start()
    await bus.wait_connected()
    await bus.publish([Message("table.changed", "cardroom.events.v1.TableChanged", body, mandatory=False)])
    await bus.stop()


async def test_without_a_word_from_the_table_the_lobby_asks_again(
    lobby: Lobby, neighbours: Neighbours, table_id: str
) -> None:
    player = await seated(lobby, table_id)
    neighbours.hand_running = True
    await player.top_up(table_id, 300)
    neighbours.hand_running = False
    neighbours.add_chips(stay_of(neighbours, player))
    await until_posted(neighbours, table_id, player, BUY_IN + 300)


async def test_10_4_leaving_cancels_it_and_every_chip_comes_back(
    lobby: Lobby, neighbours: Neighbours, table_id: str
) -> None:
    player = await seated(lobby, table_id)
    neighbours.hand_running = True
    assert (await player.top_up(table_id, 300)).state == WAITING
    neighbours.hand_running = False
    answer = await player.leave(table_id)
    assert (answer.seating.state, answer.cashed_out) == (lobby_pb2.SEATING_STATE_OVER, BUY_IN)
    assert neighbours.held(player.id) == 0
    assert neighbours.balance(player.id) == GRANT


async def test_the_cash_out_waits_for_chips_that_the_table_has_added(
    lobby: Lobby, neighbours: Neighbours, table_id: str
) -> None:
    player = await seated(lobby, table_id)
    neighbours.failing.add("PostHold")
    answer = await player.top_up(table_id, 300)
    assert answer.added == 300
    assert (await player.leave(table_id)).seating.state == lobby_pb2.SEATING_STATE_LEAVING
    assert neighbours.calls["CashOut"] == 0
    neighbours.failing.clear()

    async def is_home() -> bool:
        return neighbours.balance(player.id) == GRANT and await player.seat() is None

    await until(is_home)
    assert neighbours.held(player.id) == 0


async def test_the_same_request_counts_once(lobby: Lobby, neighbours: Neighbours, table_id: str) -> None:
    player = await seated(lobby, table_id)
    request_id = str(uuid4())
    answers = await asyncio.gather(*[player.top_up(table_id, 300, request_id) for _ in range(5)])
    assert {answer.added for answer in answers} == {300}
    await until_posted(neighbours, table_id, player, BUY_IN + 300)


async def test_one_top_up_at_a_time(lobby: Lobby, neighbours: Neighbours, table_id: str) -> None:
    player = await seated(lobby, table_id)
    neighbours.hand_running = True
    await player.top_up(table_id, 300)
    request_id = str(uuid4())
    for _ in range(2):
        error = await refusal(player.top_up(table_id, 200, request_id))
        assert (error.reason, error.metadata["amount"]) == ("TOP_UP_PENDING", "300")
    assert neighbours.held(player.id) == 300


async def test_what_cannot_be_is_refused(lobby: Lobby, neighbours: Neighbours, table_id: str) -> None:
    player = await seated(lobby, table_id)
    for amount in (0, -1, 2001):
        error = await refusal(player.top_up(table_id, amount))
        assert (error.reason, error.metadata["max"]) == ("TOP_UP_OUT_OF_RANGE", "2000")
        assert "1 to 2000, of which as many are added as your stack is short of 2000" in error.message
    for amount in (0, -1):
        error = await refusal(lobby.player().top_up(table_id, amount))
        assert (error.reason, error.metadata) == ("TOP_UP_OUT_OF_RANGE", {"min": "1"})
    assert (await refusal(lobby.player().top_up(table_id, 2**62))).reason == "NOT_SEATED"
    assert (await refusal(player.top_up(table_id, 10, "7"))).reason == "REQUEST_ID_MISSING"
    assert (await refusal(player.top_up(str(uuid4()), 10))).reason == "NOT_SEATED"
    assert (await refusal(player.top_up("here", 10))).reason == "NOT_SEATED"
    assert (await refusal(lobby.player().top_up(table_id, 10))).reason == "NOT_SEATED"
    neighbours.balances[player.id] = BUY_IN // 10
    request_id = str(uuid4())
    for _ in range(2):
        error = await refusal(player.top_up(table_id, 500, request_id))
        assert (error.reason, error.metadata["available"]) == ("TOO_FEW_CHIPS", "100")
    assert (await refusal(player.top_up(table_id, 501, request_id))).reason == "REQUEST_ID_REUSED"


async def test_a_table_that_is_away_gets_the_chips_later(lobby: Lobby, neighbours: Neighbours, table_id: str) -> None:
    player = await seated(lobby, table_id)
    neighbours.lost.add("TopUpSeating")
    request_id = str(uuid4())
    assert (await refusal(player.top_up(table_id, 300, request_id))).reason == "TOP_UP_UNFINISHED"
    assert neighbours.held(player.id) == 300
    neighbours.lost.clear()
    await until_posted(neighbours, table_id, player, BUY_IN + 300)
    assert (await player.top_up(table_id, 300, request_id)).added == 300


@pytest.fixture
async def channel(neighbours: Neighbours) -> AsyncIterator[grpc.aio.Channel]:
    """The way to the neighbours, without a lobby."""
    async with grpc.aio.insecure_channel(neighbours.address) as made:
        yield made


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["hold_top_up", "top_up", "post_top_up", "void_top_up"])
async def test_a_top_up_that_was_cut_off_is_finished(
    lobby: Lobby, neighbours: Neighbours, table_id: str, channel: grpc.aio.Channel, call: str, when: str
) -> None:
    player = await seated(lobby, table_id)
    stay = stay_of(neighbours, player)
    full = call == "void_top_up"
    if full:
        stay.stack = neighbours.max_buy_in
    store = TopUpStore(lobby.pool)
    top_up, is_new = await store.add(TopUpRequest(player.id, table_id, 300, str(uuid4())))
    assert is_new
    deadly = TopUpSaga(store, Deadly(GrpcWallet(channel), call, when), Deadly(GrpcTables(channel), call, when))
    with pytest.raises(Killed):
        await deadly.advance(top_up)
    await lobby.pool.execute(
        "UPDATE top_ups SET claimed_until = now() - interval '1 s', due_at = now() WHERE step <> 'over'"
    )

    async def is_over() -> bool:
        return (await store.read(top_up.top_up_id)).step is Step.OVER

    await until(is_over)
    await until_posted(neighbours, table_id, player, BUY_IN if full else BUY_IN + 300)


async def test_two_lobbies_never_work_on_one_top_up(lobby: Lobby, neighbours: Neighbours, table_id: str) -> None:
    player = await seated(lobby, table_id)
    store = TopUpStore(lobby.pool)
    top_up, _ = await store.add(TopUpRequest(player.id, table_id, 300, str(uuid4())))
    assert await store.claim(top_up.top_up_id) is None
    assert await store.is_claimed(top_up.top_up_id)
    await lobby.pool.execute("UPDATE top_ups SET claimed_until = NULL WHERE top_up_id = $1", top_up.top_up_id)
