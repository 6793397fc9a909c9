"""The clock's one composition root."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from prometheus_client import Gauge

from cardroom.chassis import database
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.channels import Channels
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.clock import events
from cardroom.clock.absence_store import AbsenceStore
from cardroom.clock.absences import AbsenceCalls
from cardroom.clock.api import ClockApi
from cardroom.clock.firing import Firings
from cardroom.clock.neighbours import GrpcTables
from cardroom.clock.settings import ClockSettings
from cardroom.clock.store import ClockStore
from cardroom.clock.telling import BankNews
from cardroom.contracts.clock.v1 import clock_pb2_grpc

PACKAGE: Final = "cardroom.clock"
SERVICE: Final = "cardroom.clock.v1.ClockService"
COUNT_SECONDS: Final = 15.0
OVERDUE_MS: Final = 2_000
# No message of a table is that late.
FORGET_MS: Final = 24 * 3600 * 1000

TIMERS: Final = Gauge("cardroom_clock_timers", "Timers in the database: pending, and more than 2 s overdue.", ["state"])


def now_ms() -> int:
    """The clock of this service: Unix milliseconds."""
    return time.time_ns() // 1_000_000


async def build(
    settings: ClockSettings, *, channels: Channels | None = None, verifier: TokenVerifier | None = None
) -> App:
    """Make the clock with all its parts. Tests bring channels and a verifier of their own."""
    app = App(settings)
    database.require_url(settings)
    await database.migrate(settings.database_url, PACKAGE, wait_seconds=settings.startup_seconds)
    pool = await database.open_pool(settings, min_size=2)
    app.add_stop(pool.close)
    store = ClockStore(pool)
    calls = app.add(channels or Channels(settings))
    tables = GrpcTables(calls.channel(settings.table_address))
    firings = app.add(Firings(store, tables, now_ms, lambda: calls.ready))
    news = app.add(BankNews(store, tables, now_ms))
    absences = AbsenceStore(pool)
    app.add(AbsenceCalls(absences, tables, now_ms))
    changes = events.TableChanges(store, absences, firings.run, news.wake, now_ms)
    bus = app.add(EventBus(settings.amqp_url, settings.service))
    bus.consume(events.QUEUE, events.BINDINGS, changes.handle, prefetch=60, batch_max=30, batch_wait_ms=20)
    app.add_task("count", lambda: _count(store, absences))
    handlers = (ClockApi(store, now_ms), clock_pb2_grpc.add_ClockServiceServicer_to_server, SERVICE)
    app.add(GrpcServer(settings, [handlers], app.add(verifier or TokenVerifier(settings))))
    return app


async def _count(store: ClockStore, absences: AbsenceStore) -> None:
    while True:
        await absences.forget(now_ms() - FORGET_MS)
        pending, overdue = await store.count(now_ms() - OVERDUE_MS)
        TIMERS.labels("pending").set(pending)
        TIMERS.labels("overdue").set(overdue)
        await asyncio.sleep(COUNT_SECONDS)
