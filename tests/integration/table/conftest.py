"""Replicas of the table service in this process, on a real Postgres, with tokens signed here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from cardroom.chassis import outbox
from tests.integration.table.replicas import Replica, StartReplica, start


@pytest.fixture
async def database(fresh_database: Callable[[], Awaitable[str]]) -> str:
    """A database of this test's own."""
    return await fresh_database()


@pytest.fixture
async def sql(database: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A look behind the service's back."""
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def start_replica(database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StartReplica]:
    """A factory of replicas; those that still run are stopped after the test."""
    # There is no broker here: a relay that stops need not wait for one.
    monkeypatch.setattr(outbox, "STOP_SECONDS", 0.05)
    running: list[Replica] = []

    async def begin(**changes: Any) -> Replica:
        replica = await start(database, **changes)
        running.append(replica)
        return replica

    yield begin
    for replica in running:
        await replica.stop()
