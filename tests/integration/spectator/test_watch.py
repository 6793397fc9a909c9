"""Rule 10.6: public tables can be watched 30 s behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest
from tests.integration.spectator.conftest import LONG_AGO, Spectator, Table

Start = Callable[..., Awaitable[Spectator]]


async def read(stream: Any, count: int) -> list[tuple[str, int]]:
    """The next messages that are no heartbeats: what they bring, and the version."""
    got: list[tuple[str, int]] = []
    async with asyncio.timeout(30):
        while len(got) < count:
            message = await stream.read()
            assert message, "the stream ended"
            kind = message.WhichOneof("content")
            if kind != "heartbeat":
                got.append((kind, message.version))
    return got


async def refusal(stream: Any) -> CardroomError:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stream.read()
    return from_rpc_error(raised.value)


async def test_10_6_a_watcher_sees_the_table_as_it_was_and_then_what_falls_due(
    spectator: Spectator, table: Table
) -> None:
    await table.happens(3, age=timedelta(seconds=40))
    await table.happens(2, age=timedelta(seconds=29))
    await table.happens(2, age=timedelta(seconds=5))
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    began = time.monotonic()
    assert await read(stream, 3) == [("snapshot", 3), ("change", 4), ("change", 5)]
    assert time.monotonic() - began < 10, "the last two are due 25 s later"
    stream.cancel()


async def test_10_6_nothing_is_sent_early(start_spectator: Start, table: Table) -> None:
    spectator = await start_spectator(delay_seconds_for_tests_only=0.7)
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 1)]
    for _ in range(3):
        await table.happens()
        message = await stream.read()
        behind = datetime.now(UTC) - message.occurred_at.ToDatetime(UTC)
        assert message.WhichOneof("content") == "change"
        assert timedelta(seconds=0.7) <= behind < timedelta(seconds=3)
    stream.cancel()
    await spectator.app.stop()


async def test_a_change_that_claims_to_be_older_than_its_predecessor_waits_for_it(
    spectator: Spectator, table: Table
) -> None:
    ages = {1: LONG_AGO, 2: timedelta(seconds=5), 3: LONG_AGO}
    for version in (3, 1, 2):
        await table.publish([table.message(version, ages[version])])
    table.version = 3
    await spectator.knows(table, count=3)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 1)]
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stream.read(), 0.3)
    stream.cancel()


async def test_a_clock_that_runs_ahead_holds_nothing_back_for_long(spectator: Spectator, table: Table) -> None:
    await table.happens(1, age=-timedelta(hours=1))
    await spectator.knows(table)
    ((is_past,),) = await spectator.query(
        "select happened_at <= statement_timestamp() from table_changes where table_id = $1", table.table_id
    )
    assert is_past


async def test_a_gap_brings_a_fresh_snapshot(spectator: Spectator, table: Table) -> None:
    await table.happens(2, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 2)]
    table.version = 5
    await table.happens(2, age=LONG_AGO)
    assert await read(stream, 2) == [("snapshot", 6), ("change", 7)]
    stream.cancel()


async def test_repeats_and_late_ones_are_not_shown_twice(spectator: Spectator, table: Table) -> None:
    await table.happens(2, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    assert await read(stream, 1) == [("snapshot", 2)]
    await table.publish([table.message(version, LONG_AGO) for version in (1, 2, 3, 3, 2, 4)])
    await table.publish([table.message(version, LONG_AGO) for version in (3, 4, 5)])
    assert await read(stream, 3) == [("change", 3), ("change", 4), ("change", 5)]
    stream.cancel()


async def test_a_change_carries_its_events_and_a_snapshot_the_view(spectator: Spectator, table: Table) -> None:
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    snapshot = await stream.read()
    assert (snapshot.snapshot.name, snapshot.snapshot.version) == ("Ash", 1)
    await table.happens(1, age=LONG_AGO)
    change = await stream.read()
    assert [event.stack_changed.stack for event in change.change.events] == [2]
    assert change.occurred_at.ToDatetime(UTC) < datetime.now(UTC) - timedelta(seconds=55)
    stream.cancel()


async def test_many_watchers_see_the_same(spectator: Spectator, table: Table) -> None:
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    streams = [spectator.watch(table.table_id) for _ in range(40)]
    assert await asyncio.gather(*(read(stream, 1) for stream in streams)) == [[("snapshot", 1)]] * 40
    await table.happens(3, age=LONG_AGO)
    expected = [[("change", version) for version in (2, 3, 4)]] * 40
    assert await asyncio.gather(*(read(stream, 3) for stream in streams)) == expected
    for stream in streams:
        stream.cancel()


async def test_signs_of_life_come_while_nothing_happens(start_spectator: Start, table: Table) -> None:
    spectator = await start_spectator(heartbeat_seconds=0.1)
    await table.happens(1, age=timedelta(seconds=2))
    await spectator.knows(table)
    stream = spectator.watch(table.table_id)
    message = await asyncio.wait_for(stream.read(), 30)
    assert (message.WhichOneof("content"), message.version) == ("heartbeat", 0)
    behind = datetime.now(UTC) - message.occurred_at.ToDatetime(UTC)
    assert timedelta(seconds=30) <= behind < timedelta(seconds=40)
    stream.cancel()
    await spectator.app.stop()


@pytest.mark.parametrize("table_id", ["2b8cdf0e-54a3-4f6c-8e0e-7a8b5d7f3c11", "table one", ""])
async def test_an_unknown_table_is_refused(spectator: Spectator, table_id: str) -> None:
    error = await refusal(spectator.watch(table_id))
    assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN")


async def test_a_player_may_watch_four_tables_at_once_however_often_they_ask(
    spectator: Spectator, table: Table
) -> None:
    await table.happens(1, age=LONG_AGO)
    await spectator.knows(table)
    streams = [spectator.watch(table.table_id, "ada") for _ in range(200)]
    outcomes = await asyncio.gather(*(stream.read() for stream in streams), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert len(streams) - len(refused) == 4
    assert {from_rpc_error(error).reason for error in refused} == {"TOO_MANY_STREAMS"}
    assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    for stream in streams:
        stream.cancel()
    await opens_again(spectator, table)


async def opens_again(spectator: Spectator, table: Table) -> None:
    """Wait until the server has seen that earlier streams are gone."""
    async with asyncio.timeout(30):
        while True:
            stream = spectator.watch(table.table_id, "ada")
            try:
                await stream.read()
            except grpc.aio.AioRpcError:
                await asyncio.sleep(0.02)
            else:
                stream.cancel()
                return


async def test_only_players_may_watch(spectator: Spectator, table: Table) -> None:
    token = spectator.issuer.token(sub="service:someone", scope="wallet.read")
    metadata = [("authorization", f"Bearer {token}")]
    error = await refusal(spectator.stub.Watch(WatchRequest(table_id=table.table_id), metadata=metadata))
    assert (error.code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_A_PLAYER")
