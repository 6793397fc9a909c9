"""The ops port: /metrics for Prometheus, /healthz (the process lives) and /readyz (send it work)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from cardroom.chassis import logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

log = logs.get("ops")


class OpsServer:
    """A small HTTP server. `not_ready` returns the names of the parts that are not ready, empty when all are."""

    def __init__(self, host: str, port: int, not_ready: Callable[[], list[str]]) -> None:
        self._host = host
        self._wanted_port = port
        self._not_ready = not_ready
        self._app = web.Application()
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.route("/metrics", _metrics)
        self.route("/healthz", _healthz)
        self.route("/readyz", self._readyz)

    def route(self, path: str, handler: Handler) -> None:
        """Serve GET `path` with `handler`. Only before `start`."""
        self._app.router.add_get(path, handler)

    async def start(self) -> None:
        """Bind the port and serve. Raises OSError when it is taken."""
        runner = web.AppRunner(self._app, access_log=None, handle_signals=False)
        await runner.setup()
        await web.TCPSite(runner, self._host, self._wanted_port, reuse_port=False).start()
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _readyz(self, _request: web.Request) -> web.Response:
        missing = self._not_ready()
        if missing:
            return web.Response(status=503, text=f"not ready: {', '.join(missing)}\n")
        return web.Response(text="ready\n")


async def _metrics(_request: web.Request) -> web.Response:
    return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _healthz(_request: web.Request) -> web.Response:
    return web.Response(text="alive\n")
