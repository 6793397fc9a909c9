"""The front door: one connection to the edge, shared by any number of players and services."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

import grpc

from cardroom.client.connection import Connection
from cardroom.client.credentials import (
    Anonymous,
    Credentials,
    FixedToken,
    GuestCredentials,
    ServiceCredentials,
    SignedIn,
)
from cardroom.client.player import PlayerClient, new_request_id
from cardroom.client.service import ServiceClient
from cardroom.client.transport import CallPolicy, open_channel
from cardroom.contracts.identity.v1.identity_pb2 import SignInAsGuestRequest, WhoAmIRequest
from cardroom.contracts.identity.v1.identity_pb2_grpc import IdentityServiceStub


class Client:
    """One HTTP/2 connection to a cardroom. Everyone who signs in through it shares the connection.

    >>> async with Client.connect("localhost:8080") as client:
    ...     player = await client.sign_in_as_guest("Ann")
    ...     tables = await player.tables()
    """

    def __init__(self, channel: grpc.aio.Channel, policy: CallPolicy) -> None:
        """Made by `connect`."""
        self._channel = channel
        self._policy = policy
        self._identity = IdentityServiceStub(channel)

    @classmethod
    def connect(cls, edge: str, *, policy: CallPolicy | None = None) -> Client:
        """Prepares the connection to `host:port`, `http://host:port` or `https://host[:port]`; the first call opens it.

        Call it inside a running event loop. Raises ValueError for an address of another shape.
        """
        return cls(open_channel(edge), policy or CallPolicy())

    async def __aenter__(self) -> Self:
        """The connection."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connection."""
        await self.close()

    async def close(self) -> None:
        """Closes the connection and every stream on it."""
        await self._channel.close(None)

    async def sign_in_as_guest(
        self, display_name: str = "", *, on_change: Callable[[SignedIn], None] | None = None
    ) -> PlayerClient:
        """Makes a new guest and signs them in. An empty name: one is made up.

        `on_change` is told the first and every later refresh token; keep the last one to `resume` as the same player.
        Raises INVALID_DISPLAY_NAME, RATE_LIMITED.
        """
        request = SignInAsGuestRequest(display_name=display_name, request_id=new_request_id())
        guest = await GuestCredentials.sign_in(self._identity, self._policy, request, on_change)
        return self._player(guest, guest.signed_in.player_id, guest.signed_in.display_name)

    async def resume(self, signed_in: SignedIn, *, on_change: Callable[[SignedIn], None] | None = None) -> PlayerClient:
        """Comes back as a guest who signed in before. Raises UnauthenticatedError/REFRESH_TOKEN_INVALID."""
        guest = GuestCredentials(self._identity, self._policy, signed_in, on_change)
        await guest.token()
        return self._player(guest, guest.signed_in.player_id, guest.signed_in.display_name)

    async def player_with_token(self, access_token: str) -> PlayerClient:
        """A player whose access token came from elsewhere. It cannot be renewed here."""
        credentials = FixedToken(access_token)
        connection = self._connection(credentials)
        who = await connection.call(self._identity.WhoAmI, WhoAmIRequest())
        return PlayerClient(connection, who.subject, who.player.display_name)

    def service(self, client_id: str, client_secret: str) -> ServiceClient:
        """A service or an operator with client credentials. Signs in with the first call."""
        return ServiceClient(
            self._connection(ServiceCredentials(self._identity, self._policy, client_id, client_secret))
        )

    def service_with_token(self, access_token: str) -> ServiceClient:
        """A service or an operator whose access token came from elsewhere. It cannot be renewed here."""
        return ServiceClient(self._connection(FixedToken(access_token)))

    def anonymous(self) -> Connection:
        """A connection without a token, for the calls that need none."""
        return self._connection(Anonymous())

    def _connection(self, credentials: Credentials) -> Connection:
        return Connection(self._channel, credentials, self._policy)

    def _player(self, credentials: Credentials, player_id: str, display_name: str) -> PlayerClient:
        return PlayerClient(self._connection(credentials), player_id, display_name)
