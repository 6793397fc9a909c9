"""The crowd's process as the soak sees it: started, listened to, sent home, and ended in any case."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from types import TracebackType
from typing import Any, Self

from cardroom.local import Stack

_LINE_BYTES_MAX = 16 * 1024 * 1024
_HOME_SECONDS = 300.0
_PASSED_ON = ("tables", "players", "drop_seconds", "seed")


class Crew:
    """A running crowd."""

    def __init__(self, stack: Stack, options: argparse.Namespace) -> None:
        self._stack = stack
        self._options = options
        self._process: Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._last: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.now: dict[str, Any] = {"guests": 0, "seated": 0, "up": 0, "quiet": [], "failures": {}}
        """What it said last."""

    async def __aenter__(self) -> Self:
        """Start it: it opens the tables and fills them."""
        name, secret = self._stack.client_credentials("operator")
        orders = ["--edge", self._stack.edge_grpc, "--operator", name, "--think", *map(str, self._options.think)]
        for option in _PASSED_ON:
            orders += [f"--{option.replace('_', '-')}", str(getattr(self._options, option))]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.soak.crowd", *orders, stdin=PIPE, stdout=PIPE, limit=_LINE_BYTES_MAX
        )
        self._order(secret)
        self._listening = asyncio.create_task(self._listen(self._process))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        assert self._process is not None
        assert self._listening is not None
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._last.cancel()

    async def until_seated(self, part: float, seconds: float) -> None:
        """Wait until that part of the guests has a seat."""
        async with asyncio.timeout(seconds):
            while self.now["seated"] < part * self._options.players:
                if self._last.done():
                    await self._last
                await asyncio.sleep(0.2)

    async def go_home(self) -> dict[str, Any]:
        """Send everybody home; what it says at the end."""
        self._order("home")
        async with asyncio.timeout(_HOME_SECONDS):
            return await self._last

    def _order(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self.now = json.loads(line)
            if self.now.get("is_last") and not self._last.done():
                self._last.set_result(self.now)
        if not self._last.done():
            self._last.set_exception(RuntimeError(f"the crowd ended with {await process.wait()}"))
