"""Runs a service: settings, logs, traces, ops port, parts in order; a stop of ten seconds at most, whatever hangs."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import uvloop

from cardroom.chassis import logs, telemetry
from cardroom.chassis.errors import SettingsError
from cardroom.chassis.ops_http import OpsServer
from cardroom.chassis.settings import load

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from cardroom.chassis.settings import ServiceSettings

S = TypeVar("S", bound="ServiceSettings")
P = TypeVar("P", bound="Part")

START_SWITCH_SECONDS = 0.0002
LAST_SECONDS = 0.5
"""What the end of a process may take after its parts have stopped: the ops port, the last spans, threads."""
GC_THRESHOLD = 20_000
"""Objects made and not freed before the youngest are looked through for cycles."""

log = logs.get("service")


class Part(Protocol):
    """Something that an App starts and stops: a server, a bus, a relay, a lease keeper."""

    async def start(self) -> None:
        """Begin to work. Returns once it does, or once it will by itself."""

    async def stop(self) -> None:
        """Stop working and free everything. Safe to call twice, and without a start."""


@runtime_checkable
class Drains(Protocol):
    """A part that can say, before anything stops, that it wants no new work."""

    async def drain(self) -> None:
        """Ask for no new work; go on with what runs."""


class App:
    """The parts of one service: started in the order they were added, stopped in reverse."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self._parts: list[Part] = []
        self._started: list[Part] = []
        self._checks: dict[str, Callable[[], bool]] = {}
        self._running = False
        self.ops = OpsServer(settings.grpc_host, settings.ops_port, self.not_ready)

    def add(self, part: P) -> P:
        """Add a part and return it. A part with a bool `ready` counts for /readyz under its class' name."""
        self._parts.append(part)
        if isinstance(getattr(type(part), "ready", None), property):
            self.ready_when(type(part).__name__, lambda: bool(part.ready))  # type: ignore[attr-defined]
        return part

    def add_stop(self, hook: Callable[[], Awaitable[object]]) -> None:
        """Run `hook` at the stop, in the place a part added now would have (for example `pool.close`)."""
        self._parts.append(_StopHook(hook))

    def add_task(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `work()` as a task from start to stop; it is started again, after a pause, if it ends or fails."""
        self._parts.append(_Loop(name, work))

    def ready_when(self, name: str, check: Callable[[], bool]) -> None:
        """Let /readyz depend on `check`."""
        self._checks[name] = check

    def not_ready(self) -> list[str]:
        """Return the names of what is not ready now."""
        waiting = [] if self._running else ["starting"]
        return waiting + [name for name, check in self._checks.items() if not check()]

    async def start(self) -> None:
        """Start the parts in order. When one fails, those before it are stopped and the error goes on."""
        try:
            for part in self._parts:
                self._started.append(part)
                await part.start()
        except BaseException:
            await self.stop()
            raise
        self._running = True

    async def stop(self, *, linger_seconds: float = 0.0) -> None:
        """Drain, serve on for `linger_seconds`, then stop the started parts in reverse, all within `stop_seconds`.

        Whoever spreads the calls learns of a drain only after a while. A server that closes before that cuts off calls
        that it has not even taken up; one that lingers serves them, or passes them on.
        """
        self._running = False
        give_up = time.monotonic() + self.settings.stop_seconds
        for part in self._started:
            if isinstance(part, Drains):
                await _within(part.drain(), give_up, part)
        await asyncio.sleep(max(0.0, min(linger_seconds, give_up - time.monotonic())))
        while self._started:
            part = self._started.pop()
            await _within(part.stop(), give_up, part)


async def _within(work: Coroutine[Any, Any, None], give_up: float, part: Part) -> None:
    name = type(part).__name__
    try:
        await asyncio.wait_for(work, max(0.05, give_up - time.monotonic()))
    except TimeoutError:
        log.warning("a part did not stop in time", part=name)
    except Exception:
        log.exception("a part failed to stop", part=name)


class _StopHook:
    def __init__(self, hook: Callable[[], Awaitable[object]]) -> None:
        self._hook = hook

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        await self._hook()


class _Loop:
    PAUSE_SECONDS = 1.0

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._name = name
        self._work = work
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._work()
            except Exception:
                log.exception("a task failed; starting it again", task=self._name)
            await asyncio.sleep(self.PAUSE_SECONDS)


def run(build: Callable[[S], App | Awaitable[App]], settings_class: type[S]) -> None:
    """Run a service until SIGTERM or SIGINT, then exit: 0 after a stop, 1 when it could not start, 2 for settings.

    `build` makes the App, with all its parts, from the settings; it may be async, to open a pool or migrate. A second
    signal exits at once. A stop that `stop_seconds` are not enough for is cut off (1): nothing is lost by it.
    """
    settings = load(settings_class)
    logs.setup(settings.service, settings.log_level, instance=settings.advertise_address)
    telemetry.setup(settings)
    try:
        code = uvloop.run(_main(build, settings))
    finally:
        telemetry.shutdown()
    sys.stdout.flush()
    sys.exit(code)


async def _main(build: Callable[[S], App | Awaitable[App]], settings: S) -> int:
    stop = _signals(settings)
    starting = asyncio.create_task(_build_and_start(build, settings))
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        log.info("asked to stop before the start was over")
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        return 0
    try:
        app = starting.result()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    except Exception:
        log.exception("could not start")
        return 1
    finally:
        if starting.exception() is not None:
            waiting.cancel()
    log.info("started", ops_port=app.ops.port)
    await waiting
    log.info("stopping")
    await app.stop(linger_seconds=settings.linger_seconds)
    await app.ops.stop()
    log.info("stopped")
    return 0


async def _build_and_start(build: Callable[[S], App | Awaitable[App]], settings: S) -> App:
    # What is not needed yet is loaded in threads meanwhile; they would keep the loop waiting for 5 ms each time that it
    # has something to do, and firing or taking a table over takes many such times.
    usual = sys.getswitchinterval()
    sys.setswitchinterval(START_SWITCH_SECONDS)
    try:
        return await _started(build, settings)
    finally:
        sys.setswitchinterval(usual)


async def _started(build: Callable[[S], App | Awaitable[App]], settings: S) -> App:
    made = build(settings)
    app = await made if inspect.isawaitable(made) else made
    # Together: what the parts do for players must not wait for the pages about it, nor these for a slow part.
    serving = asyncio.create_task(app.ops.start(), name="ops")
    try:
        await app.start()
        await serving
    except BaseException:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await app.stop()
        await app.ops.stop()
        raise
    # What is there now stays, and requests make few cycles: looking for them rarely saves a few percent of the CPU.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    return app


def _cut_off() -> None:
    log.error("the stop took too long; it is cut off")
    sys.stdout.flush()
    os._exit(1)


def _signals(settings: ServiceSettings) -> asyncio.Event:
    stop = asyncio.Event()

    def asked() -> None:
        if stop.is_set():
            os._exit(130)
        stop.set()
        # A thread: what hangs may be the loop itself, a collector that takes no spans, or another thread.
        last = threading.Timer(settings.stop_seconds + LAST_SECONDS, _cut_off)
        last.daemon = True
        last.start()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked)
    return stop
