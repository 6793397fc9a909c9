"""Channels to other services: one per address, with the service's own token and the trace on every call.

grpc.aio's client interceptors cost a task per call, so the channel itself is wrapped: a call through it only gets two
more metadata entries.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final, TypeVar

import grpc

from cardroom.chassis._own_token import OwnToken
from cardroom.chassis._wrapped_channel import WrappedChannel
from cardroom.chassis.errors import CardroomError, from_rpc_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cardroom.chassis.settings import ServiceSettings

T = TypeVar("T")

OPTIONS: Final = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # This is what the answer to a ping is waited for; without it, a minute.
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # A name or a list may stand for several replicas: each gets its share, and one that is gone gets none.
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
)
# A server that stops cancels the calls that it has not taken up yet. (What is cancelled here raises CancelledError.)
RETRY_CODES: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
)


class Channels:
    """The channels of one process. A part of an `App`; `ready` once it has its service token."""

    def __init__(self, settings: ServiceSettings, *, token: Callable[[], str] | None = None) -> None:
        """`token` overrides where the token comes from (tests, and the gateway, which signs its own)."""
        self._own = OwnToken(settings, OPTIONS) if token is None else None
        self._token = token if token is not None else self._own_token
        self._channels: dict[str, WrappedChannel] = {}

    async def start(self) -> None:
        """Begin to fetch the service token; a gateway that is down is asked again until it answers."""
        if self._own is not None:
            await self._own.start()

    async def stop(self) -> None:
        """Close all channels; calls that are running are cancelled."""
        await self.close()

    async def close(self) -> None:
        """Close all channels; calls that are running are cancelled."""
        if self._own is not None:
            await self._own.stop()
        channels, self._channels = self._channels, {}
        await asyncio.gather(*(channel.close(None) for channel in channels.values()))

    @property
    def ready(self) -> bool:
        """Whether calls can carry a token."""
        return self._own is None or self._own.current is not None

    def channel(self, address: str) -> grpc.aio.Channel:
        """Return the channel to `address`, the same one every time: host:port, or a comma-separated list of IPv4
        host:port, whose replicas share the calls. Calls that bring their own `authorization` keep it."""
        known = self._channels.get(address)
        if known is None:
            known = WrappedChannel(grpc.aio.insecure_channel(_target(address), options=OPTIONS), self._token)
            self._channels[address] = known
        return known

    def _own_token(self) -> str:
        assert self._own is not None
        return self._own.require()


def _target(address: str) -> str:
    return f"ipv4:{address}" if "," in address else address


async def call_with_retry(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    first_wait: float = 0.05,
    max_wait: float = 2.0,
    codes: frozenset[grpc.StatusCode] = RETRY_CODES,
) -> T:
    """Return what `call()` answers; try again, with growing jittered waits, while it fails with one of `codes`.

    For reads and for writes that carry an idempotency key only: after these codes nobody knows whether the write
    happened. Give the call itself a `timeout`. Raises the other side's CardroomError.
    """
    assert attempts >= 1, f"attempts is {attempts}: at least 1"
    wait = first_wait
    for attempt in range(1, attempts + 1):
        try:
            return await call()
        except (grpc.RpcError, CardroomError) as error:
            refusal = error if isinstance(error, CardroomError) else from_rpc_error(error)
            if refusal.code not in codes or attempt == attempts:
                raise refusal from error
        await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
        wait = min(wait * 2, max_wait)
    raise AssertionError("unreachable")
