"""The SQL of leases: runners say that they live, leases say who owns a shard and under which epoch.

A lease is good as long as its owner's row in `runners` exists. The expiry stands there, so that one update renews all
leases of a runner; it is judged by the database's clock alone. A row is deleted by anyone who finds it expired, and
only then may its shards be taken: the deletion and a late renewal meet at the row's lock, so one of the two wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    import asyncpg

    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

CHANNEL: Final = "leases"

REGISTER: Final = """
    INSERT INTO runners (runner_id, address, expires_at)
    VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
"""
RENEW: Final = """
    UPDATE runners SET expires_at = clock_timestamp() + make_interval(secs => $2)
    WHERE runner_id = $1 RETURNING true
"""
BURY: Final = "DELETE FROM runners WHERE expires_at <= clock_timestamp() RETURNING runner_id"
DRAIN: Final = "UPDATE runners SET draining = true WHERE runner_id = $1"
LEAVE: Final = "DELETE FROM runners WHERE runner_id = $1"
RUNNERS: Final = """
    SELECT runner_id, address, draining, extract(epoch FROM expires_at - clock_timestamp())::float8 AS seconds_left
    FROM runners
"""
LEASES: Final = "SELECT array_agg(shard) AS shards, array_agg(owner) AS owners, array_agg(epoch) AS epochs FROM leases"
CLAIM: Final = """
    UPDATE leases SET owner = $1, epoch = epoch + 1
    WHERE shard IN (
        SELECT shard FROM leases
        WHERE shard = ANY ($2::integer[])
            AND (owner IS NULL OR NOT EXISTS (SELECT FROM runners WHERE runner_id = leases.owner))
        ORDER BY shard FOR UPDATE SKIP LOCKED
    ) AND EXISTS (SELECT FROM runners WHERE runner_id = $1)
    RETURNING shard, epoch
"""
RELEASE: Final = """
    UPDATE leases SET owner = NULL, epoch = epoch + 1
    WHERE owner = $1 AND shard = ANY ($2::integer[])
"""
CHECK: Final = """
    WITH held AS (
        SELECT shard, epoch FROM leases WHERE shard = ANY ($1::integer[]) ORDER BY shard FOR SHARE
    )
    SELECT wanted.shard
    FROM unnest($1::integer[], $2::bigint[]) AS wanted (shard, epoch)
    LEFT JOIN held ON held.shard = wanted.shard
    WHERE held.epoch IS DISTINCT FROM wanted.epoch
"""
NOTIFY: Final = "SELECT pg_notify($1, $2)"


@dataclass(frozen=True, slots=True)
class Lease:
    """A shard as the database says: its owner, or None, and its epoch."""

    owner: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class Board:
    """What the database says: the addresses of the runners, which of them want no more shards, how long each lives on
    if it is not heard of again, and every lease."""

    addresses: dict[str, str]
    draining: frozenset[str]
    seconds_left: dict[str, float]
    leases: dict[int, Lease]

    def owner(self, shard: int) -> str | None:
        """Return the runner that owns `shard`, or None if nobody alive does."""
        lease = self.leases.get(shard)
        return lease.owner if lease is not None and lease.owner in self.addresses else None


class LeaseStore:
    """The statements of one runner (`runner`), on one connection."""

    def __init__(self, conn: Connection, runner: str) -> None:
        self._conn = conn
        self.runner = runner

    async def register(self, address: str, ttl: float) -> None:
        """Say that this runner lives."""
        await self._conn.execute(REGISTER, self.runner, address, ttl)

    async def renew(self, ttl: float) -> bool:
        """Extend every lease of this runner; False if it was taken for dead."""
        return bool(await self._conn.fetchval(RENEW, self.runner, ttl))

    async def bury(self) -> list[str]:
        """Delete the runners whose time is over; return them. Their shards are free."""
        return [row["runner_id"] for row in await self._conn.fetch(BURY)]

    async def board(self) -> Board:
        """Read who lives and who owns what."""
        runners = await self._conn.fetch(RUNNERS)
        leases = await self._conn.fetchrow(LEASES)
        assert leases is not None, "an aggregate has a row"
        rows = zip(leases["shards"] or (), leases["owners"] or (), leases["epochs"] or (), strict=True)
        return Board(
            {row["runner_id"]: row["address"] for row in runners},
            frozenset(row["runner_id"] for row in runners if row["draining"]),
            {row["runner_id"]: row["seconds_left"] for row in runners},
            {shard: Lease(owner, epoch) for shard, owner, epoch in rows},
        )

    async def claim(self, shards: Collection[int]) -> dict[int, int]:
        """Take those of `shards` that nobody owns; return them with their new epochs."""
        rows = await self._conn.fetch(CLAIM, self.runner, sorted(shards))
        return {row["shard"]: row["epoch"] for row in rows}

    async def release(self, shards: Collection[int]) -> None:
        """Give shards up. Waits for transactions that were fenced with their epochs."""
        await self._conn.execute(RELEASE, self.runner, sorted(shards))

    async def drain(self) -> None:
        """Say that this runner wants no more shards."""
        await self._conn.execute(DRAIN, self.runner)

    async def leave(self) -> None:
        """Say that this runner is gone."""
        await self._conn.execute(LEAVE, self.runner)

    async def tell(self) -> None:
        """Wake the other runners: something changed."""
        await self._conn.execute(NOTIFY, CHANNEL, self.runner)
