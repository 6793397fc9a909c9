"""Migrations: plain SQL applied by yoyo, all that are missing in one transaction, by one process at a time."""

from __future__ import annotations

import asyncio
import threading
import time
from importlib import resources
from typing import Any, Final

import psycopg
import yoyo
from yoyo import connections
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend

from cardroom.chassis import logs
from cardroom.chassis.errors import Unavailable

LOCK: Final = 0x43415244
CONNECT_TIMEOUT_SECONDS: Final = 3
WAIT_SECONDS: Final = 0.5

log = logs.get("database")
# yoyo keeps the migrations it has read in one table by file name, whatever package they are of.
_one_at_a_time = threading.Lock()


async def migrate(database_url: str, package: str, *, wait_seconds: float = 60) -> int:
    """Apply what `<package>/migrations/*.sql` adds to the database; return how many migrations that was.

    Safe when several replicas start together: one works, the others wait for it and find nothing to do. The lock is
    an advisory lock, which a killed process does not leave behind, unlike yoyo's own row. All or nothing: a process
    killed on the way leaves the database as it was. Raises Unavailable without a database; may be cancelled while it
    waits for one.
    """
    guard = await _connected(database_url, wait_seconds)
    return await asyncio.to_thread(_migrate, guard, database_url, package)


def _migrate(guard: psycopg.Connection[Any], database_url: str, package: str) -> int:
    with guard:
        guard.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        with _one_at_a_time, resources.as_file(resources.files(package) / "migrations") as folder:
            applied = _apply(_Backend.open(database_url), yoyo.read_migrations(str(folder)), package)
    if applied:
        log.info("database migrated", package=package, applied=applied)
    return applied


def _apply(backend: _Backend, migrations: Any, package: str) -> int:
    try:
        # Whoever left a row in yoyo's lock table is dead: the advisory lock is ours.
        backend.break_lock()
        missing = backend.to_apply(migrations)
        with backend.lock(), backend.transaction():
            backend.apply_migrations(missing)
        left = [migration.id for migration in backend.to_apply(migrations)]
    finally:
        backend.connection.close()
    if left:
        # yoyo skips a migration that it cannot read, without a word.
        raise RuntimeError(f"migrations of {package} were not applied: {', '.join(left)}")
    return len(missing)


class _Backend(PostgresqlPsycopgBackend):  # type: ignore[misc]  # yoyo has no types
    """Applies a migration and notes that it is applied on one connection, so in one transaction.

    yoyo's own way has a moment between the two; a process killed then would never start again.
    """

    @classmethod
    def open(cls, database_url: str) -> _Backend:
        """Return a connected backend."""
        uri = connections.parse_uri(database_url)
        # Without it psycopg returns bytes for text from a server whose own encoding is SQL_ASCII.
        uri.args["client_encoding"] = "utf8"
        backend = cls(uri, connections.default_migration_table)
        backend.init_database()
        return backend

    def copy(self) -> _Backend:
        """Return what a migration runs on."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the connection open: it is still needed."""


async def _connected(database_url: str, wait_seconds: float) -> psycopg.Connection[Any]:
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            return await asyncio.to_thread(_connect, database_url)
        except psycopg.OperationalError as error:
            why = str(error).splitlines()[0]
            if time.monotonic() > give_up:
                text = f"the database did not answer within {wait_seconds:g} s: {why}"
                raise Unavailable("DATABASE_UNAVAILABLE", text) from error
            log.warning("the database is not there yet; waiting", error=why)
        await asyncio.sleep(WAIT_SECONDS)


def _connect(database_url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(database_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_SECONDS)
