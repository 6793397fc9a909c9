"""The lobby's one composition root."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from prometheus_client import Gauge

from cardroom.chassis import database
from cardroom.chassis.admission import Admission, StreamLimits
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.channels import Channels
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.contracts.lobby.v1 import lobby_pb2_grpc, waiting_pb2_grpc
from cardroom.lobby import events, waiting_api, watch_api
from cardroom.lobby.api import LobbyAdminApi, LobbyApi
from cardroom.lobby.board import Board
from cardroom.lobby.demand import TablesByDemand
from cardroom.lobby.demand_store import DemandStore
from cardroom.lobby.domain.seating import Seating
from cardroom.lobby.domain.tables import Table
from cardroom.lobby.domain.topping_up import TopUp
from cardroom.lobby.errands import Errands
from cardroom.lobby.feeds import Feeds
from cardroom.lobby.neighbours import GrpcTables, GrpcTimeBanks, GrpcWallet
from cardroom.lobby.offers import Offers
from cardroom.lobby.quick_seat import QuickSeat
from cardroom.lobby.saga import SeatingSaga, TableSaga
from cardroom.lobby.seats import Seats
from cardroom.lobby.settings import GAMES_DEALT, LobbySettings
from cardroom.lobby.store import SeatingStore, TableStore
from cardroom.lobby.top_up_store import TopUpStore
from cardroom.lobby.top_ups import TopUps, TopUpSaga
from cardroom.lobby.waiting import WaitingLists
from cardroom.lobby.waiting_api import WaitingApi
from cardroom.lobby.waiting_feed import WaitingFeed
from cardroom.lobby.waiting_store import WaitingStore
from cardroom.lobby.watch_api import WATCHERS, WatchApi

PACKAGE: Final = "cardroom.lobby"
HOUSEKEEPING_SECONDS: Final = 60.0

UNFINISHED: Final = Gauge("cardroom_lobby_unfinished_errands", "Rows with work left, by kind.", ["kind"])


async def build(
    settings: LobbySettings, *, channels: Channels | None = None, verifier: TokenVerifier | None = None
) -> App:
    """Make the lobby with all its parts. Tests bring channels and a verifier of their own."""
    app = App(settings)
    database.require_url(settings)
    await database.migrate(settings.database_url, PACKAGE, wait_seconds=settings.startup_seconds)
    pool = await database.open_pool(settings, min_size=2)
    app.add_stop(pool.close)
    seatings, tables = SeatingStore(pool), TableStore(pool)
    channels = app.add(channels or Channels(settings))
    bus = app.add(EventBus(settings.amqp_url, settings.service))
    table_service = GrpcTables(channels.channel(settings.table_address))
    wallet = GrpcWallet(channels.channel(settings.wallet_address))
    seating_saga = SeatingSaga(
        seatings,
        wallet,
        table_service,
        GrpcTimeBanks(channels.channel(settings.clock_address)),
        now=lambda: datetime.now(UTC),
    )
    table_saga = TableSaga(tables, table_service)
    seating_errands: Errands[Seating] = app.add(
        Errands("seating", seatings, lambda one: one.seating_id, seating_saga.advance)
    )
    table_errands: Errands[Table] = app.add(Errands("table", tables, lambda one: one.table_id, table_saga.advance))
    seating_saga.wake_in, table_saga.wake_in = seating_errands.wake_in, table_errands.wake_in
    top_up_store = TopUpStore(pool)
    top_up_saga = TopUpSaga(top_up_store, wallet, table_service)
    top_up_errands: Errands[TopUp] = app.add(
        Errands("top-up", top_up_store, lambda one: one.top_up_id, top_up_saga.advance)
    )
    top_up_saga.wake_in = top_up_errands.wake_in
    top_ups = TopUps(top_up_store, top_up_errands)
    seating_saga.top_ups_are_over = top_ups.finish
    changes = events.TableChanges(tables, seatings, seating_errands, top_up_store, top_up_errands)
    bus.consume(events.QUEUE, events.BINDINGS, changes.handle, prefetch=60, batch_max=30, batch_wait_ms=50)
    lists = WaitingLists(WaitingStore(pool), GAMES_DEALT)
    app.add_task("housekeeping", lambda: _keep_house(settings, tables, seatings, top_up_store, lists))
    _add_demand(app, settings, DemandStore(pool), table_errands)
    board = Board(tables)
    offers, seats = Offers(tables, board, table_errands, GAMES_DEALT), Seats(seatings, seating_errands)
    seating_saga.rests, seats.serve_line = lists.wake, lists.serve
    quick_seat = QuickSeat(pool, seatings, seats, GAMES_DEALT)
    players = (
        LobbyApi(offers, _watch_api(app, settings, board), seats, quick_seat, top_ups),
        watch_api.add_to_server,
        watch_api.SERVICE,
    )
    waiting_players = (
        _waiting_api(app, settings, lists, WaitingStore(pool)),
        waiting_pb2_grpc.add_WaitingServiceServicer_to_server,
        waiting_api.SERVICE,
    )
    operators = (
        LobbyAdminApi(offers),
        lobby_pb2_grpc.add_LobbyAdminServiceServicer_to_server,
        "cardroom.lobby.v1.LobbyAdminService",
    )
    app.add(GrpcServer(settings, [players, waiting_players, operators], app.add(verifier or TokenVerifier(settings))))
    return app


def _add_demand(app: App, settings: LobbySettings, store: DemandStore, errands: Errands[Table]) -> None:
    by_demand = TablesByDemand(
        store,
        settings.demands,
        look_seconds=settings.demand_look_seconds,
        patience_seconds=settings.demand_patience_seconds,
    )
    by_demand.changed = errands.wake
    app.add_task("tables by demand", by_demand.run)


def _watch_api(app: App, settings: LobbySettings, board: Board) -> WatchApi:
    feeds = Feeds(
        board,
        poll_seconds=settings.watch_poll_ms / 1000,
        statistics_seconds=settings.watch_statistics_seconds,
        heartbeat_seconds=settings.watch_heartbeat_seconds,
    )
    app.add_task("feeds", feeds.run)
    limits = StreamLimits(settings.watch_streams_per_player_max, settings.watch_streams_max)
    return WatchApi(feeds, Admission(limits, WATCHERS))


def _waiting_api(app: App, settings: LobbySettings, lists: WaitingLists, store: WaitingStore) -> WaitingApi:
    feed = WaitingFeed(
        store,
        poll_seconds=settings.watch_poll_ms / 1000,
        heartbeat_seconds=settings.watch_heartbeat_seconds,
    )
    lists.changed = feed.wake
    app.add_task("waiting lists", lists.run)
    app.add_task("waiting players", feed.run)
    limits = StreamLimits(settings.watch_streams_per_player_max, settings.watch_streams_max)
    return WaitingApi(lists, feed, Admission(limits, waiting_api.WATCHERS))


async def _keep_house(
    settings: LobbySettings, tables: TableStore, seatings: SeatingStore, top_ups: TopUpStore, lists: WaitingLists
) -> None:
    while True:
        waiting_seatings, waiting_tables = await tables.count_errands()
        UNFINISHED.labels("seating").set(waiting_seatings)
        UNFINISHED.labels("table").set(waiting_tables)
        await tables.forget_old_hands()
        await tables.forget_changes()
        UNFINISHED.labels("top-up").set(await top_ups.count())
        await top_ups.forget_old()
        await seatings.forget_old()
        await lists.keep_house()
        await tables.forget_closed(timedelta(days=settings.closed_tables_kept_days))
        await asyncio.sleep(HOUSEKEEPING_SECONDS)
