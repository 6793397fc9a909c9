"""A database with the tables that the chassis' README tells services to make, and what tests wait with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

README = Path(__file__).resolve().parents[3] / "libs" / "chassis" / "README.md"


def documented_ddl() -> str:
    """Return every SQL block of the README: what services copy is what is tested."""
    blocks = README.read_text(encoding="utf-8").split("```sql\n")[1:]
    return "\n".join(block.split("```")[0] for block in blocks)


@pytest.fixture
async def database_url(fresh_database: Callable[[], Awaitable[str]]) -> str:
    """A new database with the outbox and the leases in it."""
    url = await fresh_database()
    conn = await asyncpg.connect(url)
    try:
        await conn.execute(documented_ddl())
    finally:
        await conn.close()
    return url


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool]:
    """A pool on that database, as a service has it."""
    settings = {"idle_in_transaction_session_timeout": "1000"}
    async with asyncpg.create_pool(database_url, min_size=1, max_size=20, server_settings=settings) as made:
        yield made


async def until(true: Callable[[], object], seconds: float = 30.0, what: str = "") -> None:
    """Wait for something that happens by itself, at most `seconds`."""
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, f"did not happen within {seconds:g} s: {what or true}"
        await asyncio.sleep(0.01)


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., Awaitable[None]]:
    """`await until(lambda: ...)`."""
    return until
