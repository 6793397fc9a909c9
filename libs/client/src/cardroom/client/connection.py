"""One caller's way to the services: a channel, who is calling, and how calls are made."""

from __future__ import annotations

from typing import TypeVar

import grpc

from cardroom.client.credentials import Credentials
from cardroom.client.transport import CallPolicy, repeated

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

Metadata = tuple[tuple[str, str], ...]


class Connection:
    """Makes calls in one caller's name. Many connections may share one channel."""

    def __init__(self, channel: grpc.aio.Channel, credentials: Credentials, policy: CallPolicy) -> None:
        """Opens nothing: the channel connects with the first call."""
        self.channel = channel
        self.policy = policy
        self._credentials = credentials

    async def call(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[_Request, _Answer],
        request: _Request,
        *,
        is_safe_to_repeat: bool = True,
        along: Metadata = (),
    ) -> _Answer:
        """Calls a method, with `along` in its metadata; raises CardroomError.

        Say `is_safe_to_repeat=False` for a write without a key.
        """
        token = ""

        async def send(attempt_seconds: float) -> _Answer:
            nonlocal token
            token = await self._credentials.token()
            return await method(request, timeout=attempt_seconds, metadata=_metadata(token) + along)

        return await repeated(
            send, self.policy, renew=lambda: self._credentials.renew(token), is_safe_to_repeat=is_safe_to_repeat
        )

    async def open_stream(
        self,
        method: grpc.aio.UnaryStreamMultiCallable[_Request, _Answer],
        request: _Request,
        *,
        along: Metadata = (),
    ) -> grpc.aio.UnaryStreamCall[_Request, _Answer]:
        """Opens a stream in the caller's name. Its errors come as grpc.aio.AioRpcError when it is read."""
        return method(request, metadata=_metadata(await self._credentials.token()) + along)

    async def renew(self) -> bool:
        """Gets a new token after a stream was refused as unauthenticated. False: there is no way."""
        return await self._credentials.renew(await self._credentials.token())


def _metadata(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),) if token else ()
