"""Errands: one task per row in a process, shared by everybody who waits; no claim is ever dropped."""

from __future__ import annotations

import asyncio

from cardroom.lobby.errands import Errands


class Rows:
    """Rows with work left, each claimed once until it is `put` again."""

    def __init__(self, *keys: str) -> None:
        self.free = list(keys)
        self.elsewhere: list[str] = []

    async def claim(self, key: str) -> str | None:
        if key not in self.free:
            return None
        self.free.remove(key)
        return key

    async def claim_due(self, limit: int) -> list[str]:
        due, self.free = self.free[:limit], self.free[limit:]
        return due

    async def is_claimed(self, key: str) -> bool:
        return key in self.elsewhere


class Work:
    """Work that goes on when it is told to."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.go = asyncio.Event()
        self.ended: asyncio.Queue[str] = asyncio.Queue()

    async def advance(self, key: str) -> None:
        await self.go.wait()
        self.done.append(key)
        self.ended.put_nowait(key)


async def test_what_is_due_is_found_at_the_start_and_after_a_wake() -> None:
    rows, work = Rows("a", "b"), Work()
    work.go.set()
    errands: Errands[str] = Errands("test", rows, str, work.advance)
    await errands.start()
    assert {await work.ended.get(), await work.ended.get()} == {"a", "b"}
    rows.free.append("c")
    errands.wake()
    assert await asyncio.wait_for(work.ended.get(), 0.9) == "c"
    await errands.stop()


async def test_everybody_who_waits_for_a_row_waits_for_the_same_work() -> None:
    rows, work = Rows("a"), Work()
    errands: Errands[str] = Errands("test", rows, str, work.advance)
    waiting = [asyncio.create_task(errands.run("a", 5)) for _ in range(3)]
    await asyncio.sleep(0)
    work.go.set()
    await asyncio.gather(*waiting)
    assert work.done == ["a"]


async def test_a_caller_who_loses_patience_does_not_stop_the_work() -> None:
    work = Work()
    errands: Errands[str] = Errands("test", Rows("a"), str, work.advance)
    await errands.run("a", 0.001)
    work.go.set()
    await errands.stop()
    assert work.done == ["a"]


async def test_a_claim_taken_while_the_work_on_the_row_is_ending_is_worked_on_next() -> None:
    work = Work()
    errands: Errands[str] = Errands("test", Rows(), str, work.advance)
    running = errands.begin("a")
    await asyncio.sleep(0)
    assert errands.begin("a") is running
    work.go.set()
    await running
    assert work.done == ["a", "a"]


async def test_work_that_fails_takes_nothing_else_with_it() -> None:
    async def advance(key: str) -> None:
        raise RuntimeError(key)

    errands: Errands[str] = Errands("test", Rows("a"), str, advance)
    await errands.run("a", 5)
    await errands.run("a", 5)


async def test_a_row_that_another_replica_works_on_is_waited_for_and_taken_over() -> None:
    rows, work = Rows(), Work()
    work.go.set()
    rows.elsewhere.append("a")
    errands: Errands[str] = Errands("test", rows, str, work.advance)
    waiting = asyncio.create_task(errands.run("a", 5))
    await asyncio.sleep(0)
    assert not waiting.done()
    rows.free.append("a")
    await waiting
    assert work.done == ["a"]
