"""Who owns a table, and what its log says, read from the table service's database."""

from __future__ import annotations

import asyncio
import hashlib

import asyncpg

from cardroom.local import Stack
from cardroom.local.services import Service

SHARDS = 256


def shard_of(table_id: str) -> int:
    """The shard of a table, reckoned anew: a change of the hash would move every table of a running system."""
    return int.from_bytes(hashlib.sha256(table_id.encode()).digest()[:8], "big") % SHARDS


async def owner_of(stack: Stack, table_id: str) -> Service:
    """The process that owns the table now."""
    query = "select r.address from leases l join runners r on r.runner_id = l.owner where l.shard = $1"
    async with asyncio.timeout(30):
        while True:
            rows = await fetch(stack, "table", query, shard_of(table_id))
            for process in stack.processes.values():
                if rows and process.place.address == rows[0]["address"]:
                    return process
            await asyncio.sleep(0.05)


async def fetch(stack: Stack, service: str, query: str, *values: object) -> list[asyncpg.Record]:
    """Rows of one query on a service's database."""
    connection = await asyncpg.connect(stack.database_url(service))
    try:
        return list(await connection.fetch(query, *values))
    finally:
        await connection.close()


async def assert_log_is_sound(stack: Stack, table_id: str) -> None:
    """Versions without a gap, epochs that never fall, each turn answered once."""
    rows = await fetch(
        stack,
        "table",
        "select version, epoch, hand_number, action_number from table_log where table_id = $1 order by version",
        table_id,
    )
    assert [row["version"] for row in rows] == list(range(1, len(rows) + 1))
    epochs = [row["epoch"] for row in rows]
    assert epochs == sorted(epochs)
    turns = [(row["hand_number"], row["action_number"]) for row in rows if row["action_number"] is not None]
    assert len(set(turns)) == len(turns)
