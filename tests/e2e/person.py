"""A person at a terminal: `cardroom play --plain`, driven through pipes."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

LINE_SECONDS = 80.0
"""Longer than the longest turn, 20 s and a time bank of 30 s, of another player."""
CARDROOM = str(Path(sys.executable).with_name("cardroom"))


class Person:
    """One `cardroom play --plain`, with what it said and what is answered."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def hears(self, *parts: str) -> str:
        """The next line that holds one of the parts."""
        assert self.process.stdout is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINE_SECONDS):
                while line := (await self.process.stdout.readline()).decode():
                    self.said.append(line)
                    if any(part in line for part in parts):
                        return line
        pytest.fail(f"{parts} were never said; what was said:\n{''.join(self.said)}")

    def types(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())

    async def ends(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), LINE_SECONDS)


StartPerson = Callable[..., Awaitable[Person]]
