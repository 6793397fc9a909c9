"""Applies migrations with yoyo. Slow to import, so only once something is to be applied (`_migrations`)."""

from __future__ import annotations

import threading
from importlib import resources
from typing import Any, Final

import psycopg
import yoyo
from yoyo import connections
from yoyo.backends.core.postgresql import PostgresqlPsycopgBackend

from cardroom.chassis import logs

LOCK: Final = 0x43415244
CONNECT_TIMEOUT_SECONDS: Final = 3

log = logs.get("database")
# yoyo keeps the migrations it has read in one table by file name, whatever package they are of.
_one_at_a_time = threading.Lock()


def migrate(database_url: str, package: str) -> int:
    """Apply what is missing; return how many migrations that was."""
    with psycopg.connect(database_url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_SECONDS) as guard:
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
