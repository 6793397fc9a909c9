"""Deadlocks, serialization errors and lost connections are tried again within a bound, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from cardroom.wallet import measures
from cardroom.wallet.api import replies
from cardroom.wallet.api.calls import translated
from cardroom.wallet.domain.commands import Instruction, MoveChips
from cardroom.wallet.domain.sources import Grant, OpenHouse
from cardroom.wallet.errors import PostingFailed
from cardroom.wallet.posting import TRIES_MAX, Poster, Request
from tests.integration.wallet.running import Wallet, new_id


class FailingPool:
    """A pool whose first `times` connections are refused with an error of the database."""

    def __init__(self, pool: Any, error: type[Exception], times: int) -> None:
        self.pool, self.error, self.times = pool, error, times

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Any]:
        """A connection, or the error."""
        if self.times:
            self.times -= 1
            raise self.error("made by the test")
        async with self.pool.acquire() as connection:
            yield connection


@asynccontextmanager
async def posting(pool: Any, lanes: int = 1) -> AsyncIterator[Poster]:
    """A poster of the test's own."""
    poster = Poster(pool, batch_max=50, waiting_max=500, lanes=lanes)
    await poster.start()
    yield poster
    await poster.stop()


def counted(error: type[Exception]) -> float:
    """How many retries of this cause the metric has seen."""
    return float(measures.RETRIES.labels(error.__name__)._value.get())


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.DeadlockDetectedError,
        asyncpg.SerializationError,
        asyncpg.UniqueViolationError,
        asyncpg.ConnectionDoesNotExistError,
        ConnectionResetError,
    ],
)
async def test_what_passes_is_tried_again_and_counted(wallet: Wallet, house: str, error: type[Exception]) -> None:
    before = counted(error)
    async with posting(FailingPool(wallet.pool, error, 2)) as poster:
        await poster.post(Request(OpenHouse("test", house)))
    assert counted(error) - before == 2
    assert await wallet.available(house) == 0


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (asyncpg.DeadlockDetectedError, "TOO_MUCH_CONTENTION"),
        (asyncpg.ConnectionDoesNotExistError, "DATABASE_UNAVAILABLE"),
        (ConnectionRefusedError, "DATABASE_UNAVAILABLE"),
    ],
)
async def test_the_tries_are_bounded_and_the_caller_is_told_what_was_in_the_way(
    wallet: Wallet, house: str, error: type[Exception], reason: str
) -> None:
    pool = FailingPool(wallet.pool, error, 1_000)
    async with posting(pool) as poster:
        with pytest.raises(PostingFailed) as raised:
            await poster.post(Request(OpenHouse("test", house)))
    assert 1_000 - pool.times == TRIES_MAX
    assert translated(raised.value).reason == reason


async def test_one_request_that_the_database_refuses_harms_no_other_of_its_batch(wallet: Wallet, house: str) -> None:
    async with posting(wallet.pool) as poster:
        await poster.post(Request(OpenHouse("test", house)))
        good = [Request(Grant("test", house, 10, "good"), "g", new_id(), b"1", replies.granted) for _ in range(3)]
        bad = Request(Grant("test", house, 10, "x" * 300), "g", new_id(), b"1", replies.granted)
        posts = [poster.post(it) for it in (good[0], bad, *good[1:])]
        answers = await asyncio.gather(*posts, return_exceptions=True)
    assert [isinstance(it, asyncpg.CheckViolationError) for it in answers] == [False, True, False, False]
    assert await wallet.available(house) == 30


async def until_a_lock_is_waited_for(wallet: Wallet) -> None:
    """Wait until a session of this database waits for a lock."""
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while not await wallet.pool.fetchval(waiting):  # noqa: ASYNC110 - the database is where to look
        await asyncio.sleep(0.01)


async def test_a_repeat_that_waited_for_its_account_finds_what_was_answered_meanwhile(
    wallet: Wallet, house: str
) -> None:
    before = counted(asyncpg.UniqueViolationError)
    key = new_id()
    async with posting(wallet.pool) as poster, wallet.pool.acquire() as other_replica:
        await poster.post(Request(OpenHouse("test", house)))
        async with other_replica.transaction():
            await other_replica.execute("select 1 from accounts where name = $1 for update", house)
            repeat = Request(Grant("test", house, 10, "twice"), "grant", key, b"1", replies.granted)
            waiting = asyncio.create_task(poster.post(repeat))
            await until_a_lock_is_waited_for(wallet)
            answered = "insert into requests values ('test', $1, 'grant', $2, false, $3, 0, 0)"
            await other_replica.execute(answered, key, b"1", b"first reply")
        assert await waiting == b"first reply"
    assert counted(asyncpg.UniqueViolationError) == before
    assert await wallet.available(house) == 0


async def test_a_real_deadlock_with_a_stranger_is_survived(wallet: Wallet, house: str) -> None:
    other = house.replace("/play", "-b/play")
    async with posting(wallet.pool) as poster, wallet.pool.acquire() as stranger:
        for name in (house, other):
            await poster.post(Request(OpenHouse("test", name)))
        await poster.post(Request(Grant("test", house, 100, "start")))
        lock = "select 1 from accounts where name = $1 for update"
        async with stranger.transaction():
            # The wrong way round: the second account first.
            await stranger.execute(lock, other)
            move = MoveChips("test", [Instruction(house, other, 40, "")])
            moving = asyncio.create_task(poster.post(Request(move, "move", new_id(), b"1", replies.moved_one)))
            await until_a_lock_is_waited_for(wallet)
            try:
                await stranger.execute(lock, house)
            except asyncpg.DeadlockDetectedError:
                await stranger.execute("rollback")
        await moving
    assert await wallet.available(other) == 40
