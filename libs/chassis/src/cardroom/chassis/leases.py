"""Leases on shards: one owner at a time, judged by the database's clock, fenced by an epoch in every write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


class Owner(NamedTuple):
    """Who owns a shard."""

    address: str
    epoch: int


class LeaseKeeper:
    """Takes this process' share of the shards, renews, hands over, and knows the owner of every shard.

    A part of an `App`. `runner_id` names this process for people; each start is another runner. `on_gained(shard,
    epoch)` is awaited after a shard became ours, `on_losing(shard)` before it is given away, or after it was lost.
    """

    def __init__(
        self,
        pool: Any,
        runner_id: str,
        address: str,
        *,
        shards: int = 256,
        ttl: float = 3.0,
        renew: float = 0.5,
        on_gained: Callable[[int, int], Awaitable[None]] | None = None,
        on_losing: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        raise NotImplementedError

    async def start(self) -> None:
        """Register and begin to take shards."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Give every shard up at once, so that the others take over without waiting."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether this runner is registered and its lease is good."""
        raise NotImplementedError

    def epoch(self, shard: int) -> int | None:
        """Return the epoch under which we own `shard`, or None if we do not, or no longer safely."""
        raise NotImplementedError

    def owned(self) -> dict[int, int]:
        """Return the shards we own now with their epochs; empty if the lease is not safely ours."""
        raise NotImplementedError

    def owner_of(self, shard: int) -> Owner | None:
        """Return who owns `shard` by what the database said last, or None if nobody does."""
        raise NotImplementedError


async def check_epochs(conn: Any, epochs: Mapping[int, int]) -> None:
    """Raise LeaseLost unless every shard still has its epoch; keep it so until the transaction of `conn` ends."""
    raise NotImplementedError
