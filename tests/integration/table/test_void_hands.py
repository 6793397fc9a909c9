"""A hand that cannot be completed, and that recovery could not mend, is void: every chip is back (rule 14.4)."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from cardroom.contracts.events.v1.events_pb2 import HandSettled
from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.engine import EngineError
from cardroom.table import metrics
from cardroom.table.deckbox import key_from_text, key_name
from cardroom.table.domain import commands as do
from cardroom.table.domain import decide
from tests.integration.table.replicas import (
    DECK_KEY,
    SERVICE,
    Player,
    Replica,
    Sql,
    StartReplica,
    Table,
    deal,
    look,
    open_table,
    refusal,
    timing,
    until,
)

CALL, RAISE = view.ACTION_KIND_CALL, view.ACTION_KIND_RAISE
SECRET = "Ah"
OTHER_KEY = base64.b64encode(os.urandom(32)).decode()


async def raised(replica: Replica, sql: Sql, table: Table) -> view.TurnView:
    """A hand with chips in the pot; whose turn it is then."""
    turn = (await deal(replica, sql, table)).hand.turn
    await table.of(turn.player_id).act(replica, table.id, turn.token, RAISE, 60)
    return (await look(replica, table)).snapshot.view.hand.turn


def break_down(monkeypatch: pytest.MonkeyPatch, command_type: type[Any], **but: Any) -> list[Any]:
    """From now on no command of this kind can be decided, but for some; answers the list of those that were tried."""
    tried: list[Any] = []
    decided = decide._HANDLERS[command_type]

    def broken(step: Any, command: Any) -> Any:
        if but and all(getattr(command, name) == value for name, value in but.items()):
            return decided(step, command)
        tried.append(command)
        raise EngineError(f"a fault that names {SECRET}")

    monkeypatch.setitem(decide._HANDLERS, command_type, broken)
    return tried


async def end_turn(replica: Replica, sql: Sql, table: Table) -> Any:
    """The clock says that time is up."""
    told = await timing(sql, table.id)
    request = internal.EndTurnRequest(table_id=table.id, turn=told.turn.token, generation=told.generation)
    return await replica.time.EndTurn(request, metadata=SERVICE)


async def leave(replica: Replica, table: Table, player: Player) -> Any:
    request = internal.EndSeatingRequest(table_id=table.id, seating_id=player.seating_id)
    return await replica.seats.EndSeating(request, metadata=SERVICE)


async def is_void(replica: Replica, sql: Sql, table: Table) -> view.PublicView:
    """Hand 1 is void, in the view and in the log, and settled with nothing won or lost; the next one is dealt."""
    now = (await look(replica, table)).snapshot.view
    assert (now.hand.hand_number, now.hand.is_void, now.hand.is_over) == (1, True, True)
    body = await sql.fetchval("select body from outbox where routing_key = $1", f"table.settled.{table.id}")
    assert [one.delta for one in HandSettled.FromString(body).deltas] == [0] * len(table.players)
    row = await sql.fetchrow("select deck, last_version from hands where table_id = $1 and hand_number = 1", table.id)
    assert row is not None
    assert row["deck"] is None
    assert row["last_version"] is not None
    return now


async def test_14_4_a_hand_whose_log_does_not_replay_is_void(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 3)
    turn = await raised(first, sql, table)
    before = await timing(sql, table.id)
    await first.stop()
    await sql.execute("update table_log set events = '' where table_id = $1 and action_number is not null", table.id)
    second = await start_replica()
    late = await refusal(table.of(turn.player_id).act(second, table.id, turn.token, CALL))
    assert late.reason == "LATE_TURN"
    now = await is_void(second, sql, table)
    assert [seat.stack for seat in now.seats] == [1000, 1000, 1000]
    assert (await timing(sql, table.id)).generation > before.generation
    assert (await deal(second, sql, table)).hand.hand_number == 2


async def log_of(sql: Sql, table: Table) -> list[Any]:
    """All that is stored of a table's hands."""
    return list(
        await sql.fetch(
            "select version, table_log.hand_number, command, deck from table_log join hands using (table_id) "
            "where table_id = $1 order by version",
            table.id,
        )
    )


