"""The spectator's database: every statement it runs. All times are judged by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from cardroom.spectator.domain.feed import Change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]

ADD_CHANGES: Final = """
insert into table_changes (table_id, version, occurred_at, latest_at, body)
select
    new.table_id,
    new.version,
    new.occurred_at,
    greatest(
        max(least(new.occurred_at, statement_timestamp())) over (partition by new.table_id order by new.version),
        before.latest_at
    ),
    new.body
from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::bytea[]) as new (table_id, version, occurred_at, body)
left join lateral (
    select known.latest_at
    from table_changes as known
    where known.table_id = new.table_id and known.version < new.version
    order by known.version desc
    limit 1
) as before on true
on conflict (table_id, version) do nothing
"""
NEWEST_DUE: Final = """
select
    statement_timestamp() - $2::interval as until,
    exists (select from table_changes where table_id = $1) as is_known,
    due.version, due.latest_at, due.body
from (select 1) as one
left join lateral (
    select version, latest_at, body
    from table_changes
    where table_id = $1 and latest_at <= statement_timestamp() - $2::interval
    order by latest_at desc, version desc
    limit 1
) as due on true
"""
# Later versions never have an earlier latest_at, so `latest_at >= since` loses none, and keeps the scan to what is new.
DUE_AFTER: Final = """
select moment.until, due.*
from (select statement_timestamp() - $4::interval as until) as moment
left join (
    select watched.table_id::text, change.version, change.latest_at, change.body
    from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as watched (table_id, seen, since)
    cross join lateral (
        select version, latest_at, body
        from table_changes
        where table_changes.table_id = watched.table_id
        and latest_at >= watched.since and latest_at <= statement_timestamp() - $4::interval
        and version > watched.seen
        order by latest_at, version
        limit $5
    ) as change
) as due on true
order by due.table_id, due.version
"""
# The newest change that is due is kept for each table, however old: it is what a new watcher sees first.
PURGE: Final = """
delete from table_changes where (table_id, version) in (
    select old.table_id, old.version
    from table_changes as old
    where old.latest_at < statement_timestamp() - $1::interval
    and exists (
        select from table_changes as newer
        where newer.table_id = old.table_id and newer.version > old.version
        and newer.latest_at <= statement_timestamp() - $2::interval
    )
    order by old.latest_at
    limit $3
)
"""
ROWS_A_TABLE_MAX: Final = 200
LONG_AGO: Final = datetime.fromtimestamp(0, UTC)
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
            newest = Change(table_id, row["version"], row["latest_at"], row["body"])
        return Opening(row["is_known"], newest, row["until"])

    async def due_after(self, shown: Mapping[str, Change | None]) -> tuple[list[Change], datetime]:
        """Return the due changes after the one shown last of each table, and the moment up to which they are due."""
        rows = await self._pool.fetch(
            DUE_AFTER,
            list(shown),
            [0 if last is None else last.version for last in shown.values()],
            [LONG_AGO if last is None else last.latest_at for last in shown.values()],
            self._delay,
            ROWS_A_TABLE_MAX,
        )
        due = [Change(*row[1:]) for row in rows if row[1] is not None]
        return due, rows[0]["until"]

    async def purge(self, retention: timedelta) -> int:
        """Delete a batch of what nobody will ask for any more; return how many rows that was."""
        done = await self._pool.execute(PURGE, retention, self._delay, PURGE_BATCH)
        return int(done.rpartition(" ")[2])
