"""A service's process: one that knows whether it is ready and can be restarted in place."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping

from cardroom.local.errors import StartFailed
from cardroom.local.plan import Place
from cardroom.local.processes import Process
from cardroom.local.runs import Run

_READY_SECONDS = 120.0


class Service(Process):
    """`python -m cardroom.<service>` with its ports."""

    def __init__(self, place: Place, *, run: Run, env: Mapping[str, str]) -> None:
        """Describe it; nothing starts yet."""
        super().__init__(place.name, [sys.executable, "-m", f"cardroom.{place.service}"], run=run, env=env)
        self.place = place

    async def ready(self) -> bool:
        """Whether it says that it is ready for work."""
        return await http_status(self.place.ops_port, "/readyz") == 200

    async def until_ready(self, seconds: float = _READY_SECONDS) -> None:
        """Wait until it is ready; `StartFailed` with the end of its log otherwise."""
        try:
            await self.until(self.ready, seconds)
        except StartFailed as error:
            raise StartFailed(f"{error}\nIts /readyz says: {await self._unready()}") from None

    async def _unready(self) -> str:
        try:
            return (await http_get(self.place.ops_port, "/readyz"))[1].strip()
        except OSError as error:
            return f"nothing ({error!r})"

    async def restart(self) -> None:
        """End it in order (or start it, if it was killed) and wait until it is ready again."""
        if self.running:
            await self.terminate()
        self.start()
        await self.until_ready()

    async def metrics(self) -> str:
        """What it shows Prometheus."""
        return (await http_get(self.place.ops_port, "/metrics"))[1]


async def http_get(port: int, path: str, seconds: float = 5.0) -> tuple[int, str]:
    """Status and body of a GET on this machine; `OSError` when nobody answers in time."""
    async with asyncio.timeout(seconds):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            answer = (await reader.read()).decode(errors="replace")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    status = head.split(" ", 2)
    if len(status) < 2 or not status[1].isdecimal():
        raise OSError(f"no HTTP answer on port {port}: {head[:80]!r}")
    return int(status[1]), body


async def http_status(port: int, path: str) -> int:
    """Status of a GET on this machine; 0 when nobody answers."""
    try:
        return (await http_get(port, path, seconds=2))[0]
    except OSError:  # TimeoutError is one
        return 0
