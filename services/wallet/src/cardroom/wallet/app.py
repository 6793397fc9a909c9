"""The composition root: builds the wallet's objects and wires them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.bus import EventBus
from cardroom.chassis.database import migrate, open_pool, require_url
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.contracts.wallet.v1 import ledger_pb2_grpc, wallet_pb2_grpc
from cardroom.wallet.api.calls import Limits, RawReplies
from cardroom.wallet.api.ledger import LedgerService
from cardroom.wallet.api.player import WalletService
from cardroom.wallet.auditing import Auditor
from cardroom.wallet.events import BINDING, QUEUE, Settler
from cardroom.wallet.posting import Poster
from cardroom.wallet.store.history import History
from cardroom.wallet.sweeping import Sweeper, audit_regularly
from cardroom.wallet.watching import Watching

if TYPE_CHECKING:
    from typing import Any

    from cardroom.wallet.settings import WalletSettings


async def build(settings: WalletSettings, verifier: TokenVerifier | None = None) -> App:
    """Return the wallet, its database migrated, ready to start."""
    require_url(settings)
    await migrate(settings.database_url, "cardroom.wallet", wait_seconds=settings.startup_seconds)
    pool = await open_pool(settings, plans_once=True)
    app = App(settings)
    app.add_stop(pool.close)
    poster = app.add(Poster(pool, batch_max=settings.batch_max, waiting_max=settings.waiting_max, lanes=settings.lanes))
    history, settler, auditor = History(pool), Settler(pool), Auditor(pool)
    sweeper = Sweeper(pool, poster, settler, settings.sweep_seconds)
    poster.when_escrow_is_paid(sweeper.wake)
    app.add_task("sweeper", sweeper.run)
    if settings.audit_seconds:
        app.add_task("audit", partial(audit_regularly, auditor, settings.audit_seconds))
    bus = app.add(EventBus(settings.amqp_url, settings.service))
    most = settings.settle_batch_max
    bus.consume(QUEUE, [BINDING], settler.handle, prefetch=4 * most, batch_max=most)
    verifier = app.add(verifier or TokenVerifier(settings))
    watching = Watching(history, settings.watch_poll_seconds)
    ledger = LedgerService(poster, history, watching, auditor, Limits.of(settings))
    services = [
        (WalletService(poster, history), _raw(wallet_pb2_grpc.add_WalletServiceServicer_to_server), "WalletService"),
        (ledger, _raw(ledger_pb2_grpc.add_LedgerServiceServicer_to_server), "LedgerService"),
    ]
    app.add(GrpcServer(settings, [(it, add, f"cardroom.wallet.v1.{name}") for it, add, name in services], verifier))
    return app


def _raw(add: Any) -> Any:
    return lambda servicer, server: add(servicer, RawReplies(server))
