"""Puts the table service together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from cardroom.chassis import database
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.channels import Channels
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.leases import LeaseKeeper
from cardroom.chassis.outbox import Relay
from cardroom.chassis.service import App
from cardroom.table.api import PlayerApi
from cardroom.table.committer import Committer
from cardroom.table.deckbox import DeckBox
from cardroom.table.forwarding import Forwarding
from cardroom.table.presence import Presence
from cardroom.table.seat_api import SeatApi
from cardroom.table.settings import TableSettings
from cardroom.table.store import Store
from cardroom.table.streams import Streams
from cardroom.table.tables import SHARDS, Tables
from cardroom.table.takeover import Takeover
from cardroom.table.time_api import TimeApi

__all__ = ["build"]

OVERDUE_LOOK_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 2.0
PATIENCE_LOOK_SECONDS: Final = 0.02
RELAY_GAP_MS: Final = 100
"""Nobody who hears of changes is in more of a hurry: the clock is told of moments seconds ahead, the lobby has a
second, watchers see it 30 s later. What waits for a round shares its message, and each message costs four services,
the broker and five transactions."""


async def build(
    settings: TableSettings, *, verifier: TokenVerifier | None = None, channels: Channels | None = None
) -> App:
    """The service with all its parts, migrated and not yet started.

    Tests bring a verifier with keys of their own, and channels that need no gateway to get a token from.
    """
    app = App(settings)
    database.require_url(settings)
    await database.migrate(settings.database_url, "cardroom.table", wait_seconds=settings.startup_seconds)
    # A connection for each lane, and for leases, outbox, and loading.
    pool = await database.open_pool(
        settings, max_size=max(settings.database_pool_max, settings.commit_lanes + 4), plans_once=True
    )
    app.add_stop(pool.close)
    bus = app.add(EventBus(settings.amqp_url, settings.service))
    relay = app.add(Relay(pool, bus, gap_ms=RELAY_GAP_MS))
    store = Store(pool)
    committer = app.add(
        Committer(store.lane, relay.wake, lanes=settings.commit_lanes, group_max=settings.commit_group_max)
    )
    takeover = Takeover()
    leases = LeaseKeeper(
        pool,
        settings.advertise_address,
        settings.advertise_address,
        shards=SHARDS,
        ttl=settings.lease_ttl_seconds,
        renew=settings.lease_renew_seconds,
        on_gained=takeover.on_gained,
        on_losing=takeover.on_losing,
    )
    tables = Tables(leases, store, committer, DeckBox(settings.keys(), settings.lost_keys()))
    takeover.attach(tables)
    calls = app.add(channels or Channels(settings))
    forwarding = Forwarding(tables, leases, calls, settings.advertise_address, wait_seconds=settings.owner_wait_seconds)
    presence = app.add(Presence(tables, reconnect_seconds=settings.reconnect_seconds))
    streams = app.add(
        Streams(
            tables,
            presence,
            streams_max=settings.streams_max,
            per_player_max=settings.streams_per_player_max,
            heartbeat_seconds=settings.heartbeat_seconds,
        )
    )
    keys = app.add(verifier or TokenVerifier(settings))
    apis = (
        PlayerApi(tables, streams, forwarding),
        SeatApi(tables, forwarding, settings.pace()),
        TimeApi(tables, forwarding),
    )
    server = GrpcServer(settings, [api.served() for api in apis], keys)
    # Leases come after the server: nobody is sent here before it answers, and they are handed over before it stops.
    app.add(server)
    app.add(_Patience(lambda: keys.ready and calls.ready))
    app.add(leases)
    app.add_task("overdue", lambda: _restart_overdue(tables))
    return app


class _Patience:
    """Lets no table come here before its players can: their tokens could not be verified yet, and what does that is
    still being loaded. A while only, as somebody must take the tables also when there are no keys to be had."""

    def __init__(self, can_serve: Callable[[], bool]) -> None:
        self._can_serve = can_serve

    async def start(self) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not self._can_serve() and time.monotonic() < give_up:  # noqa: ASYNC110 - the chassis has no event for it
            await asyncio.sleep(PATIENCE_LOOK_SECONDS)

    async def stop(self) -> None:
        return None


async def _restart_overdue(tables: Tables) -> None:
    while True:
        await asyncio.sleep(OVERDUE_LOOK_SECONDS)
        await tables.restart_overdue()
