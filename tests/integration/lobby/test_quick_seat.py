"""A quick seat: the best table of some stakes, the next one when somebody was faster, and why there is none."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import grpc
import pytest

from cardroom.contracts.lobby.v1 import lobby_pb2, waiting_pb2
from tests.integration.lobby.conftest import Lobby, refusal, token, until
from tests.integration.lobby.neighbours import GRANT
from tests.integration.lobby.waiters import (
    KEPT,
    SEATED,
    fresh_blind,
    full_table,
    stakes,
    table_at,
    waiter,
)


async def sits(lobby: Lobby, table_id: str, players: int) -> None:
    for _ in range(players):
        await lobby.player().sit(table_id)


async def test_it_is_the_fullest_table_with_a_free_seat_and_the_chips_are_there(lobby: Lobby) -> None:
    blind = fresh_blind()
    await full_table(lobby, blind)
    await sits(lobby, await table_at(lobby, blind, 6), 1)
    lively = await table_at(lobby, blind, 6)
    await sits(lobby, lively, 3)
    await table_at(lobby, blind, 6)
    ada = waiter(lobby)
    seating = await ada.quick(stakes(blind), 1200)
    assert (seating.table_id, seating.seat, seating.buy_in) == (lively, 4, 1200)
    assert seating.state == lobby_pb2.SEATING_STATE_SEATED
    assert lobby.neighbours.escrow[lively, ada.id] == 1200
    assert (await ada.seat()) == seating


async def test_seats_and_buy_in_limit_the_choice(lobby: Lobby) -> None:
    blind = fresh_blind()
    small, big = await table_at(lobby, blind, 2), await table_at(lobby, blind, 9)
    dear = await table_at(lobby, blind, 9, min_buy_in=1900)
    await sits(lobby, big, 3)
    await waiter(lobby).sit(dear, buy_in=1900)
    assert (await waiter(lobby).quick(stakes(blind, seats=2))).table_id == small
    assert (await waiter(lobby).quick(stakes(blind))).table_id == big
    error = await refusal(waiter(lobby).quick(stakes(blind), 2001))
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BUY_IN_OUT_OF_RANGE")
    assert error.metadata == {"min": "800", "max": "2000"}


async def test_the_kept_seat_comes_first_and_is_taken_by_it(lobby: Lobby) -> None:
    blind = fresh_blind()
    table_id, sitting = await full_table(lobby, blind)
    player, second = waiter(lobby), waiter(lobby)
    await player.join(stakes(blind))
    await second.join(table_id)
    await sitting[0].leave(table_id)
    kept = (await player.until_state(KEPT)).reserved
    await sits(lobby, await table_at(lobby, blind, 6), 3)
    seating = await player.quick(stakes(blind))
    assert (seating.table_id, seating.seat) == (kept.table_id, kept.seat)
    await player.until_state(SEATED)


async def test_with_no_seat_free_it_says_to_wait_and_a_repeat_says_it_again(lobby: Lobby) -> None:
    blind = fresh_blind()
    table_id, sitting = await full_table(lobby, blind)
    player, request_id = waiter(lobby), str(uuid4())
    error = await refusal(player.quick(stakes(blind), request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "STAKES_FULL")
    assert "join the waiting list" in error.message
    await sitting[0].leave(table_id)
    assert (await refusal(player.quick(stakes(blind), request_id=request_id))).reason == "STAKES_FULL"
    assert (await player.quick(stakes(blind))).table_id == table_id


async def test_those_who_wait_come_first(lobby: Lobby) -> None:
    blind = fresh_blind()
    table_id, sitting = await full_table(lobby, blind)
    first, newcomer = waiter(lobby), waiter(lobby)
    await first.join(stakes(blind))
    await sitting[0].leave(table_id)
    assert (await refusal(newcomer.quick(stakes(blind)))).reason == "STAKES_FULL"
    assert (await first.until_state(KEPT)).reserved.table_id == table_id
    # Beside the kept seat there is room for others.
    other = await table_at(lobby, blind)
    assert (await newcomer.quick(stakes(blind))).table_id == other


async def test_a_repeat_gets_the_first_outcome_again_at_once_and_later(lobby: Lobby, second_lobby: Lobby) -> None:
    blind, player_id, request_id = fresh_blind(), str(uuid4()), str(uuid4())
    tables = {await table_at(lobby, blind) for _ in range(3)}
    players = [waiter([lobby, second_lobby][i % 2], player_id) for i in range(6)]
    outcomes = await asyncio.gather(*(one.quick(stakes(blind), request_id=request_id) for one in players))
    assert len({one.seating_id for one in outcomes}) == 1
    assert outcomes[0].table_id in tables
    await sits(lobby, next(iter(tables - {outcomes[0].table_id})), 2)
    assert (await players[0].quick(stakes(blind), request_id=request_id)) == outcomes[0]
    assert lobby.neighbours.all_chips(player_id) == GRANT
    for other in (
        players[0].quick(stakes(blind, seats=2), request_id=request_id),
        players[0].quick(stakes(blind), 1001, request_id),
        players[0].sit(outcomes[0].table_id, request_id=request_id),
    ):
        error = await refusal(other)
        assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


async def test_a_request_to_sit_down_is_none_for_a_quick_seat(lobby: Lobby) -> None:
    blind, player, request_id = fresh_blind(), waiter(lobby), str(uuid4())
    await player.sit(await table_at(lobby, blind), request_id=request_id)
    assert (await refusal(player.quick(stakes(blind), request_id=request_id))).reason == "REQUEST_ID_REUSED"


async def test_many_at_once_fill_table_after_table_and_the_last_are_told(lobby: Lobby, second_lobby: Lobby) -> None:
    blind = fresh_blind()
    tables = [await table_at(lobby, blind) for _ in range(3)]
    players = [waiter([lobby, second_lobby][i % 2]) for i in range(9)]
    outcomes = await asyncio.gather(*(one.quick(stakes(blind)) for one in players), return_exceptions=True)
    seated = [one for one in outcomes if isinstance(one, lobby_pb2.Seating)]
    assert sorted((one.table_id, one.seat) for one in seated) == sorted((t, s) for t in tables for s in (1, 2))
    for refused in set(map(id, outcomes)) - set(map(id, seated)):
        error = next(one for one in outcomes if id(one) == refused)
        assert (await refusal(_raising(error))).reason == "STAKES_FULL"
    assert sum(len(lobby.neighbours.seated(one.id)) for one in players) == 6


async def _raising(error: Any) -> None:
    raise error


async def test_10_5_who_sits_is_told_where(lobby: Lobby, table_id: str) -> None:
    blind, player = fresh_blind(), waiter(lobby)
    await full_table(lobby, blind)
    await player.sit(table_id, seat=2)
    error = await refusal(player.quick(stakes(blind)))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SEATED")
    assert error.metadata == {"table_id": table_id, "seat": "2"}


async def test_too_few_chips_are_refused_and_the_seat_is_free_again(lobby: Lobby) -> None:
    blind, player, request_id = fresh_blind(), waiter(lobby), str(uuid4())
    table_id = await table_at(lobby, blind)
    lobby.neighbours.balances[player.id] = 900
    error = await refusal(player.quick(stakes(blind), 1000, request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TOO_FEW_CHIPS")
    assert (await refusal(player.quick(stakes(blind), 1000, request_id))).reason == "TOO_FEW_CHIPS"
    assert list((await player.table(table_id)).free_seats) == [1, 2]
    assert (await player.quick(stakes(blind), 850)).table_id == table_id


async def test_a_neighbour_that_is_down_leaves_it_unfinished_until_it_is_back(lobby: Lobby) -> None:
    blind, player, request_id = fresh_blind(), waiter(lobby), str(uuid4())
    table_id = await table_at(lobby, blind)
    lobby.neighbours.failing.add("SeatPlayer")
    error = await refusal(player.quick(stakes(blind), request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "SEATING_UNFINISHED")
    lobby.neighbours.failing.clear()

    async def sits_there() -> Any:
        return (await player.seat()).state == lobby_pb2.SEATING_STATE_SEATED

    await until(sits_there)
    assert (await player.quick(stakes(blind), request_id=request_id)).table_id == table_id


@pytest.mark.parametrize(
    ("wanted", "code", "reason"),
    [
        (stakes(888_888), "NOT_FOUND", "STAKES_UNKNOWN"),
        (waiting_pb2.WantedStakes(), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(10, big_blind=25), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(10, seats=1), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(2**62, big_blind=2**62), "INVALID_ARGUMENT", "INVALID_STAKES"),
    ],
)
async def test_stakes_that_there_are_not_are_refused(lobby: Lobby, wanted: Any, code: str, reason: str) -> None:
    player = waiter(lobby)
    error = await refusal(player.quick(wanted))
    assert (error.code, error.reason) == (grpc.StatusCode[code], reason)
    assert await player.seat() is None


@pytest.mark.parametrize("buy_in", [0, -5, 2**62, 799])
async def test_a_buy_in_that_no_table_takes_is_refused(lobby: Lobby, buy_in: int) -> None:
    blind = fresh_blind()
    await table_at(lobby, blind)
    assert (await refusal(waiter(lobby).quick(stakes(blind), buy_in))).reason == "BUY_IN_OUT_OF_RANGE"


async def test_only_players_with_a_key_are_seated(lobby: Lobby) -> None:
    player = waiter(lobby)
    assert (await refusal(player.quick(stakes(), request_id="x"))).reason == "REQUEST_ID_MISSING"
    player.who = token("service:wallet", "wallet.read")
    assert (await refusal(player.quick(stakes()))).reason == "NOT_A_PLAYER"
