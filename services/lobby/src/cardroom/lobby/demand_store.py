"""What the lobby keeps of tables by demand. Each method is one committed unit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from cardroom.lobby import demand_statements as dsql
from cardroom.lobby import statements as sql
from cardroom.lobby.domain.demand import Demand, Situation, Standing, names_to_open, tables_to_close
from cardroom.lobby.domain.rooms import wanted_of
from cardroom.lobby.domain.tables import TableState
from cardroom.lobby.waiting_store import count_waiting_for

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

# The table service refuses what a repeat would not change: the next try waits for somebody to mend the settings.
AFTER_REFUSAL: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Changed:
    """How many tables are to be opened and closed now."""

    opened: int = 0
    closed: int = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self.opened + self.closed > 0


class DemandStore:
    """Tables by demand."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def look(self, demand: Demand) -> Situation:
        """Return how things stand, without a promise that they stay so."""
        return await _situation(self._pool, demand)

    async def settle(self, demand: Demand, patience: timedelta) -> Changed:
        """Write down which tables are to be opened, and take off the offer one that is too many."""
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(dsql.LOCK_DEMAND, demand.key)
            # Read after the lock: whoever had it has committed.
            situation = await _situation(conn, demand)
            opened = 0
            for number, name in enumerate(names_to_open(demand, situation), situation.last_number + 1):
                opened += await _add(conn, demand, name, number)
            closed = await _close_one(conn, tables_to_close(demand, situation, patience), patience)
        return Changed(opened, closed)

    async def close_unwanted(self, wanted: Sequence[Demand], patience: timedelta) -> Changed:
        """Take off the offer a table that was opened for stakes which are not wanted any more."""
        keys = [demand.key for demand in wanted]
        async with self._pool.acquire() as conn, conn.transaction():
            standing = [_standing(row) for row in await conn.fetch(dsql.STANDING_ELSEWHERE, keys)]
            closed = await _close_one(conn, tables_to_close(None, Situation(standing, 0), patience), patience)
        return Changed(closed=closed)


async def _situation(conn: Connection | Pool, demand: Demand) -> Situation:
    stakes = demand.stakes
    # Read before the tables: of one that is opened meanwhile either the table is seen, or its number is taken.
    last = await conn.fetchrow(dsql.LAST_OPENED, demand.key, AFTER_REFUSAL)
    rows = await conn.fetch(
        dsql.STANDING_AT,
        stakes.game,
        stakes.small_blind,
        stakes.big_blind,
        stakes.ante,
        stakes.min_buy_in,
        stakes.max_buy_in,
        stakes.seats,
    )
    waiting = await count_waiting_for(conn, wanted_of(stakes))
    standing = [_standing(row) for row in rows]
    if last is None:
        return Situation(standing, waiting)
    return Situation(standing, waiting, last["demand_number"], last["was_refused"])


async def _add(conn: Connection, demand: Demand, name: str, number: int) -> int:
    stakes = demand.stakes
    added = await conn.fetchval(
        dsql.ADD_TABLE_BY_DEMAND,
        uuid4(),
        demand.request_id(number),
        name,
        stakes.game,
        stakes.small_blind,
        stakes.big_blind,
        stakes.ante,
        stakes.min_buy_in,
        stakes.max_buy_in,
        stakes.seats,
        json.dumps({"name": name, **asdict(stakes)}, sort_keys=True),
        demand.key,
        number,
    )
    return int(added is not None)


async def _close_one(conn: Connection, candidates: Sequence[str], patience: timedelta) -> int:
    for table_id in candidates:
        if await conn.fetchval(dsql.LOCK_TABLE_AT_REST, table_id) is None:
            continue
        # Read after the lock: from now on nobody takes a seat there, or begins to wait for one.
        if _standing(await conn.fetchrow(dsql.STANDING_ONE, table_id)).is_idle(patience):
            await conn.execute(sql.BEGIN_CLOSING, table_id)
            return 1
    return 0


def _standing(row: Any) -> Standing:
    assert row is not None, "a table is only deleted long after its end"
    return Standing(
        table_id=str(row["table_id"]),
        name=row["name"],
        state=TableState(row["state"]),
        seats=row["seats"],
        kept=row["kept"],
        waiting=row["waiting"],
        is_by_demand=row["demand_key"] is not None,
        empty_for=row["empty_for"],
    )
