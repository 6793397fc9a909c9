"""The line is worked on once, however many ask for it at that moment."""

from __future__ import annotations

import asyncio
from typing import Any

from cardroom.lobby.waiting import WaitingLists


class Line:
    """A store in which each look takes until it is let go."""

    def __init__(self) -> None:
        self.looks = 0
        self.going_on = asyncio.Event()
        self.error: Exception | None = None

    async def judge(self) -> list[Any]:
        self.looks += 1
        await self.going_on.wait()
        if self.error is not None:
            raise self.error
        return []

    async def keep_seats(self) -> list[Any]:
        return []


async def asked(lists: WaitingLists, times: int) -> list[asyncio.Task[None]]:
    """So many who want the line served, all at once."""
    tasks = [asyncio.ensure_future(lists.serve()) for _ in range(times)]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


async def test_a_hundred_who_ask_while_the_line_is_served_share_the_next_run() -> None:
    line = Line()
    lists = WaitingLists(line, frozenset({1}))  # type: ignore[arg-type]
    first = await asked(lists, 1)
    rest = await asked(lists, 100)
    assert line.looks == 1
    line.going_on.set()
    await asyncio.gather(*first, *rest)
    assert line.looks == 2, "what they have just written may not have been there yet for the first run"


async def test_who_gives_up_while_the_line_is_served_leaves_it_to_the_next_who_asked() -> None:
    line = Line()
    lists = WaitingLists(line, frozenset({1}))  # type: ignore[arg-type]
    (first,) = await asked(lists, 1)
    rest = await asked(lists, 3)
    first.cancel()
    line.going_on.set()
    await asyncio.gather(*rest)
    assert line.looks == 2


async def test_a_run_that_fails_fails_for_all_who_counted_on_it_and_the_next_is_tried_again() -> None:
    line = Line()
    lists = WaitingLists(line, frozenset({1}))  # type: ignore[arg-type]
    line.error = OSError("the database is away")
    line.going_on.set()
    for outcome in await asyncio.gather(lists.serve(), lists.serve(), return_exceptions=True):
        assert isinstance(outcome, OSError)
    line.error = None
    await lists.serve()
