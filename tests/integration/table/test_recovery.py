"""A table survives its owner, its database connection, and its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest

from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table import store
from cardroom.table.errors import OutcomeUnknown
from cardroom.table.livetable import LiveTable
from cardroom.table.recovery import Recovered, Recovery
from cardroom.table.streams import Streams
from cardroom.table.tables import Tables
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
    owners,
    refusal,
    seat_player,
    timing,
    until,
)

CALL, CHECK, FOLD, RAISE = (
    view.ACTION_KIND_CALL,
    view.ACTION_KIND_CHECK,
    view.ACTION_KIND_FOLD,
    view.ACTION_KIND_RAISE,
)


async def one_call(replica: Replica, table: Table, now: view.PublicView) -> view.PublicView:
    """The player whose turn it is calls or checks."""
    turn = now.hand.turn
    kind = CHECK if turn.legal.can_check else CALL
    await table.of(turn.player_id).act(replica, table.id, turn.token, kind)
    return (await look(replica, table)).snapshot.view


def same_but_for_the_clock(before: view.PublicView, after: view.PublicView) -> None:
    """A takeover changes the turn's times and the version, nothing else."""
    assert after.version == before.version + 1
    expected = view.PublicView()
    expected.CopyFrom(before)
    expected.version = after.version
    for name in ("started_at", "base_deadline"):
        getattr(expected.hand.turn, name).CopyFrom(getattr(after.hand.turn, name))
    assert after == expected


async def test_9_6_a_hand_goes_on_in_the_middle_of_a_street_under_a_new_owner(
    start_replica: StartReplica, sql: Sql
) -> None:
    first = await start_replica()
    table = await open_table(first, 3)
    now = await deal(first, sql, table)
    for _ in range(4):
        now = await one_call(first, table, now)
    assert now.hand.street == view.STREET_FLOP
    cards = [(await look(first, table, player)).snapshot.own_cards for player in table.players]
    before = await timing(sql, table.id)
    await first.stop()

    second = await start_replica()
    await until(lambda: sql.fetchval("select max(version) = $1 from table_log", now.version + 1))
    after = (await look(second, table)).snapshot.view
    same_but_for_the_clock(now, after)
    assert [(await look(second, table, player)).snapshot.own_cards for player in table.players] == cards
    restarted = await timing(sql, table.id)
    assert restarted.generation == before.generation + 1
    assert restarted.turn.started_at.ToMilliseconds() > before.turn.started_at.ToMilliseconds()
    while not after.hand.is_over:
        after = await one_call(second, table, after)
    assert sum(seat.stack for seat in after.seats) == 3000


async def test_a_repeat_after_a_takeover_gets_the_first_answer(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 2)
    turn = (await deal(first, sql, table)).hand.turn
    actor = table.of(turn.player_id)
    answer = await actor.act(first, table.id, turn.token, CALL)
    await first.stop()
    second = await start_replica()
    assert await actor.act(second, table.id, turn.token, CALL) == answer
    late = await refusal(actor.act(second, table.id, turn.token, FOLD))
    assert late.reason == "LATE_TURN"


