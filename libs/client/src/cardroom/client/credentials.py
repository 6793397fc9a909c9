"""Proofs of who is calling: a guest's pair of tokens, kept fresh, or a service's client id and secret."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from cardroom.client import errors
from cardroom.client.transport import CallPolicy, repeated
from cardroom.contracts.identity.v1.identity_pb2 import (
    IssueServiceTokenRequest,
    Player,
    RefreshTokenRequest,
    SignInAsGuestRequest,
    Tokens,
)

if TYPE_CHECKING:
    from cardroom.contracts.identity.v1.identity_pb2_grpc import IdentityServiceAsyncStub

# An access token is renewed before it runs out: with this much of its life left.
_RENEW_FRACTION: Final = 0.2


class Credentials(Protocol):
    """Gives access tokens."""

    async def token(self) -> str:
        """An access token that is good for now; empty where none is needed."""
        ...

    async def renew(self, refused: str) -> bool:
        """Gets a new token after the server refused one. False: there is no way."""
        ...


class Anonymous:
    """Nobody in particular: for the calls that need no token."""

    async def token(self) -> str:
        """No token."""
        return ""

    async def renew(self, refused: str) -> bool:
        """There is nothing to renew."""
        return False


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in player, in a form that can be kept on disk to come back as the same player."""

    player_id: str
    display_name: str
    refresh_token: str


class _Renewable:
    """An access token that is replaced, by one caller at a time, shortly before it runs out or when it was refused."""

    def __init__(self) -> None:
        self._token = ""
        self._renew_at = 0.0
        self._lock = asyncio.Lock()

    def _keep(self, tokens: Tokens) -> None:
        self._token = tokens.access_token
        self._renew_at = time.monotonic() + tokens.expires_in_seconds * (1 - _RENEW_FRACTION)

    async def token(self) -> str:
        """An access token that is good for now."""
        if time.monotonic() >= self._renew_at:
            async with self._lock:
                # Somebody else may have renewed it while we waited.
                if time.monotonic() >= self._renew_at:
                    await self._fetch()
        return self._token

    async def renew(self, refused: str) -> bool:
        """Replaces the refused token, unless that has happened already."""
        async with self._lock:
            if self._token == refused:
                try:
                    await self._fetch()
                except errors.UnauthenticatedError:
                    return False
        return True

    async def _fetch(self) -> None:
        raise NotImplementedError


class GuestCredentials(_Renewable):
    """A guest's tokens. Each refresh spends the refresh token, so `on_change` is told each new one."""

    def __init__(
        self,
        identity: IdentityServiceAsyncStub,
        policy: CallPolicy,
        signed_in: SignedIn,
        on_change: Callable[[SignedIn], None] | None = None,
    ) -> None:
        """Starts from a refresh token; the first call trades it for an access token."""
        super().__init__()
        self._identity = identity
        self._policy = policy
        self._on_change = on_change
        self.signed_in = signed_in

    @classmethod
    async def sign_in(
        cls,
        identity: IdentityServiceAsyncStub,
        policy: CallPolicy,
        request: SignInAsGuestRequest,
        on_change: Callable[[SignedIn], None] | None = None,
    ) -> GuestCredentials:
        """Makes a new guest. Repeats with the request's id, so that a lost answer does not make two."""
        answer = await repeated(lambda timeout: identity.SignInAsGuest(request, timeout=timeout), policy)
        made = cls(identity, policy, _signed_in(answer.player, answer.tokens), on_change)
        made._keep_all(answer.player, answer.tokens)
        return made

    async def _fetch(self) -> None:
        request = RefreshTokenRequest(refresh_token=self.signed_in.refresh_token)
        # A repeat with the same token within 60 s is answered with a working pair, so a lost answer costs nothing.
        answer = await repeated(lambda timeout: self._identity.RefreshToken(request, timeout=timeout), self._policy)
        self._keep_all(answer.player, answer.tokens)

    def _keep_all(self, player: Player, tokens: Tokens) -> None:
        self._keep(tokens)
        self.signed_in = _signed_in(player, tokens)
        if self._on_change is not None:
            self._on_change(self.signed_in)


class ServiceCredentials(_Renewable):
    """A service's or an operator's client id and secret (the OAuth 2 client-credentials grant)."""

    def __init__(
        self, identity: IdentityServiceAsyncStub, policy: CallPolicy, client_id: str, client_secret: str
    ) -> None:
        """Fetches nothing yet; the first call does."""
        super().__init__()
        self._identity = identity
        self._policy = policy
        self._request = IssueServiceTokenRequest(client_id=client_id, client_secret=client_secret)

    async def _fetch(self) -> None:
        answer = await repeated(
            lambda timeout: self._identity.IssueServiceToken(self._request, timeout=timeout), self._policy
        )
        self._keep(answer.tokens)


class FixedToken:
    """A token that came from somewhere else, for example an operator's own issuer. It cannot be renewed."""

    def __init__(self, access_token: str) -> None:
        """Keeps the token."""
        self._token = access_token

    async def token(self) -> str:
        """The token."""
        return self._token

    async def renew(self, refused: str) -> bool:
        """There is no way to renew it here."""
        return False


def _signed_in(player: Player, tokens: Tokens) -> SignedIn:
    return SignedIn(player.player_id, player.display_name, tokens.refresh_token)
