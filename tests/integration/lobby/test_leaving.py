"""Leaving: by the player's wish or from the table's side, in a hand and between hands, and never without the chips."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.bus import EventBus, Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.lobby.v1 import lobby_pb2
from cardroom.contracts.table.v1 import view_pb2
from tests.integration.lobby.conftest import Lobby, refusal, until
from tests.integration.lobby.neighbours import GRANT, Stay

LEAVING, OVER = lobby_pb2.SEATING_STATE_LEAVING, lobby_pb2.SEATING_STATE_OVER


def stay_of(lobby: Lobby, player_id: str) -> Stay:
    return next(stay for stay in lobby.neighbours.stays.values() if stay and stay.player_id == player_id)


def end_at_table(lobby: Lobby, player_id: str, stack: int, hand_number: int = 1) -> None:
    """The table ends the player's stay by itself, as at the end of a hand; the wallet settles it."""
    stay = stay_of(lobby, player_id)
    stay.is_over, stay.stack, stay.last_hand_number = True, stack, hand_number
    lobby.neighbours.escrow[stay.table_id, player_id] = stack
    lobby.neighbours.version += 1


async def publish_left(bus: EventBus, table_id: str, player_id: str, version: int) -> None:
    event = view_pb2.TableEvent(player_left=view_pb2.PlayerLeft(seat=1, player_id=player_id))
    now = Timestamp()
    now.GetCurrentTime()
    change = events_pb2.TableChanged(table_id=table_id, version=version, events=[event], occurred_at=now)
    group = events_pb2.TablesChanged(changes=[change])
    await bus.publish([Message("table.changed", "cardroom.events.v1.TablesChanged", group.SerializeToString())])


@pytest.fixture(scope="module")
async def bus(amqp_url: str) -> Any:
    """The tables' way to the broker."""
    made = EventBus(amqp_url, "table")
    try:
        await made.start()
        await made.wait_connected()
        yield made
    finally:
        await made.stop()


async def test_10_3_between_hands_the_player_leaves_at_once_with_the_chips(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    answer = await ada.leave(table_id)
    assert (answer.seating.state, answer.cashed_out) == (OVER, 1000)
    assert lobby.neighbours.balance(ada.id) == GRANT
    assert await ada.seat() is None
    assert (await ada.leave(table_id)) == answer
    assert (await ada.sit(table_id)).seat == 1


async def test_a_request_to_leave_that_was_held_up_ends_no_later_stay(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    first = await ada.sit(table_id)
    answer = await ada.leave(table_id, first.seating_id)
    second = await ada.sit(table_id)
    assert await ada.leave(table_id, first.seating_id) == answer
    assert (await ada.seat()).seating_id == second.seating_id
    assert (await refusal(ada.leave(table_id, "the first one"))).reason == "NOT_SEATED"
    assert (await ada.leave(table_id, second.seating_id)).seating.state == OVER


async def test_10_3_in_a_hand_the_player_leaves_when_it_ends(lobby: Lobby, table_id: str, bus: EventBus) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    lobby.neighbours.hand_running = True
    assert (await ada.leave(table_id)).seating.state == LEAVING
    assert (await ada.seat()).state == LEAVING
    end_at_table(lobby, ada.id, 1400)
    await publish_left(bus, table_id, ada.id, lobby.neighbours.version)
    answer = await until(lambda: over(ada, table_id))
    assert answer.cashed_out == 1400
    assert lobby.neighbours.balance(ada.id) == GRANT + 400


async def over(player: Any, table_id: str) -> Any:
    answer = await player.leave(table_id)
    return answer if answer.seating.state == OVER else None


async def test_a_seat_ended_from_the_tables_side_is_cashed_out(lobby: Lobby, table_id: str, bus: EventBus) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    end_at_table(lobby, ada.id, 300)
    await publish_left(bus, table_id, ada.id, lobby.neighbours.version)

    async def gone() -> bool:
        return await ada.seat() is None

    await until(gone)
    assert lobby.neighbours.balance(ada.id) == GRANT - 700


async def test_a_late_event_of_an_earlier_stay_does_not_end_the_next(
    lobby: Lobby, table_id: str, bus: EventBus
) -> None:
    ada, ben = lobby.player(), lobby.player()
    await ada.sit(table_id)
    await ada.leave(table_id)
    left_at = lobby.neighbours.version
    await ada.sit(table_id)
    await ben.sit(table_id)
    await publish_left(bus, table_id, ada.id, left_at)
    end_at_table(lobby, ben.id, 1000)
    await publish_left(bus, table_id, ben.id, lobby.neighbours.version)

    async def ben_gone() -> bool:
        return await ben.seat() is None

    await until(ben_gone)
    assert (await ada.seat()).state == lobby_pb2.SEATING_STATE_SEATED


async def test_the_chips_wait_for_the_last_hands_settlement(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    lobby.neighbours.unsettled = True
    assert (await ada.leave(table_id)).seating.state == LEAVING
    error = await refusal(ada.sit(table_id))
    assert (error.reason, "still leaving" in error.message) == ("ALREADY_SEATED", True)
    lobby.neighbours.unsettled = False
    assert (await until(lambda: over(ada, table_id))).cashed_out == 1000


@pytest.mark.parametrize("method", ["EndSeating", "CashOut"])
@pytest.mark.parametrize("how", ["failing", "lost"])
async def test_the_seat_is_kept_until_the_chips_are_back(lobby: Lobby, table_id: str, method: str, how: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id, seat=1)
    faults: set[str] = getattr(lobby.neighbours, how)
    faults.add(method)
    assert (await ada.leave(table_id)).seating.state == LEAVING
    assert (await refusal(lobby.player().sit(table_id, seat=1))).reason == "SEAT_TAKEN"
    faults.clear()

    async def gone() -> bool:
        return await ada.seat() is None

    await until(gone)
    assert lobby.neighbours.balance(ada.id) == GRANT
    assert (await lobby.player().sit(table_id, seat=1)).seat == 1


async def test_who_leaves_is_told_so_soon_although_the_wallet_does_not_answer(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    lobby.neighbours.calls.clear()
    lobby.neighbours.hanging.add("CashOut")
    assert (await ada.leave(table_id)).seating.state == LEAVING
    assert lobby.neighbours.calls["CashOut"] == 1, "the answer did not even wait for the first try's end"
    lobby.neighbours.hanging.clear()
    assert (await until(lambda: over(ada, table_id))).cashed_out == 1000


async def test_who_leaves_before_being_seated_gets_everything_back(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    lobby.neighbours.failing.add("SeatPlayer")
    await refusal(ada.sit(table_id, request_id=request_id))
    answer = await ada.leave(table_id)
    assert answer.seating.state == OVER
    error = await refusal(ada.sit(table_id, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.ABORTED, "LEFT_BEFORE_SEATED")
    assert lobby.neighbours.held(ada.id) == 0
    assert lobby.neighbours.all_chips(ada.id) == GRANT


@pytest.mark.parametrize("where", ["0b0f7c5e-2f4e-4a35-9d38-b21bb9f6e6aa", "nonsense"])
async def test_leaving_a_table_where_one_does_not_sit_is_refused(lobby: Lobby, table_id: str, where: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    error = await refusal(ada.leave(where))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_SEATED")
    assert (await ada.seat()).state == lobby_pb2.SEATING_STATE_SEATED
