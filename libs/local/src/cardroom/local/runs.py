"""The traces a run leaves on the machine, and how they are removed when its owner could not do it itself.

A run is a folder: who owns it (pid and start time), the processes it started, its data and logs. Containers carry the
run's id as a label. Only what such a record names is ever ended or removed, and only when its owner is dead.

Executed as a script this file is the watchdog: it waits until its standard input closes, which happens when the owner
ends in whatever way, and removes what is left. It uses the standard library alone so that it starts in no time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

LABEL = "cardroom.run"
_GRACE_SECONDS = 3.0
_DONE = b"done"


class Run:
    """One run's folder and records."""

    def __init__(self, folder: Path) -> None:
        """Look at an existing run; `create` makes a new one."""
        self.folder = folder
        self.id = folder.name
        self.logs = folder / "logs"
        self._pids = folder / "pids"

    @classmethod
    def create(cls, parent: Path) -> Run:
        """Make the folder of a new run that this process owns."""
        run = cls(parent / f"run-{uuid.uuid4().hex[:12]}")
        for folder in (run.logs, run._pids):
            folder.mkdir(parents=True)
        for folder in (parent, run.folder):
            folder.chmod(0o711)  # other users' processes (postgres, rabbitmq) pass through to their own data folder
        run._owner_file.write_text(json.dumps({"pid": os.getpid(), "started": started_at(os.getpid())}))
        return run

    @property
    def _owner_file(self) -> Path:
        return self.folder / "owner.json"

    def owner_lives(self) -> bool:
        """Whether the process that made this run still exists (the same one, not a later one with its number)."""
        try:
            owner = json.loads(self._owner_file.read_text())
        except (OSError, ValueError):
            return time.time() - self.folder.stat().st_mtime < 10  # being made at this moment
        return bool(started_at(owner["pid"]) == owner["started"])

    def remember_process(self, name: str, pid: int) -> None:
        """Record that this run started `pid`."""
        (self._pids / name).write_text(f"{pid} {started_at(pid)}")

    def forget_process(self, name: str) -> None:
        """Record that the process of that name has ended."""
        (self._pids / name).unlink(missing_ok=True)

    def remember_containers(self) -> None:
        """Record that this run has containers, so that removing it asks the engine."""
        (self.folder / "containers").touch()

    def remove(self, *, keep_logs: bool = False) -> None:
        """End every recorded process, remove every labelled container and the folder itself."""
        self._end_processes()
        if (self.folder / "containers").exists():
            remove_containers(self.id)
            (self.folder / "containers").unlink(missing_ok=True)
        if keep_logs and self.logs.exists():
            self.logs.rename(self.kept_logs)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def kept_logs(self) -> Path:
        """Where `remove(keep_logs=True)` leaves the logs; nothing but `make clean` removes them."""
        return self.folder.with_name(self.folder.name.replace("run-", "logs-"))

    def _end_processes(self) -> None:
        pids = [pid for pid in map(_recorded, self._pids.glob("*")) if pid is not None]
        for pid in pids:
            signal_group(pid, signal.SIGTERM)
            signal_group(pid, signal.SIGCONT)
        deadline = time.monotonic() + _GRACE_SECONDS
        while any(started_at(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in pids:
            signal_group(pid, signal.SIGKILL)


def started_at(pid: int) -> str:
    """When `pid` started, in the kernel's ticks; empty when there is no such process or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send `number` to the process group that `pid` leads; nothing happens when it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def remove_containers(run_id: str) -> None:
    """Remove every container of that run, with its volumes."""
    docker = shutil.which("docker")
    if docker is None:
        return
    with contextlib.suppress(subprocess.SubprocessError):
        listed = subprocess.run(  # noqa: S603
            [docker, "ps", "-aq", "--filter", f"label={LABEL}={run_id}"], capture_output=True, timeout=30, check=False
        )
        if ids := listed.stdout.decode().split():
            subprocess.run([docker, "rm", "-f", "-v", *ids], capture_output=True, timeout=60, check=False)  # noqa: S603


def remove_stale(parent: Path) -> list[str]:
    """Remove every run under `parent` whose owner is dead; returns their ids."""
    stale = [run for run in map(Run, parent.glob("run-*")) if not run.owner_lives()]
    for run in stale:
        run.remove()
    return [run.id for run in stale]


def remove_kept_logs(parent: Path) -> None:
    """Remove the logs that runs were told to keep."""
    for folder in parent.glob("logs-*"):
        shutil.rmtree(folder, ignore_errors=True)


def start_watchdog(run: Run) -> subprocess.Popen[bytes]:
    """Start the process that removes `run` when this one ends in whatever way; `end_watchdog` when the run is over."""
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", __file__, str(run.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def end_watchdog(watchdog: subprocess.Popen[bytes]) -> None:
    """Tell it that the run was removed in order."""
    try:
        watchdog.communicate(_DONE, timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        watchdog.kill()
        watchdog.wait()


def _recorded(file: Path) -> int | None:
    try:
        pid, started = file.read_text().split()
    except (OSError, ValueError):
        return None
    # A dead leader's group may live on, and its number cannot be given to a new process while it does.
    return int(pid) if started_at(int(pid)) in (started, "") else None


def _watch(folder: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    run = Run(folder)
    if sys.stdin.buffer.read() == _DONE:
        return
    deadline = time.monotonic() + _GRACE_SECONDS  # a dying process closes its pipes before it is dead
    while folder.exists() and run.owner_lives() and time.monotonic() < deadline:
        time.sleep(0.05)
    if folder.exists():
        run.remove()


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
