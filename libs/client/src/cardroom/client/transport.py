"""How the client reaches the edge: channels with keepalive, deadlines, pauses between tries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import grpc

from cardroom.client import errors

_Answer = TypeVar("_Answer")

RETRYABLE_CODES: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
    }
)
"""After the first three nobody knows whether the call happened (a server that stops cancels what it has not taken up
yet; what is cancelled here raises CancelledError). After ABORTED it did not, because other writes kept getting in the
way. What is safe to repeat is repeated."""

SILENCE_SECONDS_MAX: Final = 15.0
"""A stream without so much as a heartbeat for this long is dead (servers send one every 5 s)."""

# Spreads repeats; needs no secrecy.
_JITTER: Final = random.Random()  # noqa: S311

_CHANNEL_OPTIONS: Final[list[tuple[str, int]]] = [
    # Together: a dead edge is noticed within 10 + 5 seconds, also while no call is running. The answer to a ping is
    # waited for as long as the last of these says (a minute by default), whatever the one before it says.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # One connection per channel: otherwise channels to the same address share one underneath.
    ("grpc.use_local_subchannel_pool", 1),
    # Repeating is this module's job: it knows which calls are safe to repeat.
    ("grpc.enable_retries", 0),
]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential pauses with full jitter between attempts."""

    first_seconds: float = 0.05
    max_seconds: float = 5.0

    def pause_seconds(self, attempt: int) -> float:
        """The pause after failed attempt number `attempt` (from 0): between half and all of the exponential step."""
        step = min(self.max_seconds, self.first_seconds * 2.0 ** min(attempt, 20))
        return step * (0.5 + _JITTER.random() / 2)


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How long a call may take and how often it is tried."""

    attempt_seconds: float = 5.0
    attempts_max: int = 6
    backoff: Backoff = Backoff()


def open_channel(edge: str) -> grpc.aio.Channel:
    """Opens one HTTP/2 connection (lazily) to the edge: `host:port`, `http://host:port` or `https://host[:port]`.

    Raises ValueError for any other address.
    """
    scheme, separator, rest = edge.rpartition("://")
    address = rest.rstrip("/")
    if not address or "/" in address or (separator and scheme not in {"http", "https"}):
        raise ValueError(f"The edge address {edge!r} is not host:port, http://host:port or https://host[:port].")
    if scheme == "https":
        target = address if ":" in address else f"{address}:443"
        return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options=_CHANNEL_OPTIONS)
    if ":" not in address:
        raise ValueError(f"The edge address {edge!r} has no port; say for example {address}:8080.")
    return grpc.aio.insecure_channel(address, options=_CHANNEL_OPTIONS)


async def repeated(
    send: Callable[[float], Awaitable[_Answer]],
    policy: CallPolicy,
    *,
    renew: Callable[[], Awaitable[bool]] | None = None,
    is_safe_to_repeat: bool = True,
) -> _Answer:
    """Awaits `send(timeout_seconds)` until it succeeds or may not be repeated any more; raises CardroomError then.

    `renew` is asked once after UNAUTHENTICATED; where it answers True the call is made again, with the new token.
    """
    attempt = 0
    while True:
        try:
            return await send(policy.attempt_seconds)
        except grpc.aio.AioRpcError as error:
            # A refused token never reached a handler, so any call may be made again with a new one.
            if error.code() is grpc.StatusCode.UNAUTHENTICATED and renew is not None and await renew():
                renew = None
                continue
            attempt += 1
            if error.code() not in RETRYABLE_CODES or not is_safe_to_repeat or attempt >= policy.attempts_max:
                raise errors.from_rpc_error(error) from error
        await asyncio.sleep(policy.backoff.pause_seconds(attempt - 1))