async def test_14_4_a_hand_whose_deck_key_a_replica_lacks_waits_for_one_that_has_it(
    start_replica: StartReplica, sql: Sql
) -> None:
    first = await start_replica()
    table = await open_table(first, 3)
    turn = await raised(first, sql, table)
    stored, before = await log_of(sql, table), await timing(sql, table.id)
    await first.stop()
    stopped = metrics.STOPPED._value.get()
    asks: list[Callable[[], Any]] = [
        lambda: look(second, table),
        lambda: table.of(turn.player_id).act(second, table.id, turn.token, CALL),
        lambda: leave(second, table, table.players[0]),
        lambda: end_turn(second, sql, table),
    ]
    with capture_logs() as logged:
        second = await start_replica(deck_key=OTHER_KEY)
        for ask in asks * 2:
            assert (await refusal(ask())).reason == "TABLE_STOPPED"
    assert await log_of(sql, table) == stored
    assert metrics.STOPPED._value.get() == stopped + 1, "it is told once, and not at every call"
    why = next(one["why"] for one in logged if one.get("table_id") == table.id)
    assert f"needs the deck key '{key_name(key_from_text(DECK_KEY))}'" in why
    other = await open_table(second, 2)
    assert (await deal(second, sql, other)).hand.hand_number == 1, "the other tables go on"
    await second.stop()
    third = await start_replica(deck_key=OTHER_KEY, deck_keys_old=DECK_KEY)
    await table.of(turn.player_id).act(third, table.id, turn.token, CALL)
    after = (await look(third, table)).snapshot.view
    assert (after.hand.hand_number, after.hand.is_void, after.hand.turn.token.action_number) == (1, False, 3)
    assert (await timing(sql, table.id)).generation > before.generation


async def test_14_4_a_hand_whose_deck_is_not_genuine_is_void(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 3)
    await raised(first, sql, table)
    await first.stop()
    await sql.execute("update hands set deck = decode(repeat('00', 80), 'hex') where table_id = $1", table.id)
    await is_void(await start_replica(), sql, table)


async def test_14_4_a_hand_whose_deck_key_is_said_to_be_lost_is_void(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 3)
    leaver = table.of((await deal(first, sql, table)).hand.turn.player_id)
    turn = (await look(first, table)).snapshot.view.hand.turn
    await leaver.act(first, table.id, turn.token, CALL)
    assert not (await leave(first, table, leaver)).is_over
    await first.stop()
    second = await start_replica(deck_key=OTHER_KEY, deck_keys_lost=key_name(key_from_text(DECK_KEY)))
    await until(lambda: sql.fetchval("select count(*) = 1 from ended_seatings where table_id = $1", table.id))
    answer = await leave(second, table, leaver)
    assert (answer.is_over, answer.final_stack, answer.last_hand_number) == (True, 1000, 1)
    other = next(player for player in table.players if player is not leaver)
    staying = (await look(second, table, other)).snapshot.view
    assert [seat.stack for seat in staying.seats] == [1000, 1000]
    assert staying.hand.is_void


async def test_14_4_a_hand_whose_turns_cannot_end_is_void_once_the_table_was_read_anew(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    await raised(replica, sql, table)
    stream = table.players[0].play(replica, table.id)
    await stream.read()
    tried = break_down(monkeypatch, do.EndTurn)
    with capture_logs() as logged:
        assert not (await end_turn(replica, sql, table)).stale
    assert len(tried) == 2
    assert [one["event"] for one in logged if one.get("table_id") == table.id][-1] == "a hand is void"
    assert SECRET not in str(logged)
    told = await stream.read()
    ended = [event.hand_ended for event in told.change.events if event.HasField("hand_ended")]
    assert [one.is_void for one in ended] == [True]
    stream.cancel()
    await is_void(replica, sql, table)
    assert (await deal(replica, sql, table)).hand.hand_number == 2


async def test_an_action_that_breaks_changes_nothing_and_the_hand_goes_on(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    turn = await raised(replica, sql, table)
    version = (await look(replica, table)).version
    with monkeypatch.context() as broken:
        break_down(broken, do.Act, kind=RAISE)
        error = await refusal(table.of(turn.player_id).act(replica, table.id, turn.token, CALL))
    assert (error.reason, SECRET in error.message) == ("COMMAND_BROKEN", False)
    assert (await look(replica, table)).version == version
    assert (await table.of(turn.player_id).act(replica, table.id, turn.token, CALL)).version == version + 1


async def test_a_table_that_cannot_deal_stands_still_and_lets_its_players_go(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    break_down(monkeypatch, do.DealHand)
    assert (await refusal(deal(replica, sql, table))).reason == "TABLE_STOPPED"
    error = await refusal(look(replica, table))
    assert error.reason == "TABLE_STOPPED"
    for player in table.players:
        answer = await leave(replica, table, player)
        assert (answer.is_over, answer.final_stack) == (True, 1000)
