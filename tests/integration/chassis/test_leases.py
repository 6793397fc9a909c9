"""Leases against a real database: shares, hand-over, expiry, fencing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from cardroom.chassis import leases
from cardroom.chassis._lease_store import LeaseStore
from cardroom.chassis.errors import LeaseLost
from cardroom.chassis.leases import HANDOVER_BATCH, LeaseKeeper, check_epochs

pytestmark = pytest.mark.slow
Until = Callable[..., Awaitable[None]]
Make = Callable[..., Awaitable["Runner"]]


class Runner:
    """A keeper with a record of its callbacks."""

    def __init__(self, pool: asyncpg.Pool, name: str, **options: Any) -> None:
        self.events: list[tuple[str, int]] = []
        self.keeper = LeaseKeeper(pool, name, f"{name}:7101", on_gained=self.gained, on_losing=self.losing, **options)

    async def gained(self, shard: int, _epoch: int) -> None:
        self.events.append(("gained", shard))

    async def losing(self, shard: int) -> None:
        self.events.append(("losing", shard))

    def settled(self) -> bool:
        """Whether this runner owns just what it should."""
        assert self.keeper._runner is not None
        return self.shards() == self.keeper._shares.of(self.keeper._runner, self.keeper._board)

    def shards(self) -> set[int]:
        return set(self.keeper.owned())


@pytest.fixture
async def make(pool: asyncpg.Pool) -> AsyncIterator[Make]:
    made: list[Runner] = []

    async def start(name: str, **options: Any) -> Runner:
        runner = Runner(pool, name, **options)
        made.append(runner)
        await runner.keeper.start()
        return runner

    yield start
    for runner in made:
        await runner.keeper.stop()


async def test_a_lone_runner_owns_every_shard(make: Make, until: Until) -> None:
    one = await make("one")
    await until(lambda: len(one.events) == 256)
    assert one.shards() == set(range(256))
    assert one.keeper.ready
    assert one.keeper.owner_of(7) == ("one:7101", 1)


async def test_two_runners_share_evenly_without_waiting_for_a_lease_to_run_out(make: Make, until: Until) -> None:
    one = await make("one", ttl=60, renew=1)
    await until(lambda: len(one.shards()) == 256)
    two = await make("two", ttl=60, renew=1)
    await until(lambda: len(two.shards()) > 90 and len(one.shards() | two.shards()) == 256 and one.settled(), 20)
    assert not one.shards() & two.shards()
    given = {shard for what, shard in one.events if what == "losing"}
    assert given == two.shards(), "only the heir's share moved, and each shard was wound down first"


async def test_runners_that_start_together_end_with_disjoint_shares(make: Make, until: Until) -> None:
    runners = await asyncio.gather(*(make(f"runner-{number}") for number in range(3)))

    def settled() -> bool:
        owned = [shard for runner in runners for shard in runner.shards()]
        return len(owned) == 256 == len(set(owned)) and all(len(runner.shards()) > 50 for runner in runners)

    await until(settled, 20)
    await until(lambda: len({runner.keeper.owner_of(3) for runner in runners}) == 1, 20)


async def test_a_runner_that_stops_hands_over_without_waiting_for_its_lease_to_run_out(
    make: Make, until: Until
) -> None:
    one, two = await make("one", ttl=60, renew=1), await make("two", ttl=60, renew=1)
    await until(lambda: len(one.shards()) > 90 and len(two.shards()) > 90 and len(one.shards() | two.shards()) == 256)
    await one.keeper.drain()
    await until(lambda: len(two.shards()) == 256, 20)
    assert one.shards() == set()


async def test_shards_of_a_dead_runner_are_taken_once_its_lease_has_run_out(
    pool: asyncpg.Pool, make: Make, until: Until
) -> None:
    one, two = await make("one", ttl=1.5, renew=0.3), await make("two", ttl=1.5, renew=0.3)
    await until(lambda: len(one.shards()) > 90 and len(two.shards()) > 90 and len(one.shards() | two.shards()) == 256)
    kill(one.keeper)
    before = one.shards()
    await until(lambda: not one.shards(), 20)
    await until(lambda: len(two.shards()) == 256, 20)
    epochs = await pool.fetch("SELECT shard, epoch FROM leases")
    raised = {row["shard"] for row in epochs if row["epoch"] >= 2}
    assert before <= raised


async def test_a_stalled_owner_that_wakes_neither_believes_nor_writes(
    pool: asyncpg.Pool, make: Make, until: Until
) -> None:
    one = await make("one", ttl=1.5, renew=0.3)
    await until(lambda: len(one.shards()) == 256)
    epoch = one.keeper.epoch(5)
    assert epoch is not None
    kill(one.keeper)
    two = await make("two", ttl=1.5, renew=0.3)
    await until(lambda: len(two.shards()) == 256, 5)
    assert one.keeper.epoch(5) is None
    async with pool.acquire() as conn, conn.transaction():
        with pytest.raises(LeaseLost) as lost:
            await check_epochs(conn, {5: epoch, 6: epoch})
    assert lost.value.shards == (5, 6)


async def test_a_runner_taken_for_dead_comes_back_as_another(pool: asyncpg.Pool, make: Make, until: Until) -> None:
    one = await make("one")
    await until(lambda: len(one.events) == 256)
    await pool.execute("DELETE FROM runners")
    await until(lambda: len(one.events) == 256 * 3, 5)
    assert one.shards() == set(range(256))
    assert {one.keeper.epoch(shard) for shard in range(256)} == {2}


async def test_check_epochs_passes_what_is_owned_and_names_what_moved(
    pool: asyncpg.Pool, make: Make, until: Until
) -> None:
    one = await make("one")
    await until(lambda: len(one.shards()) == 256)
    async with pool.acquire() as conn, conn.transaction():
        await check_epochs(conn, one.keeper.owned())
        with pytest.raises(LeaseLost) as lost:
            await check_epochs(conn, {1: 1, 2: 9, 3: 1, 999: 1})
    assert lost.value.shards == (2, 999)


async def test_a_takeover_waits_for_a_fenced_transaction(pool: asyncpg.Pool, make: Make, until: Until) -> None:
    one = await make("one", ttl=1.5, renew=0.3)
    await until(lambda: len(one.shards()) == 256)
    async with pool.acquire() as conn, conn.transaction():
        await check_epochs(conn, {5: 1})
        kill(one.keeper)
        two = await make("two", ttl=1.5, renew=0.3)
        deadline = time.monotonic() + 5
        while len(two.shards()) < 255 and time.monotonic() < deadline:
            # Keeps the transaction from counting as idle.
            await conn.fetchval("SELECT 1")
            await asyncio.sleep(0.05)
        assert two.shards() == set(range(256)) - {5}
    await until(lambda: len(two.shards()) == 256, 2)


async def test_a_stalled_transaction_does_not_keep_its_shard_for_ever(
    pool: asyncpg.Pool, make: Make, until: Until
) -> None:
    one = await make("one", ttl=1.5, renew=0.3)
    await until(lambda: len(one.shards()) == 256)
    async with pool.acquire() as conn:
        await conn.execute("BEGIN")
        await check_epochs(conn, {5: 1})
        kill(one.keeper)
        two = await make("two", ttl=1.5, renew=0.3)
        await until(lambda: len(two.shards()) == 256, 6)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await conn.execute("COMMIT")


async def test_an_owner_whose_database_comes_back_in_time_goes_on(pool: asyncpg.Pool, make: Make, until: Until) -> None:
    one = await make("one")
    await until(lambda: len(one.events) == 256)
    await pool.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await until(lambda: one.keeper.ready)
    await one.keeper.refresh()
    assert len(one.events) == 256, "nothing was lost, so nothing was told"
    assert one.keeper.epoch(9) == 1


async def test_a_callback_that_fails_is_tried_again(pool: asyncpg.Pool, until: Until) -> None:
    tries: list[int] = []

    async def gained(shard: int, _epoch: int) -> None:
        tries.append(shard)
        if len(tries) == 1:
            raise RuntimeError("the table could not be read")

    keeper = LeaseKeeper(pool, "one", "one:1", shards=1, on_gained=gained)
    await keeper.start()
    await until(lambda: len(tries) == 2)
    await keeper.stop()


async def test_who_leaves_goes_on_with_the_shards_whose_turn_has_not_come(pool: asyncpg.Pool, until: Until) -> None:
    winding_down: set[int] = set()
    go_on = asyncio.Event()

    async def losing(shard: int) -> None:
        winding_down.add(shard)
        await go_on.wait()

    keeper = LeaseKeeper(pool, "one", "one:1", on_losing=losing)
    await keeper.start()
    await until(lambda: len(keeper.owned()) == 256)
    draining = asyncio.create_task(keeper.drain())
    await until(lambda: len(winding_down) == HANDOVER_BATCH)
    await asyncio.sleep(0.2)
    assert len(winding_down) == HANDOVER_BATCH, "the others have to wait"
    assert len(keeper.owned()) == 256
    go_on.set()
    await draining
    assert (len(winding_down), keeper.owned()) == (256, {})
    await keeper.stop()


async def heir(pool: asyncpg.Pool) -> LeaseStore:
    """A runner that lives, and takes shards only when the test says so."""
    store = LeaseStore(pool, "heir#1")  # type: ignore[arg-type]  # a pool has the same methods
    await store.register("heir:1", 600)
    await store.tell()
    return store


async def free(pool: asyncpg.Pool) -> list[int]:
    """The shards that nobody owns."""
    return [row["shard"] for row in await pool.fetch("SELECT shard FROM leases WHERE owner IS NULL ORDER BY shard")]


async def test_the_next_shards_wait_until_the_last_have_an_owner(
    pool: asyncpg.Pool, make: Make, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEIR_SECONDS", 600)
    one = await make("one")
    await until(lambda: len(one.shards()) == 256)
    slow = await heir(pool)
    for moved in (HANDOVER_BATCH, 2 * HANDOVER_BATCH):
        await until(lambda moved=moved: len(one.shards()) == 256 - moved)
        for _ in range(3):
            await one.keeper.refresh()
        assert len([what for what, _ in one.events if what == "losing"]) == moved, "those play on meanwhile"
        await slow.claim(await free(pool))
        await slow.tell()
    await until(lambda: len(one.shards()) < 256 - 2 * HANDOVER_BATCH)


async def test_who_leaves_does_not_wait_for_an_heir_that_takes_nothing(
    pool: asyncpg.Pool, make: Make, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEIR_SECONDS", 600)
    monkeypatch.setattr(leases, "HURRY_SECONDS", 1.0)
    one = await make("one", ttl=60, renew=0.2)
    await until(lambda: len(one.shards()) == 256)
    await heir(pool)
    await one.keeper.drain()
    await until(lambda: not one.shards())
    assert len(await free(pool)) == 256


async def test_a_death_is_noticed_when_the_lease_runs_out_and_not_at_the_next_renewal(
    pool: asyncpg.Pool, make: Make, until: Until
) -> None:
    dead = LeaseStore(pool, "dead#1")  # type: ignore[arg-type]  # a pool has the same methods
    await dead.register("dead:1", 2.0)
    assert len(await dead.claim(range(256))) == 256
    one = await make("one", ttl=600, renew=200)
    await until(lambda: len(one.shards()) == 256)


def kill(keeper: LeaseKeeper) -> None:
    """Stop renewing, as a killed or stalled process does; nothing is released."""
    assert keeper._task is not None
    keeper._task.cancel()
    keeper._task = None
