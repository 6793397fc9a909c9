"""What the person who started a run sees while it comes up: one line per step, with how long it took."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator


class Progress:
    """Writes steps as plain lines; pass another `write` to collect or drop them."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        """Without `write`, lines go to standard output at once."""
        self._write = write or _print

    def say(self, line: str) -> None:
        """One line."""
        self._write(line)

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Say that `what` begins, and how long it took when it is done."""
        began = time.monotonic()
        self._write(f"… {what}")
        try:
            yield
        except BaseException:
            self._write(f"✗ {what}")
            raise
        self._write(f"✓ {what} ({time.monotonic() - began:.1f} s)")


def silent() -> Progress:
    """A progress that nobody sees."""
    return Progress(lambda _line: None)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
