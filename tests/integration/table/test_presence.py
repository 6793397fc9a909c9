"""Who has a stream is present, wherever it runs; who has none is away (rules 9.5, 10.2)."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from cardroom.chassis.leases import LeaseKeeper
from cardroom.contracts.events.v1.events_pb2 import TablesChanged
from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.streams import Streams
from tests.integration.table.replicas import (
    SERVICE,
    Player,
    Replica,
    Sql,
    StartReplica,
    Table,
    deal,
    open_table,
    owner_of,
    owners,
    refusal,
    timing,
    until,
)


def live(replica: Replica, table: Table) -> Any:
    """The table in its owner's memory, or None."""
    return replica.part(Streams)._tables._tables.get(table.id)


def seat(replica: Replica, table: Table, player: Player) -> Any:
    """The player's seat as the table's owner has it."""
    return live(replica, table).state.seat_of(player.id)


async def opened(player: Player, replica: Replica, table: Table) -> Any:
    """A stream that has begun."""
    stream = player.play(replica, table.id)
    await stream.read()
    return stream


async def absence(sql: Sql, table: Table, player: Player) -> Any:
    """What the clock was told last of a player's absence."""
    rows = await sql.fetch("select body from outbox where routing_key = 'table.changed' order by id")
    changes = [change for row in rows for change in TablesChanged.FromString(row["body"]).changes]
    said = [one for change in changes if change.table_id == table.id for one in change.absences]
    return [one for one in said if one.player_id == player.id][-1]


async def judge(replica: Replica, table: Table, player: Player, generation: int) -> bool:
    """Say what the clock says when the absence is due; answers whether it was stale."""
    request = internal.JudgeAbsenceRequest(table_id=table.id, player_id=player.id, generation=generation)
    return bool((await replica.time.JudgeAbsence(request, metadata=SERVICE)).stale)


async def test_9_5_a_closed_stream_is_a_lost_connection_and_a_new_one_is_the_way_back(
    start_replica: StartReplica, sql: Sql
) -> None:
    replica = await start_replica(reconnect_seconds=0)
    table = await open_table(replica, 2)
    one, two = table.players
    watching = await opened(two, replica, table)
    stream = await opened(one, replica, table)
    stream.cancel()
    gone = (await watching.read()).change.events[0].connection_changed
    assert (gone.seat, gone.connected) == (1, False)
    stream = await opened(one, replica, table)
    back = (await watching.read()).change.events[0].connection_changed
    assert (back.seat, back.connected) == (1, True)
    assert not (await absence(sql, table, one)).HasField("due_at")
    stream.cancel()
    watching.cancel()


async def test_10_1_a_late_repeat_changes_nothing_whichever_replica_it_comes_to(start_replica: StartReplica) -> None:
    replicas = await asyncio.gather(start_replica(), start_replica())
    await owners(*replicas)
    table = await open_table(replicas[0], 2)
    owner, other = owner_of(table.id, *replicas)
    (player, _) = table.players
    stream = await opened(player, owner, table)
    seen = live(owner, table).state.version
    asked = pb.SitOutRequest(table_id=table.id, seen_version=seen)
    out = await owner.players.SitOut(asked, metadata=player.metadata)
    back = pb.ComeBackRequest(table_id=table.id, seen_version=out.version)
    playing = await other.players.ComeBack(back, metadata=player.metadata)
    for replica in (owner, other):
        again = await replica.players.SitOut(asked, metadata=player.metadata)
        assert (again.status, again.version) == (view.SEAT_STATUS_PLAYING, playing.version)
    stream.cancel()


async def test_9_5_an_old_stream_that_closes_after_a_new_one_opened_evicts_nobody(start_replica: StartReplica) -> None:
    replicas = await asyncio.gather(start_replica(reconnect_seconds=0), start_replica(reconnect_seconds=0))
    await owners(*replicas)
    table = await open_table(replicas[0], 1)
    owner, other = owner_of(table.id, *replicas)
    (player,) = table.players
    old = await opened(player, other, table)
    new = await opened(player, owner, table)
    version = live(owner, table).state.version
    old.cancel()
    feed = live(owner, table).feed
    await until(lambda: len(feed.streams) == 1)
    assert live(owner, table).state.version == version
    new.cancel()
    await until(lambda: not seat(owner, table, player).connected)


async def test_9_5_a_stream_through_another_replica_counts_and_its_end_is_noticed(start_replica: StartReplica) -> None:
    replicas = await asyncio.gather(start_replica(reconnect_seconds=0), start_replica(reconnect_seconds=0))
    await owners(*replicas)
    table = await open_table(replicas[0], 1)
    owner, other = owner_of(table.id, *replicas)
    (player,) = table.players
    stream = await opened(player, other, table)
    assert live(owner, table).feed.has_stream_of(player.id)
    stream.cancel()
    await until(lambda: not seat(owner, table, player).connected)
    again = await opened(player, other, table)
    await until(lambda: seat(owner, table, player).connected)
    again.cancel()


