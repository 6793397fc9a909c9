"""Its own restart and the broker's: nothing lost, nothing doubled, nothing early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import asyncpg
import grpc
import pytest

from cardroom.chassis.errors import from_rpc_error
from cardroom.spectator.store import Store
from tests.integration.conftest import Broker, manage
from tests.integration.spectator.conftest import LONG_AGO, Spectator, Table
from tests.integration.spectator.test_watch import read

Start = Callable[..., Awaitable[Spectator]]


async def test_a_restart_loses_nothing_that_happened_meanwhile(start_spectator: Start, table: Table) -> None:
    first = await start_spectator()
    await table.happens(2, age=LONG_AGO)
    await first.knows(table)
    stream = first.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 2)]
    await first.app.stop()
    with pytest.raises(grpc.aio.AioRpcError) as ended:
        await stream.read()
    assert from_rpc_error(ended.value).reason == "SERVER_STOPPING"
    await table.happens(3, age=timedelta(seconds=50))
    await table.happens(2)
    second = await start_spectator()
    await second.knows(table)
    assert await read(second.watch(table.table_id), 1) == [("snapshot", 5)], "the last two are not due yet"
    rows = await second.query("select version from table_changes where table_id = $1 order by 1", table.table_id)
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    await second.app.stop()


async def test_two_replicas_share_the_work_and_show_the_same(start_spectator: Start, table: Table) -> None:
    replicas = [await start_spectator(), await start_spectator()]
    await table.happens(40, age=LONG_AGO)
    await replicas[0].knows(table)
    assert [await read(replica.watch(table.table_id), 1) for replica in replicas] == [[("snapshot", 40)]] * 2
    for replica in replicas:
        await replica.app.stop()


async def test_a_broken_broker_connection_costs_nothing(
    start_spectator: Start, table: Table, broker: Broker, amqp_url: str
) -> None:
    spectator = await start_spectator()
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 1)]
    assert await cut(broker, amqp_url) > 0
    await table.happens(30, age=LONG_AGO)
    assert await read(stream, 30) == [("change", version) for version in range(2, 32)]
    stream.cancel()
    await spectator.app.stop()


async def cut(broker: Broker, amqp_url: str) -> int:
    """Close every connection of the virtual host, as a restarting broker does; return how many that were."""
    host = quote(urlsplit(amqp_url).path.removeprefix("/"), safe="")
    async with asyncio.timeout(30):
        while True:
            found: list[Any] = json.loads(
                await asyncio.to_thread(manage, broker, "GET", f"/api/vhosts/{host}/connections")
            )
            for connection in found:
                path = f"/api/connections/{quote(connection['name'], safe='')}"
                await asyncio.to_thread(manage, broker, "DELETE", path)
            if found:
                return len(found)
            await asyncio.sleep(0.5)


async def test_broken_database_connections_cost_nothing(start_spectator: Start, table: Table) -> None:
    spectator = await start_spectator()
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 1)]
    await spectator.query(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )
    await table.happens(30, age=LONG_AGO)
    assert await read(stream, 30) == [("change", version) for version in range(2, 32)]
    stream.cancel()
    await spectator.app.stop()


async def test_a_poisoned_message_does_not_stop_the_others(start_spectator: Start, table: Table) -> None:
    spectator = await start_spectator()
    bad = table.message(1, LONG_AGO)
    object.__setattr__(bad, "body", b"\xff\xff\xff")
    await table.publish([bad])
    await table.happens(2, age=LONG_AGO)
    await spectator.knows(table)
    assert await read(spectator.watch(table.table_id), 1) == [("snapshot", 2)]
    await spectator.app.stop()


async def test_old_changes_go_and_the_newest_that_is_due_stays(start_spectator: Start, table: Table) -> None:
    spectator = await start_spectator(purge_seconds=0.1, retention_seconds=60)
    await table.happens(5, age=timedelta(hours=1))
    await spectator.knows(table)
    async with asyncio.timeout(30):
        while True:
            rows = await spectator.query("select version from table_changes where table_id = $1", table.table_id)
            if [row[0] for row in rows] == [5]:
                break
            await asyncio.sleep(0.05)
    assert await read(spectator.watch(table.table_id), 1) == [("snapshot", 5)]
    await spectator.app.stop()


async def test_the_poll_reads_only_what_is_new(start_spectator: Start, table: Table) -> None:
    """The scan of a poll must not grow with the changes that wait for their time."""
    spectator = await start_spectator()
    await table.happens(50, age=LONG_AGO)
    await table.happens(300, age=timedelta(seconds=5))
    await spectator.knows(table)
    async with asyncpg.create_pool(spectator.settings.database_url, min_size=1) as pool:
        store = Store(pool, timedelta(seconds=30))
        opening = await store.open(table.table_id)
        assert opening.newest_due is not None
        assert opening.newest_due.version == 50
        due, until = await store.due_after({table.table_id: opening.newest_due})
        assert due == []
        assert until >= opening.until
        due, _ = await store.due_after({table.table_id: None})
        assert [change.version for change in due] == list(range(1, 51))
    await spectator.app.stop()