async def test_a_repeat_long_after_the_hand_gets_the_first_answer_from_the_log(
    start_replica: StartReplica, sql: Sql
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    turn = (await deal(replica, sql, table)).hand.turn
    actor = table.of(turn.player_id)
    answer = await actor.act(replica, table.id, turn.token, FOLD)
    later = (await deal(replica, sql, table)).hand.turn
    assert later.token.hand_number == 2
    assert await actor.act(replica, table.id, turn.token, FOLD) == answer
    assert (await refusal(actor.act(replica, table.id, turn.token, CALL))).reason == "LATE_TURN"


async def test_the_same_action_sent_three_times_at_once_counts_once(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 3)
    now = await deal(replica, sql, table)
    turn = now.hand.turn
    actor = table.of(turn.player_id)
    answers = await asyncio.gather(*[actor.act(replica, table.id, turn.token, RAISE, 60) for _ in range(3)])
    assert answers[0] == answers[1] == answers[2]
    assert (await look(replica, table)).version == now.version + 1
    assert await sql.fetchval("select count(*) from table_log where action_number = 1") == 1


class CutAfterCommit:
    """Lets the database commit, and loses the answer: once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cuts = 1
        commit = store.Lane.commit

        async def cut(lane: store.Lane, writes: object) -> None:
            await commit(lane, writes)  # type: ignore[arg-type]
            if self.cuts:
                self.cuts -= 1
                await lane.close()
                raise OutcomeUnknown("the test cut the connection")

        monkeypatch.setattr(store.Lane, "commit", cut)


async def test_an_action_whose_commit_was_not_confirmed_is_found_and_counts_once(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 3)
    now = await deal(replica, sql, table)
    turn = now.hand.turn
    actor = table.of(turn.player_id)
    stream = actor.play(replica, table.id)
    await stream.read()
    CutAfterCommit(monkeypatch)
    answer = await actor.act(replica, table.id, turn.token, CALL)
    assert answer.version == now.version + 1
    assert await sql.fetchval("select count(*) from table_log where version = $1", answer.version) == 1
    resynced = await stream.read()
    assert resynced.WhichOneof("content") == "snapshot"
    assert resynced.version == answer.version
    stream.cancel()


async def test_an_action_whose_commit_failed_is_decided_again(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    turn = (await deal(replica, sql, table)).hand.turn
    fails = [OutcomeUnknown("the test cut the connection")]
    commit = store.Lane.commit

    async def fail_once(lane: store.Lane, writes: object) -> None:
        if fails:
            raise fails.pop()
        await commit(lane, writes)  # type: ignore[arg-type]

    monkeypatch.setattr(store.Lane, "commit", fail_once)
    answer = await table.of(turn.player_id).act(replica, table.id, turn.token, CALL)
    assert answer.taken.kind == CALL


async def test_an_action_counts_although_its_caller_has_gone(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    turn = (await deal(replica, sql, table)).hand.turn
    actor = table.of(turn.player_id)
    async with sql.transaction():
        await sql.execute("update leases set owner = owner")  # commits wait for this
        asked = asyncio.create_task(actor.act(replica, table.id, turn.token, CALL))
        await asyncio.sleep(0.1)
        asked.cancel()
        await asyncio.sleep(0.1)
    await until(lambda: sql.fetchval("select count(*) from table_log where action_number = 1"))
    assert (await look(replica, table)).snapshot.view.hand.turn.token.action_number == 2
    assert (await actor.act(replica, table.id, turn.token, CALL)).taken.kind == CALL


async def test_a_table_whose_log_is_from_a_later_release_stands_still(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 2)
    other = await open_table(first, 2)
    turn = (await deal(first, sql, table)).hand.turn
    await table.of(turn.player_id).act(first, table.id, turn.token, CALL)
    await first.stop()
    await sql.execute("update table_log set command = '' where table_id = $1 and action_number is not null", table.id)
    second = await start_replica()
    error = await refusal(table.of(turn.player_id).act(second, table.id, turn.token, CALL))
    assert error.reason == "TABLE_STOPPED"
    assert await deal(second, sql, other)


async def test_a_deck_key_that_was_replaced_is_no_reason_to_stop(start_replica: StartReplica, sql: Sql) -> None:
    first = await start_replica()
    table = await open_table(first, 2)
    turn = (await deal(first, sql, table)).hand.turn
    await first.stop()
    second = await start_replica(deck_key="B" * 43 + "=", deck_keys_old=DECK_KEY)
    answer = await table.of(turn.player_id).act(second, table.id, turn.token, CALL)
    assert answer.taken.kind == CALL


async def test_a_table_that_the_clock_has_forgotten_begins_its_wait_anew(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    tables = replica.part(Streams)._tables
    lost = await timing(sql, table.id)
    assert await tables.restart_overdue() == 0
    later = tables._clock() + 60_000
    monkeypatch.setattr(tables, "_clock", lambda: later)
    assert await tables.restart_overdue() == 1
    assert await tables.restart_overdue() == 0
    told = await timing(sql, table.id)
    assert told.generation > lost.generation
    assert told.deal.due_at.ToMilliseconds() > later
    now = await deal(replica, sql, table)
    later += 120_000
    assert await tables.restart_overdue() == 1
    after = (await look(replica, table)).snapshot.view
    same_but_for_the_clock(now, after)
    assert after.hand.turn.base_deadline.ToMilliseconds() > later
    assert (await timing(sql, table.id)).HasField("turn")


async def test_a_seating_that_ended_stays_ended_and_answers_the_same(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    player = table.players[0]
    request = internal.EndSeatingRequest(table_id=table.id, seating_id=player.seating_id)
    answer = await replica.seats.EndSeating(request, metadata=SERVICE)
    assert (answer.is_over, answer.final_stack, answer.had_begun) == (True, 1000, True)
    await replica.stop()
    second = await start_replica()
    assert await second.seats.EndSeating(request, metadata=SERVICE) == answer
    again = internal.SeatPlayerRequest(
        table_id=table.id, seating_id=player.seating_id, player_id=player.id, display_name="A", seat=1, stack=1000
    )
    assert (await refusal(second.seats.SeatPlayer(again, metadata=SERVICE))).reason == "SEATING_OVER"


class InDoubt:
    """Writes the next group and loses the connection before the database has committed it: it does so later."""

    def __init__(self, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connection: asyncpg.Connection[asyncpg.Record] | None = None
        commit = store.Lane.commit

        async def write(lane: store.Lane, writes: Any) -> None:
            if self.connection is not None and not self.is_over:
                raise OutcomeUnknown("the test keeps the connection cut")
            if self.connection is not None:
                await commit(lane, writes)
                return
            self.connection = await asyncpg.connect(database)
            self.transaction = self.connection.transaction()
            await self.transaction.start()
            columns = store._action_columns(writes), store._other_columns(writes)
            await self.connection.execute(store.COMMIT, *columns[0], *columns[1])
            raise OutcomeUnknown("the test cut the connection")

        self.is_over = False
        monkeypatch.setattr(store.Lane, "commit", write)

    async def commit_now(self) -> None:
        assert self.connection is not None
        await self.transaction.commit()
        await self.connection.close()


async def test_a_seating_whose_commit_is_in_doubt_does_not_begin_after_it_was_ended(
    start_replica: StartReplica, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica(owner_wait_seconds=0)
    await owners(replica)
    table = await open_table(replica, 1)
    late = Player("Late")
    doubt = InDoubt(database, monkeypatch)
    assert (await refusal(seat_player(replica, table.id, late, 2))).reason == "DATABASE_UNAVAILABLE"
    doubt.is_over = True
    request = internal.EndSeatingRequest(table_id=table.id, seating_id=late.seating_id)

    async def end() -> internal.EndSeatingResponse:
        answer: internal.EndSeatingResponse = await replica.seats.EndSeating(request, metadata=SERVICE)
        return answer

    ending = asyncio.create_task(end())
    await asyncio.wait({ending}, timeout=0.2)
    await doubt.commit_now()
    answer = await ending
    view_now = (await look(replica, table)).snapshot.view
    assert (answer.is_over, answer.had_begun, answer.final_stack) == (True, True, 1000)
    assert [seat.seat for seat in view_now.seats] == [1]


async def test_a_seating_ended_before_it_began_never_begins(start_replica: StartReplica) -> None:
    replica = await start_replica()
    table = await open_table(replica, 0)
    seating = "11111111-1111-4111-8111-111111111111"
    request = internal.EndSeatingRequest(table_id=table.id, seating_id=seating)
    for _ in range(2):
        answer = await replica.seats.EndSeating(request, metadata=SERVICE)
        assert (answer.is_over, answer.had_begun, answer.final_stack) == (True, False, 0)
    late = internal.SeatPlayerRequest(
        table_id=table.id, seating_id=seating, player_id=seating, display_name="A", seat=1, stack=1000
    )
    assert (await refusal(replica.seats.SeatPlayer(late, metadata=SERVICE))).reason == "SEATING_OVER"


async def test_who_is_back_before_a_table_is_read_waits_for_it_and_does_not_read_it_again(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await start_replica()
    table = await open_table(first, 2)
    now = await deal(first, sql, table)
    await first.stop()
    reads: list[list[str]] = []
    is_asked, go_on = asyncio.Event(), asyncio.Event()
    load, loaded = Recovery.load, Tables.loaded

    async def slow_load(self: Recovery, table_ids: Sequence[str]) -> dict[str, Recovered]:
        reads.append(list(table_ids))
        await go_on.wait()
        return await load(self, table_ids)

    async def asked(self: Tables, table_id: str) -> LiveTable:
        is_asked.set()
        return await loaded(self, table_id)

    monkeypatch.setattr(Recovery, "load", slow_load)
    monkeypatch.setattr(Tables, "loaded", asked)
    second = await start_replica()
    await until(lambda: reads)
    looking = asyncio.create_task(look(second, table))
    await is_asked.wait()
    await asyncio.sleep(0)
    go_on.set()
    same_but_for_the_clock(now, (await looking).snapshot.view)
    assert reads == [[table.id]]


async def test_recovery_reads_no_more_than_the_running_hand(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    for _ in range(3):
        turn = (await deal(replica, sql, table)).hand.turn
        await table.of(turn.player_id).act(replica, table.id, turn.token, FOLD)
    await deal(replica, sql, table)
    assert (
        await sql.fetchval(
            "select count(*) from table_log join tables using (table_id) where table_log.version > tables.version"
        )
        == 1
    )
