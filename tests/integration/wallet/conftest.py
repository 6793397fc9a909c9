"""A running wallet on a database of its own, one for each test module."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from cardroom.local.postgres import AS_UTF8
from tests.integration.wallet import running
from tests.integration.wallet.running import Wallet


@pytest.fixture(scope="module")
async def wallet_database_url(postgres_url: str) -> AsyncIterator[str]:
    """An empty database for one module."""
    name = f"wallet_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(postgres_url)
    await admin.execute(f'create database "{name}" {AS_UTF8}')
    yield urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))
    await admin.execute(f'drop database if exists "{name}" with (force)')
    await admin.close()


@pytest.fixture(scope="module")
async def wallet(wallet_database_url: str, amqp_url: str) -> AsyncIterator[Wallet]:
    """A running wallet."""
    started = await running.start(wallet_database_url, amqp_url, sweep_seconds=0.1, watch_poll_seconds=0.05)
    yield started
    await running.stop(started)


@pytest.fixture
def player_id() -> str:
    """Somebody new."""
    return running.new_id()


@pytest.fixture
def table_id() -> str:
    """A table nobody has played at."""
    return running.new_id()


@pytest.fixture
def house() -> str:
    """The name of a house account nobody has used."""
    return f"house/{secrets.token_hex(6)}/play"
