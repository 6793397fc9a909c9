"""Sitting down: what comes of it, what is refused and why, and that a refusal changes nothing."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import grpc
import pytest

from cardroom.contracts.lobby.v1 import lobby_pb2
from tests.integration.lobby.conftest import Lobby, refusal, token, until
from tests.integration.lobby.neighbours import GRANT


async def test_a_player_sits_with_chips_in_escrow_under_their_name_and_with_their_bank(
    lobby: Lobby, table_id: str
) -> None:
    ada = lobby.player(name="Ada L.")
    seating = await ada.sit(table_id, seat=3, buy_in=1500)
    assert (seating.table_id, seating.seat, seating.buy_in) == (table_id, 3, 1500)
    assert seating.state == lobby_pb2.SEATING_STATE_SEATED
    assert lobby.neighbours.balance(ada.id) == GRANT - 1500
    assert lobby.neighbours.escrow[table_id, ada.id] == 1500
    (stay,) = lobby.neighbours.seated(ada.id)
    assert (stay.seat, stay.stack, stay.display_name, stay.time_bank_left_ms) == (3, 1500, "Ada L.", 21_000)
    assert stay.time_bank_generation == 7
    assert (await ada.seat()) == seating


async def test_any_seat_is_the_first_free_one(lobby: Lobby, table_id: str) -> None:
    await lobby.player().sit(table_id, seat=1)
    assert (await lobby.player().sit(table_id)).seat == 2
    table = await lobby.player().table(table_id)
    assert (table.seats_taken, list(table.free_seats)) == (2, [3, 4, 5, 6])


async def test_a_clock_that_is_down_keeps_nobody_from_a_seat(lobby: Lobby, table_id: str) -> None:
    lobby.neighbours.failing.add("GetTimeBank")
    ada = lobby.player()
    await ada.sit(table_id)
    (stay,) = lobby.neighbours.seated(ada.id)
    assert (stay.time_bank_left_ms, stay.time_bank_generation) == (30_000, 0)


async def test_a_repeat_gets_the_first_outcome_again(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    first = await ada.sit(table_id, request_id=request_id)
    assert await ada.sit(table_id, request_id=request_id) == first
    assert lobby.neighbours.calls["PlaceHold"] == 1


async def test_the_same_request_sent_at_once_sits_down_once(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    outcomes = await asyncio.gather(*(ada.sit(table_id, request_id=request_id) for _ in range(5)))
    assert len({one.seating_id for one in outcomes}) == 1
    assert lobby.neighbours.all_chips(ada.id) == GRANT


@pytest.mark.parametrize(
    ("asked", "code", "reason", "metadata"),
    [
        ({"seat": 7}, "INVALID_ARGUMENT", "INVALID_SEAT", {}),
        ({"seat": -1}, "INVALID_ARGUMENT", "INVALID_SEAT", {}),
        ({"buy_in": 799}, "INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", {"min": "800", "max": "2000"}),
        ({"buy_in": 2001}, "INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", {"min": "800", "max": "2000"}),
        ({"request_id": "x"}, "INVALID_ARGUMENT", "REQUEST_ID_MISSING", {}),
        ({"table_id": "7c3a1f0e-0000-4000-8000-000000000000"}, "NOT_FOUND", "TABLE_UNKNOWN", {}),
        ({"table_id": "nonsense"}, "NOT_FOUND", "TABLE_UNKNOWN", {}),
    ],
)
async def test_what_can_never_be_right_is_refused(
    lobby: Lobby, table_id: str, asked: dict[str, object], code: str, reason: str, metadata: dict[str, str]
) -> None:
    ada = lobby.player()
    error = await refusal(ada.sit(**({"table_id": table_id} | asked)))  # type: ignore[arg-type]
    assert (error.code, error.reason) == (grpc.StatusCode[code], reason)
    assert error.metadata == metadata
    assert await ada.seat() is None
    assert lobby.neighbours.calls["PlaceHold"] == 0


async def test_a_taken_seat_is_refused(lobby: Lobby, table_id: str) -> None:
    await lobby.player().sit(table_id, seat=2)
    error = await refusal(lobby.player().sit(table_id, seat=2))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEAT_TAKEN")


async def test_a_full_table_is_refused_and_a_repeat_is_refused_again(lobby: Lobby, table_id: str) -> None:
    players = [lobby.player() for _ in range(6)]
    await asyncio.gather(*(player.sit(table_id) for player in players))
    late, request_id = lobby.player(), str(uuid4())
    error = await refusal(late.sit(table_id, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TABLE_FULL")
    await players[0].leave(table_id)
    assert (await refusal(late.sit(table_id, request_id=request_id))).reason == "TABLE_FULL"
    assert (await late.sit(table_id)).seat >= 1


async def test_10_5_a_second_seat_is_refused_with_the_way_back_to_the_first(lobby: Lobby, table_id: str) -> None:
    ada, other = lobby.player(), (await lobby.create()).table_id
    await ada.sit(table_id, seat=4)
    error = await refusal(ada.sit(other))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SEATED")
    assert error.metadata == {"table_id": table_id, "seat": "4"}
    assert f"GET /v1/tables/{table_id}/play" in error.message


async def test_10_5_races_for_two_tables_end_at_one(lobby: Lobby, second_lobby: Lobby) -> None:
    lobbies = [lobby, second_lobby]
    tables = [(await lobbies[0].create()).table_id for _ in range(4)]
    ada_id = str(uuid4())
    ada = [lobbies[i % 2].player(ada_id) for i in range(4)]
    outcomes = await asyncio.gather(
        *(player.sit(table) for player, table in zip(ada, tables, strict=True)), return_exceptions=True
    )
    assert sum(isinstance(one, lobby_pb2.Seating) for one in outcomes) == 1
    assert len(lobbies[0].neighbours.seated(ada[0].id)) == 1
    assert lobbies[0].neighbours.all_chips(ada[0].id) == GRANT


async def test_races_for_one_seat_end_with_one_player_on_it(lobby: Lobby, second_lobby: Lobby) -> None:
    lobbies = [lobby, second_lobby]
    table_id = (await lobbies[0].create()).table_id
    players = [lobbies[i % 2].player() for i in range(8)]
    outcomes = await asyncio.gather(*(one.sit(table_id, seat=5) for one in players), return_exceptions=True)
    assert sum(isinstance(one, lobby_pb2.Seating) for one in outcomes) == 1
    assert sum(len(lobbies[0].neighbours.seated(one.id)) for one in players) == 1


async def test_too_few_chips_are_refused_and_the_seat_is_free_again(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    lobby.neighbours.balances[ada.id] = 900
    error = await refusal(ada.sit(table_id, seat=1, buy_in=1000, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TOO_FEW_CHIPS")
    assert error.metadata == {"available": "900"}
    assert await ada.seat() is None
    lobby.neighbours.balances[ada.id] = 5000
    assert (await refusal(ada.sit(table_id, seat=1, buy_in=1000, request_id=request_id))).reason == "TOO_FEW_CHIPS"
    assert (await lobby.player().sit(table_id, seat=1)).seat == 1


async def test_a_request_id_with_other_content_is_refused(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    await ada.sit(table_id, request_id=request_id)
    error = await refusal(ada.sit(table_id, buy_in=1001, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


async def test_a_seat_that_the_table_refuses_is_undone_and_remembered(lobby: Lobby, table_id: str) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    first = await lobby.player().sit(table_id, seat=1)
    await lobby.pool.execute("UPDATE seatings SET step = 'over' WHERE seating_id = $1", first.seating_id)
    error = await refusal(ada.sit(table_id, seat=1, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEAT_TAKEN")
    assert (await refusal(ada.sit(table_id, seat=1, request_id=request_id))).reason == "SEAT_TAKEN"
    assert lobby.neighbours.held(ada.id) == 0
    assert lobby.neighbours.all_chips(ada.id) == GRANT
    assert await ada.seat() is None


@pytest.mark.parametrize("method", ["PlaceHold", "SeatPlayer", "PostHold"])
@pytest.mark.parametrize("how", ["failing", "lost"])
async def test_a_neighbour_that_is_down_leaves_the_seating_unfinished_until_it_is_back(
    lobby: Lobby, table_id: str, method: str, how: str
) -> None:
    ada, request_id = lobby.player(), str(uuid4())
    faults: set[str] = getattr(lobby.neighbours, how)
    faults.add(method)
    error = await refusal(ada.sit(table_id, request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "SEATING_UNFINISHED")
    assert (await ada.seat()).state == lobby_pb2.SEATING_STATE_RESERVED
    faults.clear()

    async def sits() -> Any:
        return (await ada.seat()).state == lobby_pb2.SEATING_STATE_SEATED

    await until(sits)
    assert (await ada.sit(table_id, request_id=request_id)).state == lobby_pb2.SEATING_STATE_SEATED
    assert lobby.neighbours.escrow[table_id, ada.id] == 1000
    assert lobby.neighbours.all_chips(ada.id) == GRANT


async def test_only_players_sit_and_only_with_a_token(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    ada._who = ()
    assert (await refusal(ada.sit(table_id))).code == grpc.StatusCode.UNAUTHENTICATED
    ada._who = token("service:wallet", "wallet.read")
    assert (await refusal(ada.sit(table_id))).reason == "NOT_A_PLAYER"
    ada._who = token("not-a-uuid")
    assert (await refusal(ada.sit(table_id))).reason == "NOT_A_PLAYER"
