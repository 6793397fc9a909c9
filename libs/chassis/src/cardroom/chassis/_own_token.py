"""The token with which this service calls others, kept fresh in the background."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import grpc

from cardroom.chassis import logs
from cardroom.chassis.errors import SettingsError, Unavailable, from_rpc_error
from cardroom.contracts.identity.v1 import identity_pb2, identity_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cardroom.chassis.settings import ServiceSettings

CALL_TIMEOUT_SECONDS: Final = 3.0
FIRST_WAIT_SECONDS: Final = 0.2
MAX_WAIT_SECONDS: Final = 3.0
SHORTEST_LIFE_SECONDS: Final = 1.0

log = logs.get("channels")


class OwnToken:
    """Asks IdentityService for the service's token, and again at two thirds of its life."""

    def __init__(self, settings: ServiceSettings, options: Sequence[tuple[str, int | str]]) -> None:
        if not settings.client_secret:
            name = f"{settings.env_prefix()}CLIENT_SECRET"
            raise SettingsError(f"{name} is not set: set it to the secret of the client {settings.client_name!r}")
        self.current: str | None = None
        self._address = settings.identity_address
        self._request = identity_pb2.IssueServiceTokenRequest(
            client_id=settings.client_name, client_secret=settings.client_secret
        )
        self._options = options
        self._task: asyncio.Task[None] | None = None

    def require(self) -> str:
        """Return the token. Raises Unavailable/SERVICE_TOKEN_MISSING while there is none."""
        if self.current is None:
            text = f"no service token from {self._address} yet: try again"
            raise Unavailable("SERVICE_TOKEN_MISSING", text)
        return self.current

    async def start(self) -> None:
        """Begin to fetch in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep_fresh(), name="service-token")

    async def stop(self) -> None:
        """Stop the background task."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _keep_fresh(self) -> None:
        async with grpc.aio.insecure_channel(self._address, options=self._options) as channel:
            identity = identity_pb2_grpc.IdentityServiceStub(channel)
            wait = FIRST_WAIT_SECONDS
            while True:
                life = await self._fetch(identity)
                if life is None:
                    await asyncio.sleep(wait)
                    wait = min(wait * 2, MAX_WAIT_SECONDS)
                else:
                    wait = FIRST_WAIT_SECONDS
                    await asyncio.sleep(max(SHORTEST_LIFE_SECONDS, life * 2 / 3))

    async def _fetch(self, identity: identity_pb2_grpc.IdentityServiceAsyncStub) -> float | None:
        try:
            answer = await identity.IssueServiceToken(self._request, timeout=CALL_TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            log.warning("no service token; trying again", address=self._address, error=str(from_rpc_error(error)))
            return None
        self.current = answer.tokens.access_token
        return float(answer.tokens.expires_in_seconds)
