"""A pool whose connections die at chosen moments, as a crash or a network would make them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg


def named(statement: str) -> str:
    """What a statement is called in `killed`: how it begins."""
    return " ".join(statement.split())[:40]


@dataclass
class KillingPool:
    """Counts the moments before and after each statement, and kills the connection at those in `at`."""

    pool: Any
    at: Collection[int]
    moments: int = 0
    killed: str = ""

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Any]:
        """A connection that may die."""
        async with self.pool.acquire() as connection:
            yield Mortal(self, connection)

    async def moment(self, connection: Any, what: str) -> None:
        """Pass a moment, or kill."""
        self.moments += 1
        if self.moments in self.at:
            self.killed = what
            async with self.pool.acquire() as other:
                await other.execute("select pg_terminate_backend($1)", connection.get_server_pid())
            while not connection.is_closed():  # noqa: ASYNC110 - the database closes it
                await asyncio.sleep(0.001)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)


class Mortal:
    """A connection of a `KillingPool`."""

    def __init__(self, pool: KillingPool, connection: Any) -> None:
        self._pool, self._connection = pool, connection

    async def _run(self, name: str, statement: str, *values: Any) -> Any:
        what = named(statement)
        await self._pool.moment(self._connection, f"before {what}")
        result = await getattr(self._connection, name)(statement, *values)
        await self._pool.moment(self._connection, f"after {what}")
        return result

    async def fetch(self, statement: str, *values: Any) -> Any:
        """See asyncpg."""
        return await self._run("fetch", statement, *values)

    async def fetchrow(self, statement: str, *values: Any) -> Any:
        """See asyncpg."""
        return await self._run("fetchrow", statement, *values)

    async def execute(self, statement: str, *values: Any) -> Any:
        """See asyncpg."""
        return await self._run("execute", statement, *values)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction that may die before or just after its commit."""
        async with self._connection.transaction():
            yield
            await self._pool.moment(self._connection, "before commit")
        await self._pool.moment(self._connection, "after commit")
        if self._connection.is_closed():
            raise asyncpg.ConnectionDoesNotExistError("the connection was closed in the middle of operation")
