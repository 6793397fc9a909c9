"""Grouped commits: what waits goes together, and what fails does not take the others along."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from cardroom.chassis.errors import LeaseLost
from cardroom.table.committer import Committer
from cardroom.table.errors import OutcomeUnknown, WriteRefused
from cardroom.table.writes import Write


def write(name: str, shard: int = 1) -> Write:
    return Write(name, shard, 1, None, None, None, (), None, None)


class FakeDatabase:
    """Takes groups; holds them back while `gate` is closed; refuses what it is told to."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.groups: list[list[str]] = []
        self.lost: set[int] = set()
        self.refused: set[str] = set()
        self.fails: Exception | None = None
        self.closed = 0

    async def commit(self, writes: Sequence[Write]) -> None:
        self.groups.append([one.table_id for one in writes])
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        if lost := sorted({one.shard for one in writes} & self.lost):
            raise LeaseLost(lost)
        if {one.table_id for one in writes} & self.refused:
            raise WriteRefused("unique_violation")

    async def close(self) -> None:
        self.closed += 1


class Asked:
    """What became of the writes that were submitted."""

    def __init__(self, committer: Committer) -> None:
        self.committer = committer
        self.outcomes: dict[str, Exception | None] = {}

    def submit(self, *writes: Write) -> None:
        for one in writes:
            self.committer.submit(one, lambda error, name=one.table_id: self.outcomes.__setitem__(name, error))  # type: ignore[misc]

    async def all(self, count: int) -> None:
        async with asyncio.timeout(2):
            while len(self.outcomes) < count:  # noqa: ASYNC110 - every turn of the loop counts
                await asyncio.sleep(0)


@pytest.fixture
def database() -> FakeDatabase:
    return FakeDatabase()


@pytest.fixture
async def asked(database: FakeDatabase) -> AsyncIterator[Asked]:
    committer = Committer(lambda: database, lambda: None, lanes=1, group_max=3)
    await committer.start()
    await asyncio.sleep(0)
    yield Asked(committer)
    await committer.stop()


async def test_one_write_goes_at_once(asked: Asked, database: FakeDatabase) -> None:
    asked.submit(write("a"))
    await asked.all(1)
    assert database.groups == [["a"]]
    assert asked.outcomes == {"a": None}


async def test_what_came_during_a_commit_goes_together_in_the_next(asked: Asked, database: FakeDatabase) -> None:
    database.gate.clear()
    asked.submit(write("a"))
    await asyncio.sleep(0)
    asked.submit(write("b"), write("c"))
    database.gate.set()
    await asked.all(3)
    assert database.groups == [["a"], ["b", "c"]]


async def test_a_group_has_a_limit(asked: Asked, database: FakeDatabase) -> None:
    asked.submit(*[write(name) for name in "abcd"])
    await asked.all(4)
    assert database.groups == [["a", "b", "c"], ["d"]]


async def test_only_the_lost_shards_writes_fail_and_the_rest_goes_at_once(asked: Asked, database: FakeDatabase) -> None:
    database.lost = {7}
    asked.submit(write("a"), write("b", shard=7), write("c"))
    await asked.all(3)
    assert database.groups == [["a", "b", "c"], ["a", "c"]]
    assert isinstance(asked.outcomes["b"], LeaseLost)
    assert asked.outcomes["a"] is asked.outcomes["c"] is None


async def test_one_write_that_cannot_be_does_not_stop_the_others(asked: Asked, database: FakeDatabase) -> None:
    database.refused = {"b"}
    asked.submit(write("a"), write("b"), write("c"))
    await asked.all(3)
    assert database.groups == [["a", "b", "c"], ["a"], ["b"], ["c"]]
    assert isinstance(asked.outcomes["b"], WriteRefused)
    assert asked.outcomes["a"] is asked.outcomes["c"] is None


async def test_an_outcome_that_fails_keeps_nobody_waiting(database: FakeDatabase, asked: Asked) -> None:
    def fail(_: Exception | None) -> None:
        raise RuntimeError("unforeseen")

    asked.committer.submit(write("a"), fail)
    asked.submit(write("b"))
    await asked.all(1)
    asked.submit(write("c"))
    await asked.all(2)
    assert asked.outcomes == {"b": None, "c": None}


@pytest.mark.parametrize("failure", [OutcomeUnknown("gone"), RuntimeError("unforeseen")])
async def test_an_unknown_outcome_is_told_to_the_whole_group(
    asked: Asked, database: FakeDatabase, failure: Exception
) -> None:
    database.fails = failure
    asked.submit(write("a"), write("b"))
    await asked.all(2)
    assert all(isinstance(error, OutcomeUnknown) for error in asked.outcomes.values())
    database.fails = None
    asked.outcomes.clear()
    asked.submit(write("c"))
    await asked.all(1)
    assert asked.outcomes == {"c": None}


async def test_two_lanes_commit_at_the_same_time(database: FakeDatabase) -> None:
    committer = Committer(lambda: database, lambda: None, lanes=2)
    asked = Asked(committer)
    await committer.start()
    await asyncio.sleep(0)
    database.gate.clear()
    asked.submit(write("a"))
    await asyncio.sleep(0)
    asked.submit(write("b"))
    await asyncio.sleep(0)
    assert database.groups == [["a"], ["b"]]
    database.gate.set()
    await committer.stop()
    assert asked.outcomes == {"a": None, "b": None}
    assert database.closed == 2


async def test_a_stop_commits_what_is_pending(database: FakeDatabase) -> None:
    committer = Committer(lambda: database, lambda: None, lanes=1)
    asked = Asked(committer)
    await committer.start()
    asked.submit(write("a"), write("b"))
    await committer.stop()
    assert asked.outcomes == {"a": None, "b": None}


async def test_the_relay_is_woken_after_a_commit_only(database: FakeDatabase) -> None:
    woken: list[int] = []
    committer = Committer(lambda: database, lambda: woken.append(1), lanes=1)
    asked = Asked(committer)
    await committer.start()
    database.fails = OutcomeUnknown("gone")
    asked.submit(write("a"))
    await asked.all(1)
    assert not woken
    database.fails = None
    asked.submit(write("b"))
    await committer.stop()
    assert woken == [1]
