"""Two replicas: any takes any request, one decides; and shards change hands without a lost action."""

from __future__ import annotations

import asyncio
import base64

from cardroom.chassis.leases import LeaseKeeper
from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.forwarding import FORWARDED, OWNER
from cardroom.table.tables import shard_of
from tests.integration.table.replicas import (
    SERVICE,
    Replica,
    Sql,
    StartReplica,
    Table,
    deal,
    look,
    open_table,
    owner_of,
    owners,
    refusal,
    timing,
    until,
)

CALL, CHECK, FOLD = view.ACTION_KIND_CALL, view.ACTION_KIND_CHECK, view.ACTION_KIND_FOLD


async def pair(start_replica: StartReplica) -> tuple[Replica, Replica]:
    """Two replicas that share the shards."""
    replicas = await asyncio.gather(start_replica(), start_replica())
    await owners(*replicas)
    return replicas[0], replicas[1]


async def test_a_hand_is_played_through_the_replica_that_does_not_own_the_table(
    start_replica: StartReplica, sql: Sql
) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 2)
    owner, other = owner_of(table.id, *replicas)
    now = await deal(other, sql, table)
    stream = table.players[0].play(other, table.id)
    first = await stream.read()
    assert first.snapshot.view == (await look(owner, table)).snapshot.view
    while not now.hand.is_over:
        turn = now.hand.turn
        kind = CHECK if turn.legal.can_check else CALL
        answer = await table.of(turn.player_id).act(other, table.id, turn.token, kind)
        change = await stream.read()
        assert change.version == answer.version
        assert change.change.events[0].action_taken == answer.taken
        now = (await look(owner, table)).snapshot.view
    stream.cancel()


async def test_errors_come_through_as_the_owner_said_them(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 2)
    owner, other = owner_of(table.id, *replicas)
    turn = (await deal(owner, sql, table)).hand.turn
    actor = table.of(turn.player_id)
    here = await refusal(actor.act(owner, table.id, turn.token, view.ACTION_KIND_RAISE, 55))
    there = await refusal(actor.act(other, table.id, turn.token, view.ACTION_KIND_RAISE, 55))
    assert (there.reason, there.message, there.metadata) == (here.reason, here.message, here.metadata)
    assert there.metadata == {"nearest_below": "50", "nearest_above": "60"}


async def test_a_stream_names_the_owner_so_that_the_client_can_go_there(start_replica: StartReplica) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 1)
    owner, other = owner_of(table.id, *replicas)
    for replica, is_passed_on in ((owner, False), (other, True)):
        stream = table.players[0].play(replica, table.id)
        await stream.read()
        metadata = dict(await stream.initial_metadata())
        assert base64.b64decode(metadata[OWNER]).decode() == owner.address
        assert (FORWARDED in metadata) == is_passed_on
        stream.cancel()


async def test_one_action_through_both_replicas_at_once_counts_once(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 3)
    turn = (await deal(replicas[0], sql, table)).hand.turn
    actor = table.of(turn.player_id)
    answers = await asyncio.gather(*[actor.act(replica, table.id, turn.token, CALL) for replica in replicas * 3])
    assert all(answer == answers[0] for answer in answers)
    assert await sql.fetchval("select count(*) from table_log where action_number = 1") == 1


async def test_what_was_passed_on_once_is_not_passed_on_again(start_replica: StartReplica) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 1)
    _, other = owner_of(table.id, *replicas)
    request = pb.SitOutRequest(table_id=table.id)
    metadata = (*table.players[0].metadata, (FORWARDED, "1"))
    error = await refusal(other.players.SitOut(request, metadata=metadata))
    assert error.reason in {"NOT_OWNER", "TABLE_MOVING"}


