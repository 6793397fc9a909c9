"""Processes that tests start by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def running(*command: str, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process for a while, started as by `create_subprocess_exec`; afterwards it is gone, whatever happened."""
    process = await asyncio.create_subprocess_exec(*command, **options)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
