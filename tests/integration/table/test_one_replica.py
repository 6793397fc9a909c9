"""One replica: seating, dealing, acting, and what is in the database afterwards."""

from __future__ import annotations

from cardroom.contracts.table.v1 import view_pb2 as view
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
