"""The spectator's database: every statement it runs. All times are judged by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from cardroom.spectator.domain.feed import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]

ADD_CHANGES: Final = """
insert into table_changes (table_id, version, happened_at, body)
select new.table_id, new.version, least(new.occurred_at, statement_timestamp()), new.body
from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::bytea[]) as new (table_id, version, occurred_at, body)
on conflict (table_id, version) do nothing
"""
# A change waits for every earlier one: a clock that was set back, as at a takeover, shows nothing early.
NEWEST_DUE: Final = """
with moment as (select statement_timestamp() - $2::interval as until)
select
    moment.until,
    exists (select from table_changes where table_id = $1) as is_known,
    due.version, due.happened_at, due.body
from moment
left join lateral (
    select version, happened_at, body
    from table_changes
    where table_id = $1
    and version < coalesce(
        (select min(version) from table_changes where table_id = $1 and happened_at > moment.until),
        9223372036854775807
    )
    order by version desc
    limit 1
) as due on true
"""
# The next change of a table decides for all after it, so a poll with nothing due looks at one row of each table.
DUE_AFTER: Final = """
with moment as (select statement_timestamp() - $3::interval as until)
select moment.until, due.*
from moment
left join lateral (
    select watched.table_id::text, change.version, change.happened_at, change.body
    from unnest($1::uuid[], $2::bigint[]) as watched (table_id, seen)
    cross join lateral (
        select happened_at
        from table_changes
        where table_changes.table_id = watched.table_id and version > watched.seen
        order by version
        limit 1
    ) as next
    cross join lateral (
        select version, happened_at, body
        from table_changes
        where table_changes.table_id = watched.table_id and version > watched.seen
        and version < coalesce(
            (
                select version
                from table_changes as waiting
                where waiting.table_id = watched.table_id and waiting.version > watched.seen
                and waiting.happened_at > moment.until
                order by waiting.version
                limit 1
            ),
            9223372036854775807
        )
        order by version
        limit $4
    ) as change
    where next.happened_at <= moment.until
) as due on true
order by due.table_id, due.version
"""
# The newest of the old changes is kept for each table, for ever: it is what a new watcher of a quiet table sees.
PURGE: Final = """
delete from table_changes where (table_id, version) in (
    select old.table_id, old.version
    from table_changes as old
    where old.happened_at < statement_timestamp() - $1::interval
    and exists (
        select from table_changes as newer
        where newer.table_id = old.table_id and newer.version > old.version
        and newer.happened_at < statement_timestamp() - $1::interval
    )
    order by old.happened_at
    limit $2
)
"""
ROWS_A_TABLE_MAX: Final = 200
PURGE_BATCH: Final = 2000


@dataclass(frozen=True, slots=True)
class Arrival:
    """A change as it came from the bus."""

    table_id: str
    version: int
    occurred_at: datetime
    body: bytes


@dataclass(frozen=True, slots=True)
class Opening:
    """What a new watcher of a table begins with."""

    is_known: bool
    newest_due: Change | None
    until: datetime


class Store:
    """Reads and writes the changes. `delay` is how far watchers are behind."""

    def __init__(self, pool: Pool, delay: timedelta) -> None:
        """Use `pool`; the caller closes it."""
        self._pool = pool
        self._delay = delay

    async def add(self, arrivals: Sequence[Arrival]) -> None:
        """Keep changes; those that are known already are passed over."""
        await self._pool.execute(
            ADD_CHANGES,
            [arrival.table_id for arrival in arrivals],
            [arrival.version for arrival in arrivals],
            [arrival.occurred_at for arrival in arrivals],
            [arrival.body for arrival in arrivals],
        )

    async def open(self, table_id: str) -> Opening:
        """Return the newest change of a table that is due."""
        row = await self._pool.fetchrow(NEWEST_DUE, table_id, self._delay)
        assert row is not None, "the statement always gives one row"
        newest = None
        if row["version"] is not None:
            newest = Change(table_id, row["version"], row["happened_at"], row["body"])
        return Opening(row["is_known"], newest, row["until"])

    async def due_after(self, shown: Mapping[str, Change | None]) -> tuple[list[Change], datetime]:
        """Return the due changes after the one shown last of each table, and the moment up to which they are due."""
        seen = [0 if last is None else last.version for last in shown.values()]
        rows = await self._pool.fetch(DUE_AFTER, list(shown), seen, self._delay, ROWS_A_TABLE_MAX)
        due = [Change(*row[1:]) for row in rows if row[1] is not None]
        return due, rows[0]["until"]

    async def purge(self, retention: timedelta) -> int:
        """Delete a batch of what nobody will ask for any more; return how many rows that was."""
        done = await self._pool.execute(PURGE, retention, PURGE_BATCH)
        return int(done.rpartition(" ")[2])