async def test_a_stream_that_is_replaced_at_once_is_told_to_nobody(start_replica: StartReplica) -> None:
    replica = await start_replica(reconnect_seconds=0.3)
    table = await open_table(replica, 1)
    (player,) = table.players
    (await opened(player, replica, table)).cancel()
    stream = await opened(player, replica, table)
    version = live(replica, table).state.version
    await asyncio.sleep(0.4)
    assert live(replica, table).state.version == version
    stream.cancel()


async def test_9_5_who_is_away_gets_no_bank(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica(reconnect_seconds=0)
    table = await open_table(replica, 2)
    streams = {player.id: await opened(player, replica, table) for player in table.players}
    now = await deal(replica, sql, table)
    actor = table.of(now.hand.turn.player_id)
    assert (await timing(sql, table.id)).turn.bank_allowed
    streams[actor.id].cancel()
    await until(lambda: not seat(replica, table, actor).connected)
    assert not (await timing(sql, table.id)).turn.bank_allowed
    for stream in streams.values():
        stream.cancel()


async def test_9_5_the_judgement_looks_at_the_streams(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica(away_ms=50)
    table = await open_table(replica, 2)
    present, absent = table.players
    stream = await opened(present, replica, table)
    await asyncio.sleep(0.06)
    for player in (present, absent):
        assert not await judge(replica, table, player, (await absence(sql, table, player)).generation)
    assert not seat(replica, table, present).is_sitting_out
    gone = seat(replica, table, absent)
    assert gone.is_sitting_out
    assert not gone.connected
    assert await judge(replica, table, present, (await absence(sql, table, present)).generation)
    stream.cancel()


async def test_a_judgement_that_comes_too_early_is_told_to_come_again(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 1)
    generation = (await absence(sql, table, table.players[0])).generation
    error = await refusal(judge(replica, table, table.players[0], generation))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "TOO_EARLY")
    assert 50_000 < int(error.metadata["wait_ms"]) <= 60_000


async def test_10_2_who_sits_out_too_long_leaves_the_table(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica(away_ms=50, sitting_out_ms=50)
    table = await open_table(replica, 1)
    (player,) = table.players
    while seat(replica, table, player) is not None:
        await asyncio.sleep(0.06)
        await judge(replica, table, player, (await absence(sql, table, player)).generation)
    answer = await replica.seats.EndSeating(
        internal.EndSeatingRequest(table_id=table.id, seating_id=player.seating_id), metadata=SERVICE
    )
    assert (answer.is_over, answer.had_begun, answer.final_stack) == (True, True, 1000)
    assert not (await absence(sql, table, player)).HasField("due_at")


async def test_9_5_nobody_is_sat_out_because_the_table_moved(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await asyncio.gather(start_replica(reconnect_seconds=0), start_replica(reconnect_seconds=0))
    await owners(*replicas)
    # No hand is on: the new owner must look after it all the same.
    table = await open_table(replicas[0], 1)
    owner, other = owner_of(table.id, *replicas)
    (player,) = table.players
    stream = await opened(player, owner, table)
    stream.cancel()
    await until(lambda: not seat(owner, table, player).connected)
    before = await absence(sql, table, player)
    await owner.part(LeaseKeeper).drain()
    await until(lambda: live(other, table) is not None)
    await until(lambda: seat(other, table, player).connected)
    after = await absence(sql, table, player)
    assert after.generation > before.generation
    assert after.due_at.ToMilliseconds() > before.due_at.ToMilliseconds()
    assert await judge(other, table, player, before.generation)


async def test_a_reload_of_the_same_owner_is_no_takeover(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    await deal(replica, sql, table)
    owned = live(replica, table)
    version = owned.state.version
    owned.must_load = True
    assert (await deal_again(replica, table)).stale
    assert owned.state.version == version


async def deal_again(replica: Replica, table: Table) -> Any:
    """A call that loads the table."""
    return await replica.time.DealHand(internal.DealHandRequest(table_id=table.id, generation=0), metadata=SERVICE)


async def test_an_absence_that_the_clock_has_forgotten_is_judged_all_the_same(
    start_replica: StartReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 1)
    tables = replica.part(Streams)._tables
    later = tables._clock() + 100_000
    monkeypatch.setattr(tables, "_clock", lambda: later)
    assert await tables.restart_overdue() == 1
    assert seat(replica, table, table.players[0]).is_sitting_out
    assert await tables.restart_overdue() == 0