async def test_a_replica_that_stops_hands_its_tables_over_in_the_middle_of_a_hand(
    start_replica: StartReplica, sql: Sql
) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 3)
    owner, other = owner_of(table.id, *replicas)
    now = await deal(owner, sql, table)
    generation = (await timing(sql, table.id)).generation
    actor = table.of(now.hand.turn.player_id)
    stopping = asyncio.create_task(owner.stop())
    answer = await actor.act(other, table.id, now.hand.turn.token, CALL)
    await stopping
    assert answer.taken.kind == CALL
    after = (await look(other, table)).snapshot.view
    assert after.hand.turn.token.action_number == 2
    assert after.hand.players == (await look(other, table)).snapshot.view.hand.players
    assert (await timing(sql, table.id)).generation > generation


async def test_streams_end_with_unavailable_when_the_table_moves(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 2)
    owner, other = owner_of(table.id, *replicas)
    direct, passed_on = table.players[0].play(owner, table.id), table.players[1].play(other, table.id)
    await direct.read()
    await passed_on.read()
    await owner.part(LeaseKeeper).drain()
    for stream in (direct, passed_on):
        error = await refusal(stream.read())
        assert error.code.name == "UNAVAILABLE"
        assert error.reason == "TABLE_MOVING"
    assert (await look(other, table)).snapshot.view.table_id == table.id


async def test_an_owner_that_was_taken_for_dead_changes_nothing(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 2)
    owner, other = owner_of(table.id, *replicas)
    now = await deal(owner, sql, table)
    turn = now.hand.turn
    shard = shard_of(table.id)
    await sql.execute("update leases set epoch = epoch + 1, owner = null where shard = $1", shard)
    answer = await table.of(turn.player_id).act(owner, table.id, turn.token, CALL)
    rows = await sql.fetch("select version, epoch from table_log where table_id = $1 order by version", table.id)
    assert [row["version"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1]["epoch"] > rows[-3]["epoch"]
    assert answer.taken.kind == CALL
    assert (await look(other, table)).version == rows[-1]["version"]


async def test_without_an_owner_a_request_is_told_to_come_again(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica(owner_wait_seconds=0.2)
    table = await open_table(replica, 1)
    await replica.part(LeaseKeeper).drain()
    error = await refusal(table.players[0].act(replica, table.id, view.TurnToken(hand_number=1, action_number=1), FOLD))
    assert (error.code.name, error.reason) == ("UNAVAILABLE", "TABLE_MOVING")


async def test_tables_with_a_hand_on_are_taken_up_at_once(start_replica: StartReplica, sql: Sql) -> None:
    replicas = await pair(start_replica)
    tables = [await open_table(replicas[0], 2) for _ in range(8)]
    for table in tables:
        await deal(replicas[0], sql, table)
    stopped = await timings(sql, tables)
    await replicas[0].stop()
    await until(lambda: _all_restarted(replicas[1], sql, tables, stopped))


async def timings(sql: Sql, tables: list[Table]) -> list[int]:
    """What the clock knows last of each table."""
    return [(await timing(sql, table.id)).generation for table in tables]


async def _all_restarted(replica: Replica, sql: Sql, tables: list[Table], before: list[int]) -> bool:
    """Whether every turn began anew under one owner, without anyone asking."""
    epochs = replica.part(LeaseKeeper).owned()
    if len(epochs) != 256:
        return False
    for table, generation in zip(tables, before, strict=True):
        last = await sql.fetchval(
            "select epoch from table_log where table_id = $1 order by version desc limit 1", table.id
        )
        moved = last == epochs[shard_of(table.id)]
        if not moved or (await timing(sql, table.id)).generation < generation:
            return False
    return True


async def test_the_seat_service_works_through_both_replicas(start_replica: StartReplica) -> None:
    replicas = await pair(start_replica)
    table = await open_table(replicas[0], 2)
    request = internal.GetStacksRequest(table_id=table.id)
    one, two = [await replica.seats.GetStacks(request, metadata=SERVICE) for replica in replicas]
    assert one == two
    assert [stack.stack for stack in one.stacks] == [1000, 1000]
