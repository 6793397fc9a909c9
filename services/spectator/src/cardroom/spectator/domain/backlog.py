"""What waits to be sent to one watcher."""

from __future__ import annotations

from collections import deque
from typing import Final

BACKLOG_MAX: Final = 256


class Backlog:
    """Messages in order, at most `limit`. A watcher who is too slow loses them all, and goes on from a snapshot."""

    def __init__(self, limit: int = BACKLOG_MAX) -> None:
        """Raises ValueError for a limit below 1."""
        if limit < 1:
            raise ValueError(f"a backlog of {limit} messages holds nothing: at least 1")
        self._limit = limit
        self._waiting: deque[bytes] = deque()
        self.needs_snapshot = False

    def offer(self, message: bytes) -> None:
        """Add a message, unless a snapshot is due that will contain it anyway."""
        if self.needs_snapshot:
            return
        if len(self._waiting) >= self._limit:
            self._waiting.clear()
            self.needs_snapshot = True
            return
        self._waiting.append(message)

    def restart(self, snapshot: bytes) -> None:
        """Begin again with a snapshot."""
        self._waiting.clear()
        self._waiting.append(snapshot)
        self.needs_snapshot = False

    def take(self) -> list[bytes]:
        """Return everything that waits, and forget it."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken
