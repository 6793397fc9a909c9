"""`make demo`, as a person runs it: it plays, it audits, and it leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cardroom.local import ports, runs

_OPEN_SECONDS, _PLAY_SECONDS, _STOP_SECONDS = 150, 100, 30


@dataclass
class _Demo:
    """A running `cardroom demo` and what it said about itself."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    @property
    def folder(self) -> Path:
        return Path(self._find(r"^logs +(\S+)/logs$"))

    @property
    def ports(self) -> list[int]:
        return [int(port) for port in re.findall(r"on port (\d+)", self.text)]

    @property
    def pids(self) -> list[int]:
        return [int(file.read_text().split()[0]) for file in (self.folder / "pids").iterdir()]

    def until(self, words: str, seconds: float) -> None:
        """Read on until a line holds `words`; the deadline ends the process, so that reading ends too."""
        deadline = time.monotonic() + seconds
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if words in line:
                return
            if time.monotonic() > deadline:
                break
        pytest.fail(f"the demo did not say {words!r} within {seconds} s:\n{self.text}")

    def ends(self, seconds: float) -> int:
        """The exit code; what was said last is kept."""
        rest, _ = self.process.communicate(timeout=seconds)
        self.said += rest.splitlines()
        return self.process.returncode

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, self.text, re.MULTILINE)
        assert found is not None, self.text
        return found[1]


@contextmanager
def _demo(*options: str, **environment: str) -> Iterator[_Demo]:
    program = Path(sys.executable).with_name("cardroom")
    process = subprocess.Popen(
        [program, "demo", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **environment},
    )
    try:
        yield _Demo(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _assert_nothing_is_left(folder: Path, pids: list[int], used: list[int]) -> None:
    assert not folder.exists()
    assert [pid for pid in pids if runs.started_at(pid)] == []
    assert [port for port in used if ports.listens(port)] == []
    docker = shutil.which("docker")
    if docker is not None:
        label = f"label={runs.LABEL}={folder.name}"
        listed = subprocess.run([docker, "ps", "-aq", "--filter", label], capture_output=True, text=True, check=False)
        assert listed.stdout == ""


def test_a_demo_of_so_many_hands_ends_by_itself_and_its_books_hold() -> None:
    with _demo("--hands", "6") as demo:
        demo.until("Ctrl-C ends it", _OPEN_SECONDS)
        folder, pids, used = demo.folder, demo.pids, demo.ports
        assert all(ports.listens(port) for port in used)
        assert demo.ends(_PLAY_SECONDS) == 0, demo.text
        assert re.search(
            r"^✓ with players at the tables the audit holds \([1-9]\d* escrows checked\)$", demo.text, re.M
        )
        assert "✓ the audit holds" in demo.text
        _assert_nothing_is_left(folder, pids, used)


def test_a_demo_told_to_stop_in_mid_play_leaves_nothing_behind() -> None:
    """On local binaries, where this machine has them or lets them be installed."""
    local = os.geteuid() == 0 or Path("/usr/lib/rabbitmq").exists()
    with _demo(CARDROOM_LOCAL_DOCKER="never" if local else "auto") as demo:
        demo.until("Ctrl-C ends it", _OPEN_SECONDS)
        folder, pids, used = demo.folder, demo.pids, demo.ports
        demo.until("hands     1", _PLAY_SECONDS)
        demo.process.send_signal(signal.SIGTERM)
        assert demo.ends(_STOP_SECONDS) == 0, demo.text
        _assert_nothing_is_left(folder, pids, used)
