"""The one place where the spectator's parts are made and wired."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from cardroom.chassis import database, logs
from cardroom.chassis.admission import Admission, StreamLimits
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.spectator import metrics
from cardroom.spectator.api import SERVICE, SpectatorApi, add_to_server
from cardroom.spectator.events import BINDINGS, QUEUE, TableChanges
from cardroom.spectator.feeds import Feeds
from cardroom.spectator.settings import SpectatorSettings
from cardroom.spectator.store import PURGE_BATCH, Store

log = logs.get("spectator")


async def build(settings: SpectatorSettings) -> App:
    """Return the spectator, ready to start."""
    if settings.delay_seconds_for_tests_only is not None:
        log.warning("watchers are less than 30 s behind; this is for tests only", delay=str(settings.delay))
    database.require_url(settings)
    await database.migrate(settings.database_url, "cardroom.spectator", wait_seconds=settings.startup_seconds)
    pool = await database.open_pool(settings)
    app = App(settings)
    app.add_stop(pool.close)
    store = Store(pool, settings.delay)
    bus = app.add(EventBus(settings.amqp_url, settings.service))
    bus.consume(QUEUE, BINDINGS, TableChanges(store).handle, prefetch=60, batch_max=30, batch_wait_ms=50)
    feeds = Feeds(store, settings.poll_ms / 1000)
    app.add_task("feeds", feeds.run)
    app.add_task("purge", lambda: purge(store, settings))
    verifier = app.add(TokenVerifier(settings))
    admission = Admission(StreamLimits(settings.streams_per_player_max, settings.streams_max), metrics.STREAMS)
    api = SpectatorApi(feeds, admission, settings.heartbeat_seconds)
    app.add(GrpcServer(settings, [(api, add_to_server, SERVICE)], verifier))
    return app


async def purge(store: Store, settings: SpectatorSettings) -> None:
    """Delete old changes, in small batches, until cancelled."""
    while True:
        deleted = await store.purge(timedelta(seconds=settings.retention_seconds))
        metrics.PURGED.inc(deleted)
        if deleted < PURGE_BATCH:
            await asyncio.sleep(settings.purge_seconds)
