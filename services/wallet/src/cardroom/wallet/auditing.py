"""The audit: as an RPC, as a metric, and from the command line through the RPC."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import asyncpg

from cardroom.chassis import logs
from cardroom.wallet import measures
from cardroom.wallet.domain.audit import Report
from cardroom.wallet.store import audit as store

if TYPE_CHECKING:
    from cardroom.wallet.store.batch import Connection

log = logs.get("audit")


class Auditor:
    """Checks the books, one audit at a time, going on from what was verified before."""

    def __init__(self, pool: asyncpg.Pool[Any]) -> None:
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()

    async def run(self, *, from_start: bool = False) -> Report:
        """Return what an audit of this moment finds."""
        async with self._one_at_a_time, self._pool.acquire() as connection:
            started = time.monotonic()
            try:
                async with connection.transaction(isolation="repeatable_read"):
                    report = await _read(connection, from_start)
                    if report.passed:
                        await connection.execute(store.VERIFY, from_start, timeout=store.TIMEOUT_SECONDS)
                        await connection.execute(store.VERIFY_TABLES, timeout=store.TIMEOUT_SECONDS)
            except asyncpg.SerializationError:
                # Another replica has just verified the same; only the mark is lost, not what was found.
                log.info("another audit ran at the same time")
            report.duration_ms = int((time.monotonic() - started) * 1000)
            await connection.execute(store.RECORD, report.passed, report.verified_position, report.first_failure)
        _tell(report)
        return report


async def _read(connection: Connection, from_start: bool) -> Report:
    report = Report()
    sums, report.currencies = await store.sums(connection)
    # What names an account or a transfer comes before what only knows that some chips are too many.
    report.checks = [
        *await store.entries(connection, from_start),
        await store.holds(connection),
        await store.escrow(connection),
        await store.settlements(connection, from_start),
        sums,
    ]
    report.verified_position = await connection.fetchval(store.POSITION) or ""
    report.waiting_hands = await connection.fetchval(store.WAITING)
    return report


def _tell(report: Report) -> None:
    measures.AUDIT_PASSED.set(report.passed)
    measures.AUDIT_FINISHED.set_to_current_time()
    measures.AUDIT_DIFFERENCE.set(sum(abs(it.difference) for it in report.currencies))
    if report.passed:
        log.info("the books are right", duration_ms=report.duration_ms)
    else:
        log.error("the books are wrong", first=report.first_failure, duration_ms=report.duration_ms)
