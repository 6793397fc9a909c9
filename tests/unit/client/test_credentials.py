"""Tokens stay fresh, one renewal at a time, and each new refresh token is told."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from grpc.aio import AioRpcError, Metadata

from cardroom.client.credentials import GuestCredentials, ServiceCredentials, SignedIn
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.contracts.identity.v1.identity_pb2 import (
    IssueServiceTokenRequest,
    IssueServiceTokenResponse,
    Player,
    RefreshTokenRequest,
    RefreshTokenResponse,
    SignInAsGuestRequest,
    SignInAsGuestResponse,
    Tokens,
)

POLICY = CallPolicy(backoff=Backoff(first_seconds=0.0, max_seconds=0.0))


class FakeIdentity:
    """Gives numbered tokens; a spent refresh token is refused."""

    def __init__(self, expires_in_seconds: int = 600) -> None:
        self.issued = 0
        self.expires_in_seconds = expires_in_seconds
        self.lost_answers = 0

    def _tokens(self) -> Tokens:
        self.issued += 1
        number = self.issued
        return Tokens(access_token=f"a{number}", refresh_token=f"r{number}", expires_in_seconds=self.expires_in_seconds)

    async def SignInAsGuest(self, request: SignInAsGuestRequest, timeout: float) -> SignInAsGuestResponse:  # noqa: ASYNC109
        assert request.request_id
        return SignInAsGuestResponse(player=Player(player_id="p1", display_name="Ann"), tokens=self._tokens())

    async def RefreshToken(self, request: RefreshTokenRequest, timeout: float) -> RefreshTokenResponse:  # noqa: ASYNC109
        await asyncio.sleep(0)
        if self.lost_answers:
            self.lost_answers -= 1
            raise AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "", None)
        if request.refresh_token != f"r{self.issued}":
            raise AioRpcError(grpc.StatusCode.UNAUTHENTICATED, Metadata(), Metadata(), "", None)
        return RefreshTokenResponse(player=Player(player_id="p1", display_name="Ann"), tokens=self._tokens())

    async def IssueServiceToken(self, request: IssueServiceTokenRequest, timeout: float) -> IssueServiceTokenResponse:  # noqa: ASYNC109
        return IssueServiceTokenResponse(tokens=self._tokens())


async def signed_in(identity: Any, told: list[SignedIn] | None = None) -> GuestCredentials:
    request = SignInAsGuestRequest(display_name="Ann", request_id="k")
    return await GuestCredentials.sign_in(identity, POLICY, request, None if told is None else told.append)


async def test_a_fresh_token_is_used_again() -> None:
    identity = FakeIdentity()
    guest = await signed_in(identity)
    assert [await guest.token() for _ in range(3)] == ["a1", "a1", "a1"]


async def test_an_expiring_token_is_renewed_by_one_caller_for_all() -> None:
    identity = FakeIdentity(expires_in_seconds=0)
    guest = await signed_in(identity)
    identity.expires_in_seconds = 600
    assert await asyncio.gather(*[guest.token() for _ in range(5)]) == ["a2"] * 5
    assert identity.issued == 2


async def test_each_new_refresh_token_is_told() -> None:
    told: list[SignedIn] = []
    guest = await signed_in(FakeIdentity(), told)
    await guest.renew("a1")
    assert [token.refresh_token for token in told] == ["r1", "r2"]
    assert guest.signed_in == SignedIn("p1", "Ann", "r2")


async def test_a_token_refused_to_many_is_renewed_once() -> None:
    identity = FakeIdentity()
    guest = await signed_in(identity)
    assert await asyncio.gather(*[guest.renew("a1") for _ in range(4)]) == [True] * 4
    assert identity.issued == 2


async def test_a_lost_answer_to_a_refresh_is_asked_for_again() -> None:
    identity = FakeIdentity()
    guest = await signed_in(identity)
    identity.lost_answers = 2
    assert await guest.renew("a1")
    assert await guest.token() == "a2"


async def test_a_spent_refresh_token_is_said_to_be_no_way_back() -> None:
    identity = FakeIdentity()
    guest = await signed_in(identity)
    identity.issued += 1
    assert not await guest.renew("a1")


async def test_a_service_signs_in_with_its_first_call() -> None:
    identity: Any = FakeIdentity()
    service = ServiceCredentials(identity, POLICY, "promotions", "secret")
    assert identity.issued == 0
    assert await service.token() == "a1"
    assert await service.renew("a1")
    assert await service.token() == "a2"
