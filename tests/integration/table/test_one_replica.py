"""One replica: seating, dealing, acting, and what is in the database afterwards."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.streams import Streams
from tests.integration.table.replicas import Sql, StartReplica, deal, look, open_table


async def test_a_hand_is_dealt_and_folded_to_the_big_blind(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    now = await deal(replica, sql, table)
    turn = now.hand.turn
    answer = await table.of(turn.player_id).act(replica, table.id, turn.token, view.ACTION_KIND_FOLD)
    assert answer.taken.kind == view.ACTION_KIND_FOLD
    after = (await look(replica, table)).snapshot.view
    assert after.hand.is_over
    assert sorted(seat.stack for seat in after.seats) == [990, 1010]
    assert await sql.fetchval("select count(*) from hands where deck is null and last_version is not null") == 1


async def test_each_change_is_later_than_the_one_before_whatever_the_clock_says(
    start_replica: StartReplica, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    tables = replica.part(Streams)._tables
    now = tables._clock()
    monkeypatch.setattr(tables, "_clock", lambda: now)
    table = await open_table(replica, 3)
    rows = await sql.fetch("select occurred_at_ms from table_log where table_id = $1 order by version", table.id)
    assert [row["occurred_at_ms"] for row in rows] == [now, now + 1, now + 2, now + 3]
