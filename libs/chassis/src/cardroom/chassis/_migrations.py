"""Migrations: plain SQL, all that are missing applied in one transaction, by one process at a time.

A process that comes back finds nothing to do, mostly. So it looks first, on a plain connection: what applies migrations
takes longer to load than the look, and timers or tables wait for it meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from importlib import resources
from typing import TYPE_CHECKING, Final

import asyncpg

from cardroom.chassis import logs
from cardroom.chassis.errors import Unavailable

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

CONNECT_TIMEOUT_SECONDS: Final = 3.0
WAIT_SECONDS: Final = 0.5
# yoyo's own table: one row for each migration that was applied, by the file's name without its ending.
APPLIED: Final = "SELECT migration_id FROM _yoyo_migration"

log = logs.get("database")


async def migrate(database_url: str, package: str, *, wait_seconds: float = 60) -> int:
    """Apply what `<package>/migrations/*.sql` adds to the database; return how many migrations that was.

    Safe when several replicas start together: one works, the others wait for it and find nothing to do. The lock is
    an advisory lock, which a killed process does not leave behind, unlike yoyo's own row. All or nothing: a process
    killed on the way leaves the database as it was. Raises Unavailable without a database; may be cancelled while it
    waits for one.
    """
    conn = await _connected(database_url, wait_seconds)
    try:
        if wanted(package) <= await _applied(conn):
            return 0
    finally:
        await conn.close()
    return await asyncio.to_thread(_apply, database_url, package)


def wanted(package: str) -> set[str]:
    """Return the names of a package's migrations."""
    files = (resources.files(package) / "migrations").iterdir()
    return {file.name.removesuffix(".sql") for file in files if file.name.endswith(".sql")}


async def _applied(conn: Connection) -> set[str]:
    try:
        return {row["migration_id"] for row in await conn.fetch(APPLIED)}
    except asyncpg.UndefinedTableError:
        return set()


def _apply(database_url: str, package: str) -> int:
    from cardroom.chassis import _yoyo  # noqa: PLC0415 - slow import

    return _yoyo.migrate(database_url, package)


async def _connected(database_url: str, wait_seconds: float) -> Connection:
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            return await asyncpg.connect(database_url, timeout=CONNECT_TIMEOUT_SECONDS)
        except (OSError, TimeoutError, asyncpg.PostgresError) as error:
            if time.monotonic() > give_up:
                text = f"the database did not answer within {wait_seconds:g} s: {error!r}"
                raise Unavailable("DATABASE_UNAVAILABLE", text) from error
            log.warning("the database is not there yet; waiting", error=repr(error))
        await asyncio.sleep(WAIT_SECONDS)
