"""The callbacks of shards that come and go: in order for one shard, released only when all are wound down."""

from __future__ import annotations

import asyncio

import pytest

from cardroom.chassis import _shifts
from cardroom.chassis._shifts import Shifts


class Service:
    """Notes its callbacks; each waits until it is let go."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.go_on = asyncio.Event()
        self.mine: dict[int, int] = {}
        self.shifts = Shifts(self.gained, self.losing, self.mine)

    async def gained(self, shard: int, epoch: int) -> None:
        self.events.append(f"gaining {shard}")
        await self.go_on.wait()
        self.events.append(f"gained {shard} under {epoch}")

    async def losing(self, shard: int) -> None:
        self.events.append(f"losing {shard}")

    def own(self, shard: int, epoch: int) -> None:
        self.mine[shard] = epoch
        self.shifts.gained(shard, epoch)


async def steps() -> None:
    """Let everything that can run, run."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_shard_lost_while_it_is_brought_up_is_told_so_after_that_was_cancelled() -> None:
    service = Service()
    service.own(3, 1)
    await steps()
    del service.mine[3]
    service.shifts.lost(3)
    await steps()
    assert service.events == ["gaining 3", "losing 3"]


async def test_a_shard_that_comes_back_is_brought_up_after_its_loss_was_told() -> None:
    service = Service()
    service.go_on.set()
    service.own(3, 1)
    service.shifts.lost(3)
    service.own(3, 5)
    await steps()
    assert service.events == ["losing 3", "gaining 3", "gained 3 under 5"]


async def test_shards_are_released_when_all_of_the_batch_are_wound_down() -> None:
    service = Service()
    told = asyncio.Event()
    service.shifts.hand_over([1, 2], told.set)
    assert service.shifts.take_handed() == []
    await steps()
    assert told.is_set()
    assert service.shifts.take_handed() == [1, 2]
    assert service.shifts.take_handed() == [], "each once"


async def test_one_batch_is_handed_over_at_a_time() -> None:
    service = Service()
    service.shifts.hand_over([1], lambda: None)
    service.shifts.hand_over([2], lambda: None)
    await steps()
    assert service.shifts.take_handed() == [1]


async def test_a_shard_lost_while_it_is_handed_over_is_not_released() -> None:
    service = Service()
    service.shifts.hand_over([1, 2], lambda: None)
    service.shifts.lost(1)
    await steps()
    assert service.shifts.take_handed() == [2]
    assert service.events.count("losing 1") == 1


async def test_a_callback_that_hangs_does_not_keep_its_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shifts, "LOSING_SECONDS", 0.01)

    async def hang(_shard: int) -> None:
        await asyncio.Event().wait()

    shifts = Shifts(None, hang, {})
    told = asyncio.Event()
    shifts.hand_over([1], told.set)
    async with asyncio.timeout(2):
        await told.wait()
    assert shifts.take_handed() == [1]


async def test_few_callbacks_run_at_once() -> None:
    service = Service()
    for shard in range(100):
        service.own(shard, 1)
    await steps()
    assert len(service.events) == _shifts.AT_ONCE
    service.go_on.set()
    await service.shifts.close()
    assert len(service.events) == 200
