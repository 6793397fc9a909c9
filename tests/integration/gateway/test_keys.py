"""Design §7: JWKS with key rotation; several replicas share the keys."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import asyncpg
import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from joserfc.jwk import KeySet

from cardroom.chassis import _jwts
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.errors import SettingsError, Unavailable
from cardroom.contracts.identity.v1 import identity_pb2 as pb
from cardroom.contracts.identity.v1 import identity_pb2_grpc
from cardroom.gateway.keys import KeyKeeper
from cardroom.gateway.settings import GatewaySettings
from cardroom.gateway.store import Store
from cardroom.gateway.vault import Vault
from tests.integration.gateway.edge import Edge

Start = Callable[..., Awaitable[Any]]


async def published(gateway: Any) -> list[dict[str, str]]:
    async with aiohttp.ClientSession() as session, session.get(gateway.jwks_url) as answer:
        assert "max-age" in answer.headers["cache-control"]
        keys: list[dict[str, str]] = (await answer.json())["keys"]
        return keys


async def test_only_public_halves_are_published(gateway: Any) -> None:
    (key,) = await published(gateway)
    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")
    assert "d" not in key


async def test_replicas_that_start_together_share_one_key(start_gateway: Start) -> None:
    replicas = await asyncio.gather(*(start_gateway() for _ in range(3)))
    assert len({key["kid"] for replica in replicas for key in await published(replica)}) == 1
    token = (await replicas[0].stub.SignInAsGuest(pb.SignInAsGuestRequest())).tokens.access_token
    me = await replicas[1].stub.WhoAmI(pb.WhoAmIRequest(), metadata=[("authorization", f"Bearer {token}")])
    assert me.subject


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def test_a_new_key_is_published_before_it_signs_and_the_old_one_until_its_tokens_expired(
    start_gateway: Start,
) -> None:
    gateway, clock = await start_gateway(), Hands()
    async with asyncpg.create_pool(gateway.settings.database_url, min_size=1) as pool:
        await pool.execute("delete from signing_keys")
        verifier = TokenVerifier(gateway.settings, keys=KeySet([]))
        vault = Vault(base64.b64decode(gateway.settings.key_encryption_key))
        keeper = KeyKeeper(Store(pool), vault, gateway.settings.rotation(), verifier, clock)
        signed: dict[str, datetime] = {}
        before: set[str] = set()
        for _ in range(24 * 30):
            await keeper.refresh()
            kid = str(_jwts.header(keeper.sign({"sub": "p"}))["kid"])
            kids = [key["kid"] for key in keeper.jwks["keys"]]
            assert kid in kids
            if kid not in signed and signed:
                assert kid in before, "published an hour before it signs"
            signed[kid] = clock.now
            recent = {kid for kid, last in signed.items() if clock.now - last <= timedelta(hours=1)}
            assert recent <= set(kids), "every key with living tokens is published"
            before = set(kids)
            clock.now += timedelta(minutes=59)
        assert len(signed) == 5
        assert len(keeper.jwks["keys"]) == 1
        clock.now += timedelta(hours=2)
        with pytest.raises(Unavailable, match="database lately"):
            keeper.sign({"sub": "p"})


async def test_another_encryption_key_is_noticed_at_the_start(start_gateway: Start) -> None:
    await start_gateway()
    with pytest.raises(SettingsError, match="KEY_ENCRYPTION_KEY"):
        await start_gateway(key_encryption_key=base64.b64encode(secrets.token_bytes(32)).decode())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"key_encryption_key": "short"}, "32 bytes"),
        ({"clients": [{"client_id": "x", "scopes": []}]}, "either secret or secret_sha256"),
        ({"clients": [{"client_id": "x", "secret": "12345678", "scopes": ["play"]}]}, "players only"),
        ({"key_ahead_seconds": 5, "key_refresh_seconds": 10}, "before it is known"),
        ({"key_ahead_seconds": 100, "key_period_seconds": 50}, "published between"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        GatewaySettings(**changes)


async def test_a_guest_signs_in_and_calls_through_the_edge(gateway: Any, start_edge: Start) -> None:
    edge: Edge = await start_edge(jwks_url=gateway.jwks_url, gateway_addresses=(gateway.address,))
    async with aiohttp.ClientSession(edge.url) as session:
        async with session.post("/v1/sign-in/guest", json={"display_name": "Ada"}) as answer:
            assert answer.status == 200
            body = await answer.json()
        token, again = body["tokens"]["access_token"], body["tokens"]["refresh_token"]
        headers = {"authorization": f"Bearer {token}"}
        async with session.get("/v1/me", headers=headers) as answer:
            assert (await answer.json())["player"]["display_name"] == "Ada"
        async with session.get("/v1/tables/t1", headers=headers) as answer:
            assert answer.status == 200
        stale = {"authorization": "Bearer of.no.use"}
        async with session.post("/v1/sign-in/refresh", json={"refresh_token": again}, headers=stale) as answer:
            assert answer.status == 200
        async with session.post("/v1/sign-in/guest", json={"display_name": "<script>"}) as answer:
            assert answer.status == 400
            assert (await answer.json())["details"][0]["reason"] == "INVALID_DISPLAY_NAME"
    assert "cardroom.wallet.v1.LedgerService" in await asyncio.to_thread(services_at, edge.address)
    async with grpc.aio.insecure_channel(edge.address) as channel:
        stub: Any = identity_pb2_grpc.IdentityServiceStub(channel)
        me = await stub.WhoAmI(pb.WhoAmIRequest(), metadata=[("authorization", f"Bearer {token}")])
    assert me.player.display_name == "Ada"


def services_at(address: str) -> list[str]:
    """What `grpcurl -plaintext <address> list` shows."""
    with grpc.insecure_channel(address) as channel:
        names: list[str] = list(ProtoReflectionDescriptorDatabase(channel).get_services())
        return names
