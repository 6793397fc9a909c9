"""Bad input: each kind gets its own clear error and changes nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import view_pb2 as view
from tests.integration.table.replicas import (
    SERVICE,
    STAKES,
    Player,
    Replica,
    Sql,
    StartReplica,
    Table,
    bearer,
    deal,
    open_table,
    refusal,
    timing,
)

NOBODY = str(uuid.uuid4())
TURN = view.TurnToken(hand_number=1, action_number=1)


@pytest.fixture
async def replica(start_replica: StartReplica) -> Replica:
    return await start_replica()


@pytest.fixture
async def table(replica: Replica) -> Table:
    return await open_table(replica, 2)


Call = Callable[[Replica, Table], Any]

CASES: list[tuple[str, str, str, Call]] = [
    (
        "an unknown table",
        "NOT_FOUND",
        "TABLE_UNKNOWN",
        lambda r, t: t.players[0].act(r, NOBODY, TURN, view.ACTION_KIND_FOLD),
    ),
    (
        "a table id that is none",
        "NOT_FOUND",
        "TABLE_UNKNOWN",
        lambda r, t: t.players[0].act(r, "no-id", TURN, view.ACTION_KIND_FOLD),
    ),
    ("an unknown table's stream", "NOT_FOUND", "TABLE_UNKNOWN", lambda r, t: t.players[0].play(r, NOBODY).read()),
    (
        "a stranger's action",
        "PERMISSION_DENIED",
        "NOT_SEATED",
        lambda r, t: Player("x").act(r, t.id, TURN, view.ACTION_KIND_FOLD),
    ),
    (
        "an action that names no turn",
        "INVALID_ARGUMENT",
        "TURN_MISSING",
        lambda r, t: t.players[0].act(r, t.id, view.TurnToken(), view.ACTION_KIND_FOLD),
    ),
    (
        "a turn that has not come",
        "FAILED_PRECONDITION",
        "NOT_YOUR_TURN",
        lambda r, t: t.players[0].act(r, t.id, TURN, view.ACTION_KIND_FOLD),
    ),
    (
        "no token",
        "UNAUTHENTICATED",
        "TOKEN_MISSING",
        lambda r, t: r.players.SitOut(pb.SitOutRequest(table_id=t.id)),
    ),
    (
        "a forged token",
        "UNAUTHENTICATED",
        "TOKEN_INVALID",
        lambda r, t: r.players.SitOut(
            pb.SitOutRequest(table_id=t.id), metadata=(("authorization", "Bearer e30.e30.AAAA"),)
        ),
    ),
    (
        "a service as a player",
        "PERMISSION_DENIED",
        "NOT_A_PLAYER",
        lambda r, t: r.players.SitOut(pb.SitOutRequest(table_id=t.id), metadata=SERVICE),
    ),
    (
        "a player as the lobby",
        "PERMISSION_DENIED",
        "SCOPE_MISSING",
        lambda r, t: r.seats.CloseTable(internal.CloseTableRequest(table_id=t.id), metadata=t.players[0].metadata),
    ),
    (
        "a player as the clock",
        "PERMISSION_DENIED",
        "SCOPE_MISSING",
        lambda r, t: r.time.DealHand(internal.DealHandRequest(table_id=t.id), metadata=t.players[0].metadata),
    ),
    (
        "the clock's scope for the lobby's calls",
        "PERMISSION_DENIED",
        "SCOPE_MISSING",
        lambda r, t: r.seats.GetStacks(
            internal.GetStacksRequest(table_id=t.id), metadata=bearer("service:clock", "table.time")
        ),
    ),
    (
        "a seat that is taken",
        "FAILED_PRECONDITION",
        "SEAT_TAKEN",
        lambda r, t: r.seats.SeatPlayer(_seat(t, 1), metadata=SERVICE),
    ),
    (
        "a seat that does not exist",
        "INVALID_ARGUMENT",
        "SEAT_UNKNOWN",
        lambda r, t: r.seats.SeatPlayer(_seat(t, 7), metadata=SERVICE),
    ),
    (
        "a player without a name",
        "INVALID_ARGUMENT",
        "INVALID_NAME",
        lambda r, t: r.seats.SeatPlayer(_seat(t, 3, display_name=" "), metadata=SERVICE),
    ),
    (
        "a player id that is none",
        "INVALID_ARGUMENT",
        "INVALID_ID",
        lambda r, t: r.seats.SeatPlayer(_seat(t, 3, player_id="me"), metadata=SERVICE),
    ),
    (
        "another table under the same id",
        "ALREADY_EXISTS",
        "TABLE_DIFFERS",
        lambda r, t: r.seats.OpenTable(
            internal.OpenTableRequest(table_id=t.id, name="Other", stakes=STAKES), metadata=SERVICE
        ),
    ),
    (
        "stakes that cannot be",
        "INVALID_ARGUMENT",
        "INVALID_STAKES",
        lambda r, t: r.seats.OpenTable(
            internal.OpenTableRequest(table_id=NOBODY, name="Other", stakes=view.Stakes()), metadata=SERVICE
        ),
    ),
    (
        "a closing with players",
        "FAILED_PRECONDITION",
        "TABLE_OCCUPIED",
        lambda r, t: r.seats.CloseTable(internal.CloseTableRequest(table_id=t.id), metadata=SERVICE),
    ),
]


def _seat(table: Table, seat: int, **changes: Any) -> internal.SeatPlayerRequest:
    fields: dict[str, Any] = {"player_id": str(uuid.uuid4()), "display_name": "N", "stack": 100} | changes
    return internal.SeatPlayerRequest(table_id=table.id, seating_id=str(uuid.uuid4()), seat=seat, **fields)


async def test_each_kind_of_bad_input_gets_its_own_error_and_changes_nothing(
    replica: Replica, table: Table, sql: Sql
) -> None:
    before = await sql.fetchval("select count(*) from table_log")
    for what, code, reason, call in CASES:
        error = await refusal(call(replica, table))
        assert (error.code.name, error.reason) == (code, reason), what
        assert len(error.message) > 10, what
    assert await sql.fetchval("select count(*) from table_log") == before


async def test_malformed_and_oversized_messages_are_refused(replica: Replica, table: Table) -> None:
    raw = replica.channel.unary_unary("/cardroom.table.v1.TableService/Act")  # type: ignore[call-arg]
    error = await refusal(raw(b"\xff\xff\xff", metadata=table.players[0].metadata))
    assert (error.code.name, error.reason) == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE")
    error = await refusal(raw(b"\x0a" + b"x" * 2_000_000, metadata=table.players[0].metadata))
    assert error.code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_another_players_turn_and_an_illegal_amount_are_refused(replica: Replica, table: Table, sql: Sql) -> None:
    now = await deal(replica, sql, table)
    turn = now.hand.turn
    actor = table.of(turn.player_id)
    other = next(player for player in table.players if player is not actor)
    error = await refusal(other.act(replica, table.id, turn.token, view.ACTION_KIND_FOLD))
    assert error.reason == "NOT_YOUR_TURN"
    error = await refusal(actor.act(replica, table.id, turn.token, view.ACTION_KIND_RAISE, 55))
    assert (error.reason, error.metadata) == ("ILLEGAL_AMOUNT", {"nearest_below": "50", "nearest_above": "60"})
    error = await refusal(actor.act(replica, table.id, turn.token, view.ACTION_KIND_CHECK))
    assert error.reason == "ILLEGAL_ACTION"


async def test_a_timeout_that_comes_too_early_is_told_to_wait(replica: Replica, table: Table, sql: Sql) -> None:
    turn = (await deal(replica, sql, table)).hand.turn
    generation = (await timing(sql, table.id)).generation
    request = internal.EndTurnRequest(table_id=table.id, turn=turn.token, generation=generation)
    assert (await refusal(replica.time.EndTurn(request, metadata=SERVICE))).reason == "TOO_EARLY"
    request.generation = generation - 1
    assert (await replica.time.EndTurn(request, metadata=SERVICE)).stale
