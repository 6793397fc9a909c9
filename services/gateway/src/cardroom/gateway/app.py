"""The one place where the gateway's parts are made and wired."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from joserfc.jwk import KeySet

from cardroom.chassis import database
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.errors import SettingsError
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.ops_http import Page
from cardroom.chassis.service import App
from cardroom.contracts.identity.v1.identity_pb2_grpc import add_IdentityServiceServicer_to_server
from cardroom.gateway.api import PUBLIC_METHODS, SERVICE, IdentityApi
from cardroom.gateway.envoy import surface
from cardroom.gateway.identity import Identity, Lifetimes
from cardroom.gateway.keys import KeyKeeper
from cardroom.gateway.store import Store
from cardroom.gateway.vault import Vault, decode_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cardroom.gateway.settings import GatewaySettings

JWKS_PATH: Final = "/.well-known/jwks.json"
JWKS_HEADERS: Final = {"Content-Type": "application/json; charset=utf-8", "Cache-Control": "public, max-age=60"}
PURGE_SECONDS: Final = 60.0


def utc_now() -> datetime:
    """Return the time. The gateway's only clock."""
    return datetime.now(UTC)


async def build(settings: GatewaySettings) -> App:
    """Return the gateway, ready to start."""
    if not settings.key_encryption_key:
        name = f"{settings.env_prefix()}KEY_ENCRYPTION_KEY"
        raise SettingsError(f"{name} is not set: give 32 bytes in base64 (make one with: openssl rand -base64 32)")
    database.require_url(settings)
    await database.migrate(settings.database_url, "cardroom.gateway", wait_seconds=settings.startup_seconds)
    pool = await database.open_pool(settings)
    app = App(settings)
    app.add_stop(pool.close)
    store = Store(pool)
    verifier = TokenVerifier(settings, keys=KeySet([]))
    keys = app.add(
        KeyKeeper(store, Vault(decode_key(settings.key_encryption_key)), settings.rotation(), verifier, utc_now)
    )
    app.add_task("keys", lambda: _every(settings.key_refresh_seconds, keys.refresh))
    app.add_task("purge", lambda: _every(PURGE_SECONDS, lambda: store.purge(utc_now())))

    app.ops.page(JWKS_PATH, lambda: Page(json.dumps(keys.jwks).encode(), headers=JWKS_HEADERS))
    app.add(_server(settings, _identity(settings, store, keys), verifier))
    return app


def _identity(settings: GatewaySettings, store: Store, keys: KeyKeeper) -> Identity:
    lifetimes = Lifetimes(
        access=timedelta(seconds=settings.access_token_seconds),
        service=timedelta(seconds=settings.service_token_seconds),
        refresh=timedelta(days=settings.refresh_token_days),
    )
    return Identity(
        store,
        keys,
        settings.directory(),
        lifetimes,
        issuer=settings.issuer,
        audience=settings.audience,
        clock=utc_now,
    )


def _server(settings: GatewaySettings, identity: Identity, verifier: TokenVerifier) -> GrpcServer:
    service = (IdentityApi(identity), add_IdentityServiceServicer_to_server, SERVICE)
    # Who asks at the edge what there is, asks here: so everything public is described.
    described = surface.load_public_services()
    return GrpcServer(settings, [service], verifier, public_methods=PUBLIC_METHODS, described=described)


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await work()
