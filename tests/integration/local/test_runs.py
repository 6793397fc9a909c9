"""A run leaves nothing behind, however its owner ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cardroom.local import ports, runs
from cardroom.local.processes import Process
from cardroom.local.runs import Run

# The owner: starts the watchdog and a process that ignores requests to end, says its pid, and waits.
_OWNER = """
import sys, time
from pathlib import Path
from cardroom.local import runs
from cardroom.local.processes import Process
from cardroom.local.settings import inherited_environment
run = runs.Run.create(Path(sys.argv[1]))
watchdog = runs.start_watchdog(run) if sys.argv[2] == "watched" else None
stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"
process = Process("stubborn", [sys.executable, "-c", stubborn], run=run, env=inherited_environment())
process.start()
while "on" not in process.tail():
    time.sleep(0.02)
print(process.pid, watchdog.pid if watchdog else 0, flush=True)
time.sleep(600)
"""


def _until(true: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def _owner(folder: Path, how: str) -> tuple[subprocess.Popen[str], int, int]:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(folder), how], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    process, watchdog = map(int, owner.stdout.readline().split())
    return owner, process, watchdog


def _kill(owner: subprocess.Popen[str]) -> None:
    owner.kill()
    owner.communicate()


def test_the_watchdog_ends_what_a_killed_owner_started(tmp_path: Path) -> None:
    owner, process, watchdog = _owner(tmp_path, "watched")
    _kill(owner)
    _until(lambda: not runs.started_at(process) and not runs.started_at(watchdog))
    assert not list(tmp_path.glob("run-*"))


def test_the_next_run_removes_what_is_left_when_the_watchdog_was_killed_too(tmp_path: Path) -> None:
    owner, process, _ = _owner(tmp_path, "unwatched")
    assert runs.remove_stale(tmp_path) == [], "its owner lives"
    _kill(owner)
    assert len(runs.remove_stale(tmp_path)) == 1
    _until(lambda: not runs.started_at(process))
    assert not list(tmp_path.glob("run-*"))


def test_a_pid_that_was_given_to_another_process_is_left_alone(tmp_path: Path) -> None:
    run = Run.create(tmp_path)
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        (run.folder / "pids" / "old").write_text(f"{bystander.pid} 12345")
        run.remove()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.fixture
def sleeper(tmp_path: Path) -> Process:
    run = Run.create(tmp_path)
    return Process("sleeper", ["sleep", "600"], run=run, env=dict(os.environ))


async def test_a_process_is_stalled_woken_killed_and_restarted(sleeper: Process) -> None:
    sleeper.start()
    first = sleeper.pid
    sleeper.stop()
    _until(lambda: " T " in Path(f"/proc/{first}/stat").read_text())
    sleeper.cont()
    _until(lambda: " T " not in Path(f"/proc/{first}/stat").read_text())
    sleeper.kill()
    assert sleeper.exit_code == -signal.SIGKILL
    sleeper.start()
    assert sleeper.pid != first
    await sleeper.restart()
    assert sleeper.running
    assert await sleeper.terminate() == -signal.SIGTERM


async def test_a_stalled_process_ends_when_it_is_told_to(sleeper: Process) -> None:
    sleeper.start()
    sleeper.stop()
    assert await sleeper.terminate() == -signal.SIGTERM
    assert not sleeper.running


async def test_ports_are_given_once_and_are_free() -> None:
    first, second = ports.free_port(), ports.free_port()
    assert first != second
    server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", first)
    try:
        assert ports.listens(first)
        assert not ports.is_free(first)
        assert ports.free_port(preferred=first) != first
    finally:
        server.close()
        await server.wait_closed()
