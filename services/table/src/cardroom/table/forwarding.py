"""Requests to the replica that owns the table: handled here, or passed on as the bytes they came in."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import grpc

from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import CardroomError, Unavailable, from_rpc_error
from cardroom.chassis.leases import LeaseKeeper
from cardroom.table import metrics
from cardroom.table.errors import NotOwner, OutcomeUnknown, StreamEnded, TableMoving
from cardroom.table.tables import Tables, shard_of

__all__ = ["FORWARDED", "OWNER", "Forwarding", "owner_metadata"]

T = TypeVar("T")

Context = grpc.aio.ServicerContext[Any, Any]

FORWARDED: Final = "cardroom-forwarded"
"""Set on what was passed on once: it is not passed on again."""
OWNER: Final = "cardroom-owner"
"""Names the owner's address, in the form in which the edge takes it back (base64, in `cardroom-replica`)."""
TRY_SECONDS: Final = 1.5
"""A stalled owner must not keep a request until the client gives up; every request may be sent again."""
PAUSE_SECONDS: Final = 0.05
_AGAIN: Final = frozenset(
    {"TABLE_MOVING", "NOT_OWNER", "LEASE_LOST", "SERVER_STOPPING", "UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}
)
_GONE: Final = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})


class Forwarding:
    """Finds the owner of a table, and tries again while it changes."""

    def __init__(
        self, tables: Tables, leases: LeaseKeeper, channels: Channels, own_address: str, *, wait_seconds: float = 3.0
    ) -> None:
        self._tables = tables
        self._leases = leases
        self._channels = channels
        self._own_address = own_address
        self._owned_here = owner_metadata(own_address)
        self._wait_seconds = wait_seconds
        self._calls: dict[tuple[str, str], Any] = {}

    async def unary(
        self, method: str, table_id: str, request: bytes, context: Context, here: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The answer of the table's owner: by `here` if that is this replica. Every request may be tried again."""

        async def there(address: str, metadata: list[tuple[str, str]]) -> bytes:
            answer: bytes = await self._call(address, method)(request, metadata=metadata, timeout=TRY_SECONDS)
            return answer

        return await self._at_owner(method, table_id, context, here, there)

    async def stream(
        self,
        method: str,
        table_id: str,
        request: bytes,
        context: Context,
        here: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]],
    ) -> None:
        """The stream of the table's owner. Once it has begun, its end is the end: the client opens a new one.

        `here(begin)` serves it where the table is owned, and awaits `begin()` before it sends anything. The first
        metadata names the owner (OWNER), so that a client which sends that back (the edge reads it) needs no detour.
        """

        async def begin() -> None:
            await context.send_initial_metadata(self._owned_here)

        async def there(address: str, metadata: list[tuple[str, str]]) -> None:
            call = self._channels.channel(address).unary_stream(method, None, None)(request, metadata=metadata)
            has_begun = False
            try:
                async for message in call:
                    if not has_begun:
                        has_begun = True
                        await context.send_initial_metadata((*owner_metadata(address), (FORWARDED, "1")))
                    await context.write(message)
            except grpc.RpcError as error:
                if has_begun and error.code() in _GONE:
                    raise StreamEnded(TableMoving(table_id)) from error
                raise
            finally:
                call.cancel()

        await self._at_owner(method, table_id, context, lambda: here(begin), there)

    async def _at_owner(
        self,
        method: str,
        table_id: str,
        context: Context,
        here: Callable[[], Awaitable[T]],
        there: Callable[[str, list[tuple[str, str]]], Awaitable[T]],
    ) -> T:
        shard = shard_of(table_id)
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._wait_seconds
        why: CardroomError = TableMoving(table_id)
        while True:
            try:
                if self._tables.epoch(shard) is not None:
                    return await here()
                token = _passed_on_token(context)
                if token is None:
                    raise NotOwner(table_id)
                owner = self._leases.owner_of(shard)
                if owner is not None and owner.address != self._own_address:
                    metrics.FORWARDED.labels(method).inc()
                    return await there(owner.address, [("authorization", token), (FORWARDED, "1")])
            except StreamEnded as ended:
                raise ended.error from ended
            except grpc.RpcError as error:
                refusal = from_rpc_error(error)
                if refusal.reason not in _AGAIN:
                    raise refusal from error
                why = refusal
            except TableMoving as error:
                why = error
            except OutcomeUnknown:
                why = Unavailable("DATABASE_UNAVAILABLE", "the database does not answer at the moment: try again")
            if loop.time() > give_up:
                raise why
            await asyncio.sleep(PAUSE_SECONDS)

    def _call(self, address: str, method: str) -> Any:
        call = self._calls.get((address, method))
        if call is None:
            call = self._calls[address, method] = self._channels.channel(address).unary_unary(method, None, None)
        return call


def owner_metadata(address: str) -> tuple[tuple[str, str], ...]:
    """The metadata that names the owner of a stream's table."""
    return ((OWNER, base64.b64encode(address.encode()).decode()),)


def _passed_on_token(context: Context) -> str | None:
    """The caller's own token to pass on, or None for a request that was passed on before."""
    token = ""
    for key, value in context.invocation_metadata() or ():
        if key == FORWARDED:
            return None
        if key == "authorization" and isinstance(value, str):
            token = value
    return token
