"""Commits: fenced by epochs, grouped, written whole or not at all."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from cardroom.chassis import database as chassis_database
from cardroom.chassis.errors import LeaseLost
from cardroom.chassis.outbox import OutboxMessage
from cardroom.contracts.events.v1.events_pb2 import TableChanged, TablesChanged
from cardroom.table.committer import Committer
from cardroom.table.domain.step import EndedSeating
from cardroom.table.errors import WriteRefused
from cardroom.table.store import Lane, Store
from cardroom.table.writes import CHANGED, CHANGED_KEY, ChangeRow, HandRow, LogRow, SnapshotRow, Write
from tests.integration.table.replicas import Sql


@pytest.fixture
async def pool(database: str) -> AsyncIterator[asyncpg.Pool[asyncpg.Record]]:
    await chassis_database.migrate(database, "cardroom.table")
    async with asyncpg.create_pool(database, min_size=1, max_size=4) as pool:
        await pool.execute("update leases set epoch = 5, owner = 'me'")
        yield pool


@pytest.fixture
async def lane(pool: asyncpg.Pool[asyncpg.Record]) -> AsyncIterator[Lane]:
    lane = Store(pool).lane()
    yield lane
    await lane.close()


def write(
    version: int = 1, *, shard: int = 3, epoch: int = 5, table_id: str | None = None, traceparent: str | None = None
) -> Write:
    """Everything that one command can write."""
    table = table_id or str(uuid.uuid4())
    return Write(
        table_id=table,
        shard=shard,
        epoch=epoch,
        log=LogRow(version, 1, 1, 1_700_000_000_000, b"command", b"change"),
        snapshot=SnapshotRow(version, 1, True, b"snapshot"),
        hand=HandRow(version, version, None, "key", b"sealed"),
        ended=(EndedSeating(str(uuid.uuid4()), True, 100, 1),),
        changed=ChangeRow(f"{table}/{version}", TableChanged(table_id=table).SerializeToString(), traceparent),
        settled=OutboxMessage(f"table.settled.{table}", "T", b"settled"),
    )


def action(version: int = 1, *, shard: int = 3, epoch: int = 5) -> Write:
    """What an action in the middle of a hand writes."""
    whole = write(version, shard=shard, epoch=epoch)
    return Write(whole.table_id, shard, epoch, whole.log, None, None, (), whole.changed, None)


async def counts(sql: Sql) -> list[int]:
    """Rows of every table that a commit writes to."""
    names = ("table_log", "tables", "hands", "ended_seatings", "outbox")
    return [await sql.fetchval(f"select count(*) from {name}") for name in names]


async def test_a_group_is_written_whole(lane: Lane, sql: Sql) -> None:
    await lane.commit([write(), write(shard=4)])
    assert await counts(sql) == [2, 2, 2, 2, 3]


async def test_the_changes_of_a_group_are_one_message(lane: Lane, sql: Sql) -> None:
    writes = [write(), write(shard=4), write(shard=5)]
    await lane.commit(writes)
    changes, *settled = await sql.fetch("select routing_key, type, body, headers from outbox order by id")
    assert (changes["routing_key"], changes["type"], changes["headers"]) == (CHANGED_KEY, CHANGED, "{}")
    told = TablesChanged.FromString(changes["body"]).changes
    assert [one.table_id for one in told] == [one.table_id for one in writes]
    assert [row["body"] for row in settled] == [b"settled"] * 3


async def test_a_change_whose_trace_is_recorded_has_a_message_with_its_trace(lane: Lane, sql: Sql) -> None:
    trace = f"00-{'1' * 32}-{'2' * 16}-01"
    writes = [write(), write(shard=4, traceparent=trace), write(shard=5)]
    await lane.commit(writes)
    rows = await sql.fetch("select body, headers from outbox where type = $1 order by id", CHANGED)
    told = [[one.table_id for one in TablesChanged.FromString(row["body"]).changes] for row in rows]
    assert told == [[writes[1].table_id], [writes[0].table_id, writes[2].table_id]]
    assert [json.loads(row["headers"]) for row in rows] == [{"traceparent": trace}, {}]


async def test_under_an_epoch_that_moved_nothing_at_all_is_written(lane: Lane, sql: Sql) -> None:
    with pytest.raises(LeaseLost) as lost:
        await lane.commit([write(), write(shard=9, epoch=4), write(shard=4)])
    assert lost.value.shards == (9,)
    assert await counts(sql) == [0, 0, 0, 0, 0]


async def test_the_same_holds_for_a_group_of_mere_actions(lane: Lane, sql: Sql) -> None:
    with pytest.raises(LeaseLost) as lost:
        await lane.commit([action(), action(shard=9, epoch=4)])
    assert lost.value.shards == (9,)
    assert await counts(sql) == [0, 0, 0, 0, 0]
    await lane.commit([action(), action(shard=4)])
    assert await counts(sql) == [2, 0, 0, 0, 1]


async def test_a_stale_write_does_not_slip_in_beside_a_fresh_one_of_its_shard(lane: Lane, sql: Sql) -> None:
    with pytest.raises(LeaseLost):
        await lane.commit([write(epoch=4), write(epoch=5)])
    assert await counts(sql) == [0, 0, 0, 0, 0]


async def test_one_version_is_written_once(lane: Lane, sql: Sql) -> None:
    first = write()
    await lane.commit([first])
    with pytest.raises(WriteRefused):
        await lane.commit([write(table_id=first.table_id)])
    assert await counts(sql) == [1, 1, 1, 1, 2]


async def test_a_takeover_waits_for_a_commit_under_way_and_a_commit_fails_after_a_takeover(
    lane: Lane, pool: asyncpg.Pool[asyncpg.Record]
) -> None:
    async with pool.acquire() as conn:
        async with conn.transaction():
            await conn.execute("update leases set epoch = 6 where shard = 3")
            committing = asyncio.create_task(lane.commit([write()]))
            await asyncio.sleep(0.1)
            assert not committing.done()
        with pytest.raises(LeaseLost):
            await committing


async def test_a_bad_shard_in_a_group_fails_alone(pool: asyncpg.Pool[asyncpg.Record], sql: Sql) -> None:
    committer = Committer(Store(pool).lane, lambda: None, lanes=1)
    outcomes: dict[str, Exception | None] = {}
    for name, one in {"good": write(), "stale": write(shard=9, epoch=4), "other": write(shard=4)}.items():
        committer.submit(one, lambda error, name=name: outcomes.__setitem__(name, error))  # type: ignore[misc]
    await committer.start()
    await committer.stop()
    assert outcomes["good"] is outcomes["other"] is None
    assert isinstance(outcomes["stale"], LeaseLost)
    assert await counts(sql) == [2, 2, 2, 2, 3]


async def test_the_deck_lies_there_only_while_its_hand_runs(lane: Lane, sql: Sql) -> None:
    begun = write()
    await lane.commit([begun])
    assert await sql.fetchval("select deck from hands") == b"sealed"
    over = Write(begun.table_id, 3, 5, None, None, HandRow(1, None, 2, None, None), (), None, None)
    await lane.commit([over])
    row = await sql.fetchrow("select deck, deck_key, last_version from hands")
    assert tuple(row or ()) == (None, None, 2)
