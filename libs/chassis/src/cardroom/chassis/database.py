"""The connection pool and the migrations of a service's own database."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

import asyncpg

from cardroom.chassis import logs, metrics
from cardroom.chassis._migrations import migrate
from cardroom.chassis.errors import SettingsError, Unavailable

if TYPE_CHECKING:
    from cardroom.chassis.settings import ServiceSettings

    Pool = asyncpg.Pool[asyncpg.Record]

COMMAND_TIMEOUT_SECONDS: Final = 10.0
CONNECT_TIMEOUT_SECONDS: Final = 3.0
FIRST_WAIT_SECONDS: Final = 0.1
MAX_WAIT_SECONDS: Final = 2.0

log = logs.get("database")


class _Session(asyncpg.Connection):
    """A session that is handed back as it is. asyncpg would ask the server to reset it after each use: that doubles the
    statements of a service. So nothing may be set for a session; who must do so terminates the connection (`outbox`).
    """

    __slots__ = ()

    def get_reset_query(self) -> str:
        """Nothing to do. An open transaction is still rolled back."""
        return ""


async def open_pool(
    settings: ServiceSettings, *, min_size: int = 1, max_size: int | None = None, plans_once: bool = False
) -> Pool:
    """Return an open pool; wait up to `startup_seconds` for a database that is not there yet.

    Its sessions end transactions that sit idle (`database_idle_in_transaction_ms`): a stalled process must not keep
    the row locks that its successor waits for. With `plans_once` a prepared statement is planned without a look at its
    parameters, once: for a service whose statements have one good plan each, and are small beside their planning.
    """
    require_url(settings)
    most = max_size or settings.database_pool_max
    pool = asyncpg.create_pool(
        settings.database_url,
        min_size=min(min_size, most),
        max_size=most,
        timeout=CONNECT_TIMEOUT_SECONDS,
        command_timeout=COMMAND_TIMEOUT_SECONDS,
        server_settings=session_settings(settings, plans_once=plans_once),
        connection_class=_Session,
    )
    await _until_up(pool, settings)
    metrics.DATABASE_CONNECTIONS.labels("open").set_function(pool.get_size)
    metrics.DATABASE_CONNECTIONS.labels("idle").set_function(pool.get_idle_size)
    return pool


def session_settings(settings: ServiceSettings, *, plans_once: bool = False) -> dict[str, str]:
    """Return what every session of this service sets; `plans_once` as for `open_pool`."""
    return {
        "application_name": f"cardroom-{settings.service}",
        "idle_in_transaction_session_timeout": str(settings.database_idle_in_transaction_ms),
        "jit": "off",
        **({"plan_cache_mode": "force_generic_plan"} if plans_once else {}),
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


__all__ = ["migrate", "open_pool", "require_url", "session_settings"]
