"""All SQL of the table service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from cardroom.chassis import outbox
from cardroom.chassis.errors import LeaseLost
from cardroom.table.domain.step import EndedSeating, ToppedUp
from cardroom.table.errors import OutcomeUnknown, WriteRefused
from cardroom.table.writes import Write, messages

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Pool = asyncpg.Pool[asyncpg.Record]

__all__ = ["Lane", "LoggedRow", "Store", "StoredTable"]

# One statement, so one round trip and one transaction. The lock on the leases keeps their epochs until it is committed;
# if one has moved, nothing at all is written and the answer names the shards.
_ACTIONS: Final = """
with held as (
    select shard, epoch from leases where shard = any($1::integer[]) order by shard for share
),
lost as (
    select wanted.shard
    from unnest($1::integer[], $2::bigint[]) as wanted (shard, epoch)
    left join held on held.shard = wanted.shard
    where held.epoch is distinct from wanted.epoch
),
fenced as (
    select true as holds where not exists (select from lost)
),
logged as (
    insert into table_log
        (table_id, version, epoch, hand_number, action_number, occurred_at_ms, command, events)
    select new.* from fenced,
        unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::bigint[], $9::bytea[],
            $10::bytea[]) as new
),
told as (
    insert into outbox (message_id, routing_key, type, body, headers, mandatory)
    select message_id, routing_key, type, body, headers::jsonb, mandatory
    from fenced, unnest($11::text[], $12::text[], $13::text[], $14::bytea[], $15::text[], $16::boolean[])
        with ordinality as new (message_id, routing_key, type, body, headers, mandatory, place)
    order by place
)
"""
_OTHERS: Final = """
, pictured as (
    insert into tables (table_id, shard, version, hand_number, is_live, snapshot)
    select new.* from fenced,
        unnest($17::uuid[], $18::smallint[], $19::bigint[], $20::bigint[], $21::boolean[], $22::bytea[]) as new
    on conflict (table_id) do update
    set version = excluded.version, hand_number = excluded.hand_number, is_live = excluded.is_live,
        snapshot = excluded.snapshot
),
begun as (
    insert into hands (table_id, hand_number, first_version, last_version, deck_key, deck)
    select new.* from fenced,
        unnest($23::uuid[], $24::bigint[], $25::bigint[], $26::bigint[], $27::text[], $28::bytea[]) as new
),
over as (
    update hands set last_version = done.version, deck_key = null, deck = null
    from fenced, unnest($29::uuid[], $30::bigint[], $31::bigint[]) as done (table_id, hand_number, version)
    where hands.table_id = done.table_id and hands.hand_number = done.hand_number
),
left_seats as (
    insert into ended_seatings (seating_id, table_id, had_begun, final_stack, last_hand_number)
    select new.* from fenced,
        unnest($32::uuid[], $33::uuid[], $34::boolean[], $35::bigint[], $36::bigint[]) as new
    on conflict (seating_id) do nothing
),
brought as (
    insert into top_ups (top_up_id, table_id, added)
    select new.* from fenced, unnest($37::uuid[], $38::uuid[], $39::bigint[]) as new
    on conflict (top_up_id) do nothing
)
"""
_LOST: Final = "select coalesce(array_agg(shard), '{}') from lost"
COMMIT: Final = _ACTIONS + _OTHERS + _LOST
# For a group of actions in the middle of hands, as most groups are: half the work.
COMMIT_ACTIONS: Final = _ACTIONS + _LOST
LOAD: Final = """
select tables.table_id::text, tables.version, tables.snapshot, hands.hand_number, hands.deck_key, hands.deck
from tables
left join hands on hands.table_id = tables.table_id and hands.last_version is null
where tables.table_id = any($1::uuid[])
"""
LOG_SINCE: Final = """
select table_log.table_id::text, table_log.version, table_log.epoch, occurred_at_ms, command, events
from unnest($1::uuid[], $2::bigint[]) as known (table_id, version)
join table_log on table_log.table_id = known.table_id and table_log.version > known.version
order by table_log.table_id, table_log.version
"""
LIVE: Final = "select table_id::text from tables where is_live and shard = any($1::smallint[])"
ACTION: Final = """
select table_log.version, command, events
from hands
join table_log on table_log.table_id = hands.table_id and table_log.version >= hands.first_version
    and (hands.last_version is null or table_log.version <= hands.last_version)
where hands.table_id = $1 and hands.hand_number = $2 and table_log.action_number = $3
"""
ENDED: Final = """
select had_begun, final_stack, last_hand_number from ended_seatings where seating_id = $1 and table_id = $2
"""

TOPPED_UP: Final = "select added from top_ups where top_up_id = $1 and table_id = $2"

# The server refused the statement itself: nothing was written. After anything else nobody knows.
_REFUSALS: Final = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)
_FAILURES: Final = (
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError,
)  # fmt: skip


@dataclass(slots=True)
class LoggedRow:
    """A row of the log."""

    version: int
    epoch: int
    occurred_ms: int
    command: bytes
    change: bytes


@dataclass(slots=True)
class StoredTable:
    """What the database knows of a table: its last snapshot, what came after it, and the deck if a hand is on."""

    table_id: str
    snapshot: bytes
    hand_number: int | None
    deck_key: str | None
    deck: bytes | None = field(repr=False)
    log: list[LoggedRow]


class Lane:
    """A connection that only commits. It is kept: handing one back to the pool costs a round trip of its own."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._conn: PoolConnectionProxy[asyncpg.Record] | None = None

    async def commit(self, writes: Sequence[Write]) -> None:
        """Write a group, all or nothing.

        Raises LeaseLost, WriteRefused (both: nothing was written) or OutcomeUnknown.
        """
        try:
            if self._conn is None:
                self._conn = await self._pool.acquire()
            if any(write.is_more_than_an_action for write in writes):
                lost = await self._conn.fetchval(COMMIT, *_action_columns(writes), *_other_columns(writes))
            else:
                lost = await self._conn.fetchval(COMMIT_ACTIONS, *_action_columns(writes))
        except _REFUSALS as error:
            raise WriteRefused(f"{type(error).__name__}: {getattr(error, 'constraint_name', None)}") from error
        except _FAILURES as error:
            await self.close()
            raise OutcomeUnknown(f"the database did not confirm a commit: {type(error).__name__}") from error
        if lost:
            raise LeaseLost(lost)

    async def close(self) -> None:
        """Drop the connection; the next commit opens another."""
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.terminate()
            await self._pool.release(conn)


