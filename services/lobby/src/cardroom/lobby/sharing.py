"""Work that many ask for at once and one does for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable


class Shared:
    """A piece of work whose run counts for everybody who asked before it began. One run at a time."""

    def __init__(
        self,
        work: Callable[[], Awaitable[None]],
        *,
        apart_seconds: float = 0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin runs at least `apart_seconds` apart."""
        self.apart_seconds = apart_seconds
        """How far apart runs begin, at least. May be changed."""
        self._work = work
        self._now = now
        self._one_at_a_time = asyncio.Lock()
        self._begun = self._ended = 0
        self._begun_at: float | None = None
        self._error: Exception | None = None

    async def __call__(self) -> None:
        """Return after a run that began after this call. Raises what it raised."""
        first_that_counts = self._begun + 1
        async with self._one_at_a_time:
            # Who was cancelled on the way has ended no run.
            if self._ended < first_that_counts:
                await self._run()
            if self._error is not None:
                raise self._error

    async def _run(self) -> None:
        if self._begun_at is not None and (left := self._begun_at + self.apart_seconds - self._now()) > 0:
            await asyncio.sleep(left)
        self._begun += 1
        number, self._begun_at = self._begun, self._now()
        error = None
        try:
            await self._work()
        except Exception as raised:
            error = raised
        self._ended, self._error = number, error
