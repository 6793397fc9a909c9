"""A whole service as a process: start, readiness, stop, and everything that may go wrong at either end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

SERVICE = """
    import asyncio, pathlib, time
    from typing import ClassVar
    from cardroom.chassis import database
    from cardroom.chassis.service import App, run
    from cardroom.chassis.settings import ServiceSettings

    class DemoSettings(ServiceSettings):
        service: ClassVar[str] = "demo"
        grpc_port: int = 0
        hang_seconds: float = 0
        frozen_seconds: float = 0
        break_start: bool = False
        start_seconds: float = 0
        ready_file: str = "/"

    class Part:
        def __init__(self, name, settings):
            self.name, self.settings = name, settings
        @property
        def ready(self):
            return pathlib.Path(self.settings.ready_file).exists()
        async def start(self):
            await asyncio.sleep(self.settings.start_seconds)
            print("start", self.name, flush=True)
            if self.settings.break_start and self.name == "second":
                raise ValueError("cannot")
        async def drain(self):
            print("drain", self.name, flush=True)
        async def stop(self):
            print("stop", self.name, flush=True)
            if self.name == "second":
                await asyncio.sleep(self.settings.hang_seconds)
                time.sleep(self.settings.frozen_seconds)

    class Second(Part):
        pass

    async def build(settings):
        if settings.database_url:
            await database.migrate(settings.database_url, "demo", wait_seconds=settings.startup_seconds)
        app = App(settings)
        app.add(Part("first", settings))
        app.add(Second("second", settings))
        async def close():
            print("closed", flush=True)
        app.add_stop(close)
        async def sweep():
            print("swept", flush=True)
        app.add_task("sweeper", sweep)
        return app

    run(build, DemoSettings)
"""


class Process:
    """The service as a child process, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def until(self, text: str) -> str:
        """Read until a line with `text`; return it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            while line := (await self.process.stdout.readline()).decode():
                self.lines.append(line.strip())
                if text in line:
                    return line
        raise AssertionError(f"no {text!r} in {self.lines}")

    async def ended(self) -> int:
        """Wait for the end; return the exit code."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            rest = (await self.process.stdout.read()).decode()
            self.lines.extend(rest.splitlines())
            return await self.process.wait()

    @property
    def said(self) -> list[str]:
        """What the parts printed, without log lines."""
        return [line for line in self.lines if not line.startswith("{")]


@pytest.fixture
async def launch(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Process]]]:
    script = tmp_path / "demo.py"
    script.write_text(textwrap.dedent(SERVICE))
    made: list[Process] = []

    async def start(**settings: Any) -> Process:
        environment = {f"CARDROOM_DEMO_{name.upper()}": str(value) for name, value in settings.items()}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(script),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        made.append(Process(process))
        return made[-1]

    yield start
    for one in made:
        if one.process.returncode is None:
            one.process.kill()
            await one.process.wait()


async def get(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


async def test_parts_start_in_order_and_stop_in_reverse_with_exit_code_0(
    launch: Callable[..., Awaitable[Process]],
) -> None:
    process = await launch()
    await process.until('"event": "started"')
    await process.until("swept")
    process.process.send_signal(signal.SIGTERM)
    assert await process.ended() == 0
    said = [line for line in process.said if line != "swept"]
    assert said == [
        "start first",
        "start second",
        "drain first",
        "drain second",
        "closed",
        "stop second",
        "stop first",
    ]


async def test_who_is_told_to_stop_is_not_ready_but_serves_for_a_while(
    launch: Callable[..., Awaitable[Process]],
) -> None:
    process = await launch(linger_seconds=1)
    port = json.loads(await process.until('"event": "started"'))["ops_port"]
    process.process.send_signal(signal.SIGTERM)
    await process.until("drain second")
    drained = time.monotonic()
    status, text = await get(port, "/readyz")
    assert (status, "starting" in text) == (503, True)
    assert "closed" not in process.said
    await process.until("closed")
    assert time.monotonic() - drained > 0.8
    assert await process.ended() == 0


async def test_the_ops_port_tells_life_readiness_and_metrics(
    launch: Callable[..., Awaitable[Process]], tmp_path: Path
) -> None:
    process = await launch(ready_file=tmp_path / "ready")
    port = json.loads(await process.until('"event": "started"'))["ops_port"]
    assert await get(port, "/healthz") == (200, "alive\n")
    status, text = await get(port, "/readyz")
    assert (status, text) == (503, "not ready: Part, Second\n")
    (tmp_path / "ready").touch()
    assert await get(port, "/readyz") == (200, "ready\n")
    assert "process_cpu_seconds_total" in (await get(port, "/metrics"))[1]


async def test_a_part_that_hangs_does_not_keep_the_process(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(hang_seconds=60, stop_seconds=0.5, linger_seconds=0.1)
    await process.until('"event": "started"')
    process.process.send_signal(signal.SIGTERM)
    assert await process.ended() == 0
    assert "stop first" in process.said, "those after it are stopped all the same"
    assert any("did not stop in time" in line for line in process.lines)


async def test_a_stop_that_even_the_loop_hangs_in_is_cut_off(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(frozen_seconds=60, stop_seconds=0.5, linger_seconds=0.1)
    await process.until('"event": "started"')
    process.process.send_signal(signal.SIGTERM)
    assert await process.ended() == 1
    assert any("cut off" in line for line in process.lines)


async def test_a_second_signal_exits_at_once(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(hang_seconds=60)
    await process.until('"event": "started"')
    process.process.send_signal(signal.SIGINT)
    await process.until("stop second")
    process.process.send_signal(signal.SIGINT)
    async with asyncio.timeout(30):
        assert await process.ended() == 130


async def test_a_part_that_cannot_start_ends_the_process_with_1_after_the_others_stopped(
    launch: Callable[..., Awaitable[Process]],
) -> None:
    process = await launch(break_start=True)
    assert await process.ended() == 1
    assert process.said[-2:] == ["stop second", "stop first"]
    assert any("could not start" in line and "ValueError" in line for line in process.lines)


async def test_a_signal_during_the_start_stops_what_has_started(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(start_seconds=1)
    await process.until("start first")
    process.process.send_signal(signal.SIGTERM)
    assert await process.ended() == 0
    assert "start second" not in process.said
    assert process.said[-1] == "stop first"


async def test_a_signal_while_it_waits_for_its_database_stops_it(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(database_url="postgresql://nobody@127.0.0.1:1/none")
    await process.until("the database is not there yet")
    process.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        assert await process.ended() == 0


async def test_wrong_settings_end_the_process_with_2_and_say_which(launch: Callable[..., Awaitable[Process]]) -> None:
    process = await launch(stop_seconds="never")
    assert await process.ended() == 2
    assert "CARDROOM_DEMO_STOP_SECONDS is 'never'" in "\n".join(process.lines)
