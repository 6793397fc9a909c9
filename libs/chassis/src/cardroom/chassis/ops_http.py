"""The ops port: /metrics for Prometheus, /healthz (the process lives) and /readyz (send it work)."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp import web


@dataclass(frozen=True, slots=True)
class Page:
    """An answer."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/plain; charset=utf-8"})


class OpsServer:
    """A small HTTP server. `not_ready` returns the names of the parts that are not ready, empty when all are."""

    def __init__(self, host: str, port: int, not_ready: Callable[[], list[str]]) -> None:
        self._host = host
        self._wanted_port = port
        self._not_ready = not_ready
        self._pages: dict[str, Callable[[], Page]] = {}
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.page("/metrics", _metrics)
        self.page("/healthz", lambda: Page(b"alive\n"))
        self.page("/readyz", self._readyz)

    def page(self, path: str, make: Callable[[], Page]) -> None:
        """Answer GET `path` with what `make` makes. Only before `start`."""
        self._pages[path] = make

    async def start(self) -> None:
        """Bind the port and serve. Raises OSError when it is taken."""
        # In a thread: it takes longer to load than all that a service needs to begin its work.
        await asyncio.to_thread(importlib.import_module, "aiohttp.web")
        from aiohttp import web  # noqa: PLC0415 - slow import

        site = web.Application()
        for path, make in self._pages.items():
            site.router.add_get(path, _handler(make))
        self._runner = runner = web.AppRunner(site, access_log=None, handle_signals=False)
        await runner.setup()
        await web.TCPSite(runner, self._host, self._wanted_port, reuse_port=False).start()
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def _readyz(self) -> Page:
        missing = self._not_ready()
        if missing:
            return Page(f"not ready: {', '.join(missing)}\n".encode(), status=503)
        return Page(b"ready\n")


def _handler(make: Callable[[], Page]) -> Callable[[web.Request], Awaitable[web.Response]]:
    from aiohttp import web  # noqa: PLC0415 - slow import

    async def answer(_: web.Request) -> web.Response:
        page = make()
        return web.Response(status=page.status, body=page.body, headers=page.headers)

    return answer


def _metrics() -> Page:
    return Page(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})
