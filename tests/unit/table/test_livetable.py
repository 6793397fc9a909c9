"""A table in memory that is given away: its streams end in any case."""

from __future__ import annotations

import asyncio

import pytest

from cardroom.contracts.table.v1.table_pb2 import PlayResponse
from cardroom.table.errors import TableMoving
from cardroom.table.feed import PlayStream
from cardroom.table.livetable import LiveTable
from tests.unit.table.driver import Driver, player_id


@pytest.fixture
def live() -> LiveTable:
    made = LiveTable("t", 1, 1)
    made.loaded(Driver(1000, 1000).state)
    return made


async def stream_of(live: LiveTable, got: list[PlayResponse]) -> asyncio.Task[None]:
    """A stream that has begun."""

    async def write(message: bytes) -> None:
        got.append(PlayResponse.FromString(message))

    stream = PlayStream(player_id(1))
    live.feed.streams.append(stream)
    assert live.state is not None
    state = live.state
    task = asyncio.create_task(stream.run(live.feed, lambda: state, write))
    await asyncio.sleep(0)
    assert len(got) == 1
    return task


async def test_what_runs_is_waited_for_before_the_streams_end(live: LiveTable) -> None:
    stream = await stream_of(live, [])
    await live.take_turn()
    draining = asyncio.create_task(live.drain())
    await asyncio.sleep(0)
    assert not stream.done()
    live.end_turn()
    await draining
    with pytest.raises(TableMoving):
        await stream


async def test_streams_end_although_what_runs_does_not(live: LiveTable) -> None:
    stream = await stream_of(live, [])
    await live.take_turn()  # a commit that the database never answers
    draining = asyncio.create_task(live.drain())
    await asyncio.sleep(0)
    draining.cancel()  # the lease keeper waits no longer
    with pytest.raises(TableMoving):
        async with asyncio.timeout(1):
            await stream
