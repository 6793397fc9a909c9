"""Channels get their own token from IdentityService and put it on every call; keys come from the gateway's JWKS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import pytest
from aiohttp import web
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis import _keys, _own_token, auth
from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.channels import Channels, call_with_retry
from cardroom.chassis.errors import CardroomError, NotFound, SettingsError, Unauthenticated, Unavailable
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.settings import ServiceSettings
from cardroom.contracts.identity.v1 import identity_pb2 as pb
from cardroom.contracts.identity.v1 import identity_pb2_grpc as pb_grpc
from tests.unit.chassis.tokens import KEY, KEYS, signed

SERVICE = "cardroom.identity.v1.IdentityService"
Until = Callable[..., Awaitable[None]]


class Gateway(pb_grpc.IdentityServiceServicer):
    """Signs tokens that live for a moment, and counts them; publishes its keys."""

    def __init__(self) -> None:
        self.issued = 0
        self.life = 600
        self.published = KEYS
        self.fetched = 0
        self.settings = ServiceSettings(grpc_port=0, ops_port=0)
        services = [(self, pb_grpc.add_IdentityServiceServicer_to_server, SERVICE)]
        public = [f"/{SERVICE}/IssueServiceToken"]
        self.server = GrpcServer(
            self.settings, services, TokenVerifier(self.settings, keys=KEYS), public_methods=public
        )

    async def IssueServiceToken(
        self, request: pb.IssueServiceTokenRequest, context: Any
    ) -> pb.IssueServiceTokenResponse:
        if request.client_secret != "right":
            raise Unauthenticated("CLIENT_UNKNOWN", f"no client {request.client_id!r} with this secret")
        self.issued += 1
        token = signed(sub=f"service:{request.client_id}", scope="wallet.hold", jti=str(self.issued))
        return pb.IssueServiceTokenResponse(tokens=pb.Tokens(access_token=token, expires_in_seconds=self.life))

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Any) -> pb.WhoAmIResponse:
        return pb.WhoAmIResponse(subject=auth.caller().subject)

    async def SignInAsGuest(self, request: pb.SignInAsGuestRequest, context: Any) -> pb.SignInAsGuestResponse:
        raise NotImplementedError

    async def RefreshToken(self, request: pb.RefreshTokenRequest, context: Any) -> pb.RefreshTokenResponse:
        raise NotImplementedError

    async def jwks(self, _: web.Request) -> web.Response:
        self.fetched += 1
        return web.json_response(self.published.as_dict(private=False))

    def client_settings(self, **changes: Any) -> ServiceSettings:
        address = f"127.0.0.1:{self.server.port}"
        return ServiceSettings(identity_address=address, client_id="lobby", client_secret="right", **changes)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway()
    await made.server.start()
    yield made
    await made.server.stop()


@pytest.fixture
async def jwks_url(gateway: Gateway) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/jwks.json", gateway.jwks)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/jwks.json"
    await runner.cleanup()


async def test_calls_carry_the_services_own_token(gateway: Gateway, until: Until) -> None:
    channels = Channels(gateway.client_settings())
    await channels.start()
    await until(lambda: channels.ready)
    address = f"127.0.0.1:{gateway.server.port}"
    assert channels.channel(address) is channels.channel(address)
    identity = pb_grpc.IdentityServiceStub(channels.channel(address))
    assert (await identity.WhoAmI(pb.WhoAmIRequest())).subject == "service:lobby"
    own = (("authorization", f"Bearer {signed(sub='player-3')}"),)
    assert (await identity.WhoAmI(pb.WhoAmIRequest(), metadata=own)).subject == "player-3"
    await channels.close()


async def test_the_token_is_refreshed_before_it_ends(
    gateway: Gateway, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_own_token, "SHORTEST_LIFE_SECONDS", 0.02)
    gateway.life = 0
    channels = Channels(gateway.client_settings())
    await channels.start()
    await until(lambda: gateway.issued >= 3)
    await channels.stop()


async def test_before_there_is_a_token_a_call_says_try_again(gateway: Gateway) -> None:
    settings = gateway.client_settings().model_copy(update={"client_secret": "wrong"})
    channels = Channels(settings)
    await channels.start()
    await asyncio.sleep(0.1)
    assert not channels.ready
    identity = pb_grpc.IdentityServiceStub(channels.channel("127.0.0.1:1"))
    with pytest.raises(Unavailable) as refused:
        await identity.WhoAmI(pb.WhoAmIRequest())
    assert refused.value.reason == "SERVICE_TOKEN_MISSING"
    await channels.close()


def test_without_a_client_secret_there_are_no_channels() -> None:
    with pytest.raises(SettingsError, match="CARDROOM_SERVICE_CLIENT_SECRET"):
        Channels(ServiceSettings())


class Flaky:
    """Fails as often as told, then answers."""

    def __init__(self, *failures: CardroomError) -> None:
        self.failures = list(failures)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def test_a_call_is_tried_again_while_the_other_side_is_away() -> None:
    flaky = Flaky(Unavailable("A", "a"), CardroomError(grpc.StatusCode.DEADLINE_EXCEEDED, "B", "b"))
    assert await call_with_retry(flaky, first_wait=0.001) == "done"
    assert flaky.calls == 3


async def test_a_refusal_is_not_tried_again_and_tries_are_bounded() -> None:
    refusing, away = Flaky(NotFound("A", "a")), Flaky(*[Unavailable("A", "a")] * 9)
    with pytest.raises(NotFound):
        await call_with_retry(refusing, first_wait=0.001)
    with pytest.raises(Unavailable):
        await call_with_retry(away, attempts=3, first_wait=0.001)
    assert (refusing.calls, away.calls) == (1, 3)


async def test_the_other_sides_reason_comes_back_from_a_real_call(gateway: Gateway) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{gateway.server.port}") as channel:
        identity = pb_grpc.IdentityServiceStub(channel)
        with pytest.raises(Unauthenticated) as refused:
            await call_with_retry(lambda: identity.IssueServiceToken(pb.IssueServiceTokenRequest(client_id="x")))
    assert refused.value.reason == "CLIENT_UNKNOWN"


async def test_keys_are_fetched_from_the_gateway_and_again_for_an_unknown_key(
    gateway: Gateway, jwks_url: str, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = TokenVerifier(ServiceSettings(jwks_url=jwks_url))
    assert not verifier.ready
    await verifier.start()
    await until(lambda: verifier.ready)
    assert (await verifier.verify(signed())).subject == "player-1"
    fresh = ECKey.generate_key("P-256", {"kid": "k2"})
    gateway.published = KeySet([KEY, fresh])
    with pytest.raises(Unauthenticated):
        await verifier.verify(signed(fresh, kid="k2"))
    assert gateway.fetched == 1, "not more often than every two seconds, whoever asks"
    monkeypatch.setattr(_keys, "REFETCH_GAP_SECONDS", 0)
    assert (await verifier.verify(signed(fresh, kid="k2"))).subject == "player-1"
    with pytest.raises(Unauthenticated):
        await verifier.verify(signed(fresh, kid="k3"))
    await verifier.stop()


async def test_a_gateway_that_is_down_is_asked_again(
    gateway: Gateway, jwks_url: str, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_keys, "FIRST_WAIT_SECONDS", 0.01)
    verifier = TokenVerifier(ServiceSettings(jwks_url="http://127.0.0.1:1/jwks.json"))
    await verifier.start()
    with pytest.raises(Unavailable) as refused:
        await verifier.verify(signed())
    assert refused.value.reason == "KEYS_UNAVAILABLE"
    verifier._keys._url = jwks_url
    await until(lambda: verifier.ready)
    await verifier.stop()
