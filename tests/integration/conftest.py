"""A real Postgres and a real RabbitMQ for the tests of one session.

Containers (testcontainers) where a Docker engine answers, local binaries otherwise; see `cardroom.local.settings` for
the image names and how to choose. What a test writes it writes into a database or virtual host of its own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from cardroom.local import engine, runs
from cardroom.local.postgres import AS_UTF8, BinaryPostgres
from cardroom.local.progress import Progress
from cardroom.local.rabbitmq import BinaryRabbitMQ, greets
from cardroom.local.runs import LABEL, Run
from cardroom.local.settings import LocalSettings

_READY_SECONDS = 120.0
_USER = "cardroom"
# The run's watchdog removes labelled containers when the session dies, so testcontainers' own cleaner is not needed.
testcontainers_config.ryuk_disabled = True


@dataclass(frozen=True, slots=True)
class Broker:
    """Where the session's RabbitMQ is: AMQP and the management API, both with credentials."""

    amqp_url: str
    management_url: str


@pytest.fixture(scope="session")
def machine_run(local_settings: LocalSettings) -> Iterator[Run]:
    """The folder of this session's servers; a watchdog removes everything in it even if the session is killed."""
    runs.remove_stale(local_settings.folder)
    run = Run.create(local_settings.folder)
    watchdog = runs.start_watchdog(run)
    yield run
    run.remove()
    runs.end_watchdog(watchdog)


@pytest.fixture(scope="session")
async def uses_containers(local_settings: LocalSettings) -> bool:
    """Whether the servers of this session are containers."""
    return await engine.chosen(local_settings, Progress())


@pytest.fixture(scope="session")
async def postgres_url(uses_containers: bool, machine_run: Run, local_settings: LocalSettings) -> AsyncIterator[str]:
    """The superuser's URL of a Postgres server that lives for this session."""
    if uses_containers:
        password = secrets.token_urlsafe(12)
        container = (
            DockerContainer(local_settings.postgres_image, labels={LABEL: machine_run.id})
            .with_env("POSTGRES_USER", _USER)
            .with_env("POSTGRES_PASSWORD", password)
            .with_env("POSTGRES_DB", "postgres")
            .with_command("postgres -c fsync=off -c full_page_writes=off -c max_connections=300")
            .with_exposed_ports(5432)
        )
        machine_run.remember_containers()
        with container:
            place = f"{container.get_container_host_ip()}:{container.get_exposed_port(5432)}"
            url = f"postgresql://{_USER}:{password}@{place}/postgres"
            await _until("Postgres", lambda: _takes_queries(url), container)
            yield url
        return
    server = BinaryPostgres(run=machine_run, progress=Progress(), durable=False)
    await server.start()
    yield server.url()
    await server.remove()


@pytest.fixture
async def fresh_database(postgres_url: str) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """A factory of empty databases: `url = await fresh_database()`. They are dropped when the test is over."""
    made: list[str] = []

    async def make() -> str:
        name = f"test_{secrets.token_hex(8)}"
        await _execute(postgres_url, f'create database "{name}" {AS_UTF8}')
        made.append(name)
        return urlunsplit(urlsplit(postgres_url)._replace(path=f"/{name}"))

    yield make
    for name in made:
        await _execute(postgres_url, f'drop database if exists "{name}" with (force)')


@pytest.fixture(scope="session")
async def broker(uses_containers: bool, machine_run: Run, local_settings: LocalSettings) -> AsyncIterator[Broker]:
    """A RabbitMQ broker that lives for this session."""
    if uses_containers:
        password = secrets.token_urlsafe(12)
        container = (
            DockerContainer(local_settings.rabbitmq_image, labels={LABEL: machine_run.id})
            .with_env("RABBITMQ_DEFAULT_USER", _USER)
            .with_env("RABBITMQ_DEFAULT_PASS", password)
            .with_exposed_ports(5672, 15672)
        )
        machine_run.remember_containers()
        with container:
            host, port = container.get_container_host_ip(), int(container.get_exposed_port(5672))
            await _until("RabbitMQ", lambda: greets(port, host), container)
            yield Broker(
                f"amqp://{_USER}:{password}@{host}:{port}/",
                f"http://{_USER}:{password}@{host}:{container.get_exposed_port(15672)}",
            )
        return
    server = BinaryRabbitMQ(run=machine_run, progress=Progress(), statistics=True)
    await server.start()
    yield Broker(server.url, server.management_url)
    await server.remove()


@pytest.fixture(scope="module")
async def amqp_url(broker: Broker) -> AsyncIterator[str]:
    """A virtual host of this test module's own, as an AMQP URL."""
    name = f"test-{secrets.token_hex(6)}"
    await asyncio.to_thread(manage, broker, "PUT", f"/api/vhosts/{name}")
    yield urlunsplit(urlsplit(broker.amqp_url)._replace(path=f"/{name}"))
    await asyncio.to_thread(manage, broker, "DELETE", f"/api/vhosts/{name}")


def manage(broker: Broker, method: str, path: str, body: object = None) -> bytes:
    """One call of the management API; its creator gets every permission on a new virtual host."""
    parts = urlsplit(broker.management_url)
    request = urllib.request.Request(
        f"http://{parts.hostname}:{parts.port}{path}",
        method=method,
        data=json.dumps(body if body is not None else {}).encode(),
        headers={
            "Authorization": "Basic " + base64.b64encode(f"{parts.username}:{parts.password}".encode()).decode(),
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return bytes(answer.read())


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _takes_queries(url: str) -> bool:
    try:
        await _execute(url, "select 1")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    return True


async def _until(what: str, ready: Callable[[], Awaitable[bool]], container: DockerContainer) -> None:
    deadline = asyncio.get_running_loop().time() + _READY_SECONDS
    while not await ready():
        if asyncio.get_running_loop().time() > deadline:
            output = b"".join(container.get_logs()).decode(errors="replace")
            pytest.fail(f"{what} was not ready within {_READY_SECONDS:g} s; its container said:\n{output[-3000:]}")
        await asyncio.sleep(0.1)
