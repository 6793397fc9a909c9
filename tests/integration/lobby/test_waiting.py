"""Waiting lists, as players meet them: joining, being next, sitting down, leaving, and what is refused."""

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
    EXPIRED,
    KEPT,
    LAPSED,
    LEFT,
    SEATED,
    SITTING_DOWN,
    TABLE_CLOSED,
    WAITING,
    fresh_blind,
    full_table,
    let_the_kept_seat_lapse,
    stakes,
    table_at,
    waiter,
)

NOBODY = "5e1c1c0e-6f0a-4a9e-9d0b-0d3b9a6b4c11"


async def test_a_free_seat_is_kept_for_60_s_for_who_joined_first(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first, second = waiter(lobby), waiter(lobby)
    assert ((await first.join(table_id)).position, (await second.join(table_id)).position) == (1, 2)
    left = await sitting[1].seat()
    await sitting[1].leave(table_id)
    entry = await first.until_state(KEPT)
    assert (entry.reserved.table_id, entry.reserved.seat, entry.position) == (table_id, left.seat, 0)
    assert 58_000 < entry.reserved.left_ms <= 60_000
    lapses = entry.reserved.reserved_until.ToNanoseconds() / 1e9
    now = await lobby.pool.fetchval("SELECT extract(epoch FROM now())::float8")
    assert lapses - now == pytest.approx(entry.reserved.left_ms / 1000, abs=2)
    assert ((await second.entry()).state, (await second.entry()).position) == (WAITING, 1)


async def test_nobody_else_can_take_the_kept_seat_and_its_player_can(lobby: Lobby) -> None:
    blind = fresh_blind()
    table_id, sitting = await full_table(lobby, blind)
    first, second, newcomer = waiter(lobby), waiter(lobby), waiter(lobby)
    await first.join(table_id)
    await second.join(table_id)
    await sitting[0].leave(table_id)
    seat = (await first.until_state(KEPT)).reserved.seat
    for player in (second, newcomer):
        assert (await refusal(player.sit(table_id))).reason == "TABLE_FULL"
        assert (await refusal(player.sit(table_id, seat=seat))).reason == "TABLE_FULL"
        assert (await refusal(player.quick(stakes(blind)))).reason == "STAKES_FULL"
    assert list((await newcomer.table(table_id)).free_seats) == []
    assert (await newcomer.table(table_id)).seats_taken == 2
    assert (await first.sit(table_id)).seat == seat
    assert (await first.until_state(SEATED)).reserved.seat == seat
    assert (await second.entry()).position == 1


async def test_a_kept_seat_is_taken_for_others_also_beside_free_ones(lobby: Lobby, table_id: str) -> None:
    first, newcomer = waiter(lobby), waiter(lobby)
    seat = (await first.join(table_id)).reserved.seat
    assert (await refusal(newcomer.sit(table_id, seat=seat))).reason == "SEAT_TAKEN"
    table = await newcomer.table(table_id)
    assert (table.seats_taken, seat in table.free_seats) == (1, False)
    assert (await newcomer.sit(table_id)).seat != seat


async def test_who_joins_while_a_seat_is_free_has_it_with_the_answer(lobby: Lobby, table_id: str) -> None:
    entry = await waiter(lobby).join(table_id)
    assert (entry.state, entry.reserved.table_id, entry.reserved.seat) == (KEPT, table_id, 1)


async def test_a_seat_that_is_not_taken_goes_to_the_next_in_line(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first, second = waiter(lobby), waiter(lobby)
    entry = await first.join(table_id)
    await second.join(table_id)
    await sitting[0].leave(table_id)
    seat = (await first.until_state(KEPT)).reserved.seat
    await let_the_kept_seat_lapse(lobby, entry, 0.3)
    assert (await second.entry()).state == WAITING
    assert (await first.until_state(LAPSED)).reserved.seat == seat
    assert (await second.until_state(KEPT)).reserved.seat == seat
    assert (await refusal(first.sit(table_id))).reason == "TABLE_FULL"


async def test_who_comes_too_late_has_no_claim_also_before_anyone_has_looked(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first, second = waiter(lobby), waiter(lobby)
    entry = await first.join(table_id)
    await second.join(table_id)
    await sitting[0].leave(table_id)
    await first.until_state(KEPT)
    await let_the_kept_seat_lapse(lobby, entry)
    assert (await refusal(first.sit(table_id))).reason == "TABLE_FULL"
    assert (await second.until_state(KEPT)).reserved.table_id == table_id


async def test_lists_of_tables_and_of_stakes_are_one_line(lobby: Lobby) -> None:
    blind = fresh_blind()
    one, sitting_there = await full_table(lobby, blind)
    two, sitting_elsewhere = await full_table(lobby, blind)
    early, middle, late = waiter(lobby), waiter(lobby), waiter(lobby)
    await early.join(stakes(blind))
    await middle.join(one)
    await late.join(stakes(blind, seats=2))
    assert [(await who.entry()).position for who in (early, middle, late)] == [1, 2, 2]
    await sitting_there[0].leave(one)
    assert (await early.until_state(KEPT)).reserved.table_id == one
    await sitting_elsewhere[0].leave(two)
    assert (await late.until_state(KEPT)).reserved.table_id == two
    assert (await middle.entry()).state == WAITING
    await sitting_there[1].leave(one)
    assert (await middle.until_state(KEPT)).reserved.table_id == one


async def test_stakes_with_another_ante_or_number_of_seats_are_another_list(lobby: Lobby) -> None:
    blind = fresh_blind()
    await full_table(lobby, blind)
    player = waiter(lobby)
    for other in (stakes(blind, ante=5), stakes(blind, seats=6)):
        error = await refusal(player.join(other))
        assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "STAKES_UNKNOWN")
        assert str(2 * blind) in error.message


async def test_a_new_table_at_the_stakes_serves_the_line(lobby: Lobby) -> None:
    blind = fresh_blind()
    await full_table(lobby, blind)
    first, second = waiter(lobby), waiter(lobby)
    await first.join(stakes(blind))
    await second.join(stakes(blind))
    made = await table_at(lobby, blind)
    seats = [(await who.until_state(KEPT)).reserved for who in (first, second)]
    assert [(seat.table_id, seat.seat) for seat in seats] == [(made, 1), (made, 2)]


async def test_a_full_table_with_a_line_lets_no_newcomer_in_whoever_is_faster(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first = waiter(lobby)
    await first.join(table_id)
    newcomers = [waiter(lobby) for _ in range(5)]

    async def push(player: Any) -> Any:
        for _ in range(8):
            try:
                return await player.sit(table_id)
            except grpc.aio.AioRpcError:
                continue
        return None

    leaving = asyncio.create_task(sitting[0].leave(table_id))
    outcomes = await asyncio.gather(*(push(one) for one in newcomers))
    await leaving
    assert outcomes == [None] * 5
    assert (await first.until_state(KEPT)).reserved.table_id == table_id


async def test_10_5_sitting_down_elsewhere_ends_every_wait_and_frees_the_kept_seat(lobby: Lobby, table_id: str) -> None:
    blind = fresh_blind()
    full, sitting = await full_table(lobby, blind)
    first, second = waiter(lobby), waiter(lobby)
    await first.join(full)
    await first.join(stakes(blind))
    await second.join(full)
    await sitting[0].leave(full)

    async def is_kept() -> bool:
        return any(entry.state == KEPT for entry in await first.entries())

    await until(is_kept)
    await first.sit(table_id)
    assert (await second.until_state(KEPT)).reserved.table_id == full

    async def is_over() -> bool:
        return [entry.state for entry in await first.entries()] == [SEATED, SEATED]

    await until(is_over)


async def test_10_5_who_sits_does_not_wait(lobby: Lobby, table_id: str) -> None:
    player, (full, _) = waiter(lobby), await full_table(lobby)
    seating, request_id = await player.sit(table_id, seat=3), str(uuid4())
    error = await refusal(player.join(full, request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SEATED")
    assert error.metadata == {"table_id": table_id, "seat": "3"}
    await player.leave(table_id, seating.seating_id)
    # The refusal depended on the state: the same request meets it again, a new one does not.
    assert (await refusal(player.join(full, request_id))).reason == "ALREADY_SEATED"
    assert (await player.join(full)).state == WAITING


async def test_a_seating_that_fails_leaves_the_kept_seat_for_the_rest_of_its_time(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    player, second = waiter(lobby), waiter(lobby)
    await player.join(table_id)
    await second.join(table_id)
    await sitting[0].leave(table_id)
    kept = (await player.until_state(KEPT)).reserved
    lobby.neighbours.balances[player.id] = 900
    assert (await refusal(player.sit(table_id, buy_in=1000))).reason == "TOO_FEW_CHIPS"
    again = await player.until_state(KEPT)
    assert (again.reserved.seat, again.reserved.reserved_until) == (kept.seat, kept.reserved_until)
    assert (await second.entry()).state == WAITING
    assert (await player.sit(table_id, buy_in=850)).seat == kept.seat


async def test_while_the_chips_are_on_their_way_the_entry_says_so(lobby: Lobby, table_id: str) -> None:
    player, request_id = waiter(lobby), str(uuid4())
    seat = (await player.join(table_id)).reserved.seat
    lobby.neighbours.failing.add("SeatPlayer")
    assert (await refusal(player.sit(table_id, request_id=request_id))).reason == "SEATING_UNFINISHED"
    entry = await player.entry()
    assert (entry.state, entry.reserved.seat) == (SITTING_DOWN, seat)
    lobby.neighbours.failing.clear()
    await player.until_state(SEATED)
    assert (await player.sit(table_id, request_id=request_id)).state == lobby_pb2.SEATING_STATE_SEATED
    assert lobby.neighbours.all_chips(player.id) == GRANT


async def test_leaving_the_list_gives_the_kept_seat_to_the_next(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first, second = waiter(lobby), waiter(lobby)
    entry = await first.join(table_id)
    await second.join(table_id)
    await sitting[0].leave(table_id)
    seat = (await first.until_state(KEPT)).reserved.seat
    assert (await first.quit(entry)).state == LEFT
    assert (await first.quit(entry)).state == LEFT
    assert (await second.until_state(KEPT)).reserved.seat == seat


async def test_a_closed_table_ends_its_list_and_takes_its_kept_seats_back(lobby: Lobby) -> None:
    blind = fresh_blind()
    table_id = await table_at(lobby, blind)
    other = (await full_table(lobby, blind))[0]
    at_table, for_stakes = waiter(lobby), waiter(lobby)
    assert (await at_table.join(table_id)).state == KEPT
    assert (await for_stakes.join(stakes(blind))).reserved.table_id == table_id
    await lobby.close(table_id)
    assert (await at_table.until_state(TABLE_CLOSED)).position == 0
    entry = await for_stakes.until_state(WAITING)
    assert (entry.position, entry.HasField("reserved")) == (1, False)
    assert (await lobby.player().table(other)).seats_taken == 2


async def test_a_wait_without_end_is_ended(lobby: Lobby) -> None:
    table_id, _ = await full_table(lobby)
    player = waiter(lobby)
    entry = await player.join(table_id)
    await lobby.pool.execute(
        "UPDATE waiting SET joined_at = now() - interval '12 hours 1 s' WHERE entry_id = $1", entry.entry_id
    )
    await player.until_state(EXPIRED)


async def test_joining_again_changes_nothing(lobby: Lobby) -> None:
    table_id, _ = await full_table(lobby)
    player, request_id = waiter(lobby), str(uuid4())
    first = await player.join(table_id, request_id)
    assert await player.join(table_id, request_id) == first
    assert await player.join(table_id) == first
    assert await player.entries() == [first]
    error = await refusal(player.join(stakes(), request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    # A repeat that comes late does not wait anew.
    await player.quit(first)
    assert (await player.join(table_id, request_id)).state == LEFT
    assert (await player.join(table_id)).entry_id != first.entry_id


@pytest.mark.parametrize("at_once", [2, 6])
async def test_joining_at_the_same_time_makes_one_entry(lobby: Lobby, second_lobby: Lobby, at_once: int) -> None:
    table_id, _ = await full_table(lobby)
    player_id, request_id = str(uuid4()), str(uuid4())
    players = [waiter([lobby, second_lobby][i % 2], player_id) for i in range(at_once)]
    same = await asyncio.gather(*(one.join(table_id, request_id) for one in players))
    other = await asyncio.gather(*(one.join(table_id) for one in players))
    assert len({entry.entry_id for entry in [*same, *other]}) == 1


async def test_there_is_a_limit_to_lists_and_to_their_length(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    table_id, _ = await full_table(lobby)
    player = waiter(lobby)
    for _ in range(10):
        await player.join((await full_table(lobby))[0])
    error = await refusal(player.join(table_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TOO_MANY_WAITING_LISTS")
    assert error.metadata == {"max": "10"}
    monkeypatch.setattr("cardroom.lobby.domain.waiting.LIST_LENGTH_MAX", 1)
    assert (await waiter(lobby).join(table_id)).position == 1
    error = await refusal(waiter(lobby).join(table_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WAITING_LIST_FULL")
    assert error.metadata == {"max": "1"}


@pytest.mark.parametrize(
    ("where", "code", "reason"),
    [
        (NOBODY, "NOT_FOUND", "TABLE_UNKNOWN"),
        ("table one", "NOT_FOUND", "TABLE_UNKNOWN"),
        (stakes(999_999), "NOT_FOUND", "STAKES_UNKNOWN"),
        (stakes(10, big_blind=30), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(10, seats=10), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(10, ante=-1), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (stakes(-5), "INVALID_ARGUMENT", "INVALID_STAKES"),
        (waiting_pb2.WantedStakes(), "INVALID_ARGUMENT", "INVALID_STAKES"),
    ],
)
async def test_a_list_that_there_is_not_is_refused(lobby: Lobby, where: Any, code: str, reason: str) -> None:
    player = waiter(lobby)
    error = await refusal(player.join(where))
    assert (error.code, error.reason) == (grpc.StatusCode[code], reason)
    assert await player.entries() == []


async def test_a_request_without_a_list_or_a_key_is_refused(lobby: Lobby, table_id: str) -> None:
    player = waiter(lobby)
    assert (await refusal(player.join(table_id, "x"))).reason == "REQUEST_ID_MISSING"
    request = waiting_pb2.JoinWaitingListRequest(request_id=str(uuid4()))
    error = await refusal(player._waiting.JoinWaitingList(request, metadata=player.who))
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "WAITING_LIST_MISSING")


async def test_another_players_entry_is_unknown(lobby: Lobby, table_id: str) -> None:
    entry, other = await waiter(lobby).join(table_id), waiter(lobby)
    for one in (entry, NOBODY, "nonsense"):
        error = await refusal(other.quit(one))
        assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "WAITING_ENTRY_UNKNOWN")
    assert await other.entries() == []


async def test_only_players_wait(lobby: Lobby, table_id: str) -> None:
    player = waiter(lobby)
    player.who = token("service:wallet", "wallet.read")
    for call in (player.join(table_id), player.entries(), player.quit(NOBODY), player.watch().read()):
        assert (await refusal(call)).reason == "NOT_A_PLAYER"


async def test_what_became_of_an_entry_is_told_for_2_minutes_and_remembered_for_days(
    lobby: Lobby, table_id: str
) -> None:
    player, request_id = waiter(lobby), str(uuid4())
    entry = await player.join(table_id, request_id)
    await player.quit(entry)
    assert [one.state for one in await player.entries()] == [LEFT]
    await lobby.pool.execute(
        "UPDATE waiting SET ended_at = ended_at - interval '2 minutes' WHERE entry_id = $1", entry.entry_id
    )
    assert await player.entries() == []
    assert (await player.join(table_id, request_id)).state == LEFT
    assert (await player.quit(entry)).state == LEFT


async def test_a_free_seat_is_kept_for_the_next(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    player = waiter(lobby)
    await player.join(table_id)
    await sitting[0].leave(table_id)
    await player.until_state(KEPT)
