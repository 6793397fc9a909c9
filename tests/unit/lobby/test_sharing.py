"""One run for all who asked before it began."""

from __future__ import annotations

import asyncio

import pytest

from cardroom.lobby.sharing import Shared


class Work:
    """Counts its runs; waits at a gate in each."""

    def __init__(self) -> None:
        self.runs = 0
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> None:
        self.runs += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_those_who_ask_while_it_runs_share_the_next_run() -> None:
    work = Work()
    shared = Shared(work)
    early = asyncio.create_task(shared())
    await settled()
    late = [asyncio.create_task(shared()) for _ in range(20)]
    await settled()
    assert work.runs == 1
    work.gate.set()
    await asyncio.gather(early, *late)
    assert work.runs == 2


async def test_those_who_share_a_run_share_its_failure_and_the_next_is_tried_anew() -> None:
    work = Work()
    shared = Shared(work)
    work.error = ConnectionError("down")
    asking = [asyncio.create_task(shared()) for _ in range(3)]
    await settled()
    work.gate.set()
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionError] * 3
    assert work.runs == 2, "the first, and one for those who asked when it had begun"
    work.error = None
    await shared()
    assert work.runs == 3


async def test_who_goes_away_in_the_middle_leaves_the_run_to_the_next() -> None:
    work = Work()
    shared = Shared(work)
    first = asyncio.create_task(shared())
    await settled()
    second = asyncio.create_task(shared())
    await settled()
    first.cancel()
    await settled()
    assert work.runs == 2
    work.gate.set()
    await second
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_runs_begin_apart() -> None:
    work, seconds = Work(), 100.0
    work.gate.set()
    shared = Shared(work, apart_seconds=0.02, now=lambda: seconds)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await shared()
    assert loop.time() - began < 0.02
    await shared()
    assert loop.time() - began >= 0.02
    seconds += 0.02
    began = loop.time()
    await shared()
    assert loop.time() - began < 0.02