class Store:
    """Reads tables, and opens lanes to write them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def lane(self) -> Lane:
        """A new lane."""
        return Lane(self._pool)

    async def load(self, table_ids: Sequence[str]) -> dict[str, StoredTable]:
        """The tables among `table_ids` that exist. One consistent picture."""
        async with self._pool.acquire() as conn, conn.transaction(isolation="repeatable_read", readonly=True):
            rows = await conn.fetch(LOAD, table_ids)
            versions = [row["version"] for row in rows]
            found = [row["table_id"] for row in rows]
            log = await conn.fetch(LOG_SINCE, found, versions)
        tables = {
            row["table_id"]: StoredTable(
                row["table_id"], row["snapshot"], row["hand_number"], row["deck_key"], row["deck"], []
            )
            for row in rows
        }
        for row in log:
            entry = LoggedRow(row["version"], row["epoch"], row["occurred_at_ms"], row["command"], row["events"])
            tables[row["table_id"]].log.append(entry)
        return tables

    async def live_tables(self, shards: Sequence[int]) -> list[str]:
        """The tables of these shards where players sit."""
        return [row["table_id"] for row in await self._pool.fetch(LIVE, shards)]

    async def action(self, table_id: str, hand_number: int, action_number: int) -> tuple[int, bytes, bytes] | None:
        """The version, command and events of the action that a player took at this turn, or None."""
        row = await self._pool.fetchrow(ACTION, table_id, hand_number, action_number)
        return None if row is None else (row["version"], row["command"], row["events"])

    async def ended_seating(self, table_id: str, seating_id: str) -> EndedSeating | None:
        """How a stay ended, or None for one that has not."""
        row = await self._pool.fetchrow(ENDED, seating_id, table_id)
        if row is None:
            return None
        return EndedSeating(seating_id, row["had_begun"], row["final_stack"], row["last_hand_number"])

    async def topped_up(self, table_id: str, top_up_id: str) -> ToppedUp | None:
        """What a top-up came to, or None for one that is not over."""
        added = await self._pool.fetchval(TOPPED_UP, top_up_id, table_id)
        return None if added is None else ToppedUp(top_up_id, added)


def _action_columns(writes: Sequence[Write]) -> list[Any]:
    """The parameters of COMMIT_ACTIONS, which are COMMIT's first: one array for each column."""
    # Pairs, not a mapping: a write under an epoch that has passed must not slip in under its shard's next one.
    epochs = sorted({(write.shard, write.epoch) for write in writes})
    logs = [(write, write.log) for write in writes if write.log is not None]
    return [
        [shard for shard, _ in epochs],
        [epoch for _, epoch in epochs],
        [write.table_id for write, _ in logs],
        [log.version for _, log in logs],
        [write.epoch for write, _ in logs],
        [log.hand_number for _, log in logs],
        [log.action_number for _, log in logs],
        [log.occurred_ms for _, log in logs],
        [log.command for _, log in logs],
        [log.change for _, log in logs],
        *outbox.columns(list(messages(writes))),
    ]


def _other_columns(writes: Sequence[Write]) -> list[Any]:
    """The rest of COMMIT's parameters: snapshots, hands that begin, hands that are over, stays that ended, top-ups."""
    pictures = [(write, write.snapshot) for write in writes if write.snapshot is not None]
    hands = [(write.table_id, write.hand) for write in writes if write.hand is not None]
    begun = [(table, hand) for table, hand in hands if hand.first_version is not None]
    over = [(table, hand) for table, hand in hands if hand.first_version is None]
    ended = [(write.table_id, stay) for write in writes for stay in write.ended]
    topped_up = [(write.table_id, one) for write in writes for one in write.topped_up]
    return [
        [write.table_id for write, _ in pictures],
        [write.shard for write, _ in pictures],
        [picture.version for _, picture in pictures],
        [picture.hand_number for _, picture in pictures],
        [picture.is_live for _, picture in pictures],
        [picture.snapshot for _, picture in pictures],
        [table for table, _ in begun],
        [hand.hand_number for _, hand in begun],
        [hand.first_version for _, hand in begun],
        [hand.last_version for _, hand in begun],
        [hand.deck_key for _, hand in begun],
        [hand.deck for _, hand in begun],
        [table for table, _ in over],
        [hand.hand_number for _, hand in over],
        [hand.last_version for _, hand in over],
        [stay.seating_id for _, stay in ended],
        [table for table, _ in ended],
        [stay.had_begun for _, stay in ended],
        [stay.final_stack for _, stay in ended],
        [stay.last_hand_number for _, stay in ended],
        [one.top_up_id for _, one in topped_up],
        [table for table, _ in topped_up],
        [one.added for _, one in topped_up],
    ]
