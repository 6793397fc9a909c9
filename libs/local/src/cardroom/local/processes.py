"""One supervised child process: its own process group, its own log file, tied to the life of this process."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from cardroom.local import runs
from cardroom.local.errors import StartFailed

_POLL_SECONDS = 0.02
_LOG_TAIL_BYTES = 4_000


class Process:
    """A program that can be started, stalled, killed and started again under the same name and with the same ports."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        run: runs.Run,
        env: Mapping[str, str],
        user: str | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        orphan_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        """Describe it; nothing starts yet.

        `user` drops root for programs that refuse it. `stop_signal` asks it to end, `orphan_signal` is what the kernel
        sends it when this process dies.
        """
        self.name = name
        self.command = list(command)
        self.env = dict(env)
        self.log_path = run.logs / f"{name}.log"
        self._run = run
        self._user = user
        self._stop_signal = stop_signal
        self._orphan_signal = orphan_signal
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; `StartFailed` when it was never started."""
        if self._popen is None:
            raise StartFailed(f"{self.name} was not started")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended (a stalled process runs)."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended; negative for a signal, None while it runs."""
        return None if self._popen is None else self._popen.poll()

    def start(self) -> None:
        """Start it; what it prints is appended to its log."""
        if self.running:
            raise StartFailed(f"{self.name} is already running as pid {self.pid}")
        with self.log_path.open("ab") as log:
            self._popen = subprocess.Popen(  # noqa: S603  (the commands are this package's own)
                [*self._leash(), *self.command],
                env=self.env,
                cwd=self._run.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._run.remember_process(self.name, self._popen.pid)

    def kill(self) -> None:
        """End it at once (SIGKILL), with everything that it started."""
        self.signal(signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()
            self._run.forget_process(self.name)

    def stop(self) -> None:
        """Stall it (SIGSTOP): it keeps its memory and its connections, and does nothing."""
        self.signal(signal.SIGSTOP)

    def cont(self) -> None:
        """Wake it from a stall (SIGCONT)."""
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Send `number` to its whole process group; nothing happens if it has ended."""
        if self._popen is not None and self._popen.poll() is None:
            runs.signal_group(self._popen.pid, number)

    async def terminate(self, seconds: float = 12.0) -> int | None:
        """Ask it to end, wait up to `seconds`, then kill it. Returns its exit code."""
        if self._popen is None:
            return None
        self.signal(self._stop_signal)
        self.signal(signal.SIGCONT)
        try:
            await self.wait(seconds)
        except TimeoutError:
            self.kill()
        runs.signal_group(self._popen.pid, signal.SIGKILL)
        self._run.forget_process(self.name)
        return self._popen.returncode

    async def wait(self, seconds: float) -> int:
        """Wait until it has ended; `TimeoutError` when that takes longer than `seconds`."""
        deadline = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} still runs after {seconds:g} s")
            await asyncio.sleep(_POLL_SECONDS)
        return self.exit_code or 0

    async def restart(self) -> None:
        """End it in order and start it again; waiting until it is ready is the caller's part."""
        await self.terminate()
        self.start()

    async def until(self, ready: Callable[[], Awaitable[bool]], seconds: float) -> None:
        """Wait until `ready()`; raises `StartFailed` with the end of the log if it ends first or takes too long."""
        deadline = time.monotonic() + seconds
        while not await ready():
            if not self.running:
                raise StartFailed(f"{self.name} ended with code {self.exit_code} before it was ready:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartFailed(f"{self.name} was not ready within {seconds:g} s:\n{self.tail()}")
            await asyncio.sleep(_POLL_SECONDS * 2)

    def tail(self) -> str:
        """The end of its log."""
        if not self.log_path.exists():
            return "(no log)"
        with self.log_path.open("rb") as log:
            log.seek(max(0, self.log_path.stat().st_size - _LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")

    def _leash(self) -> list[str]:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            return [] if self._user is None else ["runuser", "-u", self._user, "--"]
        leash = [setpriv, "--pdeathsig", self._orphan_signal.name.removeprefix("SIG")]
        if self._user is not None:
            leash += [f"--reuid={self._user}", f"--regid={self._user}", "--init-groups"]
        return [*leash, "--"]


async def run_once(
    command: Sequence[str], *, env: Mapping[str, str], user: str | None = None, seconds: float = 60.0
) -> str:
    """Run a short command to its end and return what it printed; `StartFailed` with its words when it fails."""
    dropped = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"] if user else []
    child = await asyncio.create_subprocess_exec(
        *dropped,
        *command,
        env=dict(env),
        cwd="/",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(child.communicate(), seconds)
    except TimeoutError:
        child.kill()
        await child.wait()
        raise StartFailed(f"{' '.join(command)} took longer than {seconds:g} s") from None
    text = output.decode(errors="replace")
    if child.returncode != 0:
        raise StartFailed(f"{' '.join(command)} ended with code {child.returncode}:\n{text}")
    return text


def is_root() -> bool:
    """Whether this process runs as root."""
    return os.geteuid() == 0
