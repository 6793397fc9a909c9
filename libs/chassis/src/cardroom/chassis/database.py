"""The connection pool and the migrations of a service's own database."""

from __future__ import annotations

import asyncio
import time
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import psycopg
import yoyo

from cardroom.chassis import logs, metrics
from cardroom.chassis.errors import SettingsError, Unavailable

if TYPE_CHECKING:
    from cardroom.chassis.settings import ServiceSettings

    Pool = asyncpg.Pool[asyncpg.Record]

MIGRATION_LOCK: Final = 0x43415244
COMMAND_TIMEOUT_SECONDS: Final = 10.0
CONNECT_TIMEOUT_SECONDS: Final = 3.0
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 2.0

log = logs.get("database")


async def open_pool(settings: ServiceSettings, *, min_size: int = 1, max_size: int | None = None) -> Pool:
    """Return an open pool; wait up to `startup_seconds` for a database that is not there yet.

    Its sessions end transactions that sit idle (`database_idle_in_transaction_ms`): a stalled process must not keep
    the row locks that its successor waits for.
    """
    require_url(settings)
    most = max_size or settings.database_pool_max
    pool = asyncpg.create_pool(
        settings.database_url,
        min_size=min(min_size, most),
        max_size=most,
        timeout=CONNECT_TIMEOUT_SECONDS,
        command_timeout=COMMAND_TIMEOUT_SECONDS,
        server_settings=session_settings(settings),
    )
    await _until_up(pool, settings)
    metrics.DATABASE_CONNECTIONS.labels("open").set_function(pool.get_size)
    metrics.DATABASE_CONNECTIONS.labels("idle").set_function(pool.get_idle_size)
    return pool


def session_settings(settings: ServiceSettings) -> dict[str, str]:
    """Return what every session of this service sets."""
    return {
        "application_name": f"cardroom-{settings.service}",
        "idle_in_transaction_session_timeout": str(settings.database_idle_in_transaction_ms),
        "jit": "off",
    }


def require_url(settings: ServiceSettings) -> None:
    """Raise SettingsError unless there is a database url."""
    if not settings.database_url.startswith(("postgresql://", "postgres://")):
        name = f"{settings.env_prefix()}DATABASE_URL"
        raise SettingsError(f"{name} is not a database: set it to postgresql://user:password@host:port/database")


async def _until_up(pool: Pool, settings: ServiceSettings) -> None:
    give_up = time.monotonic() + settings.startup_seconds
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            await pool
        except (OSError, TimeoutError, asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError) as error:
            if time.monotonic() + wait > give_up:
                text = f"the database did not answer within {settings.startup_seconds:g} s: {error!r}"
                raise Unavailable("DATABASE_UNAVAILABLE", text) from error
            log.warning("the database is not there yet; waiting", error=repr(error))
            await asyncio.sleep(wait)
            wait = min(wait * 2, MAX_WAIT_SECONDS)
        else:
            return


async def migrate(database_url: str, package: str, *, wait_seconds: float = 60) -> int:
    """Apply what `<package>/migrations/*.sql` adds to the database; return how many migrations that was.

    Safe when several replicas start together: one works, the others wait for it and find nothing to do. The lock is
    an advisory lock, which a killed process does not leave behind, unlike yoyo's own row.
    """
    return await asyncio.to_thread(_migrate, database_url, package, wait_seconds)


def _migrate(database_url: str, package: str, wait_seconds: float) -> int:
    with _connected(database_url, wait_seconds) as guard:
        guard.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
        with resources.as_file(resources.files(package) / "migrations") as folder:
            migrations = yoyo.read_migrations(str(folder))
        backend = yoyo.get_backend(_for_yoyo(database_url))
        try:
            # Whoever left a row in yoyo's lock table is dead: the advisory lock is ours.
            backend.break_lock()
            missing = backend.to_apply(migrations)
            applied = len(missing)
            with backend.lock():
                backend.apply_migrations(missing)
            _check_all_applied(backend, migrations, package)
        finally:
            backend.connection.close()
    if applied:
        log.info("database migrated", package=package, applied=applied)
    return applied


def _connected(database_url: str, wait_seconds: float) -> psycopg.Connection[Any]:
    give_up = time.monotonic() + wait_seconds
    while True:
        try:
            return psycopg.connect(database_url, autocommit=True, connect_timeout=int(CONNECT_TIMEOUT_SECONDS))
        except psycopg.OperationalError as error:
            if time.monotonic() > give_up:
                text = f"the database did not answer within {wait_seconds:g} s: {str(error).splitlines()[0]}"
                raise Unavailable("DATABASE_UNAVAILABLE", text) from error
            log.warning("the database is not there yet; waiting", error=str(error).splitlines()[0])
            time.sleep(MAX_WAIT_SECONDS / 4)


def _for_yoyo(database_url: str) -> str:
    return urlunsplit(urlsplit(database_url)._replace(scheme="postgresql+psycopg"))


def _check_all_applied(backend: Any, migrations: Any, package: str) -> None:
    left = [migration.id for migration in backend.to_apply(migrations)]
    if left:
        # yoyo skips a migration that it cannot read, without a word.
        raise RuntimeError(f"migrations of {package} were not applied: {', '.join(left)}")
