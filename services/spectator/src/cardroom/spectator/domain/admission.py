"""Who may watch: how many streams there may be, and which tables are shown at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How many streams this replica serves."""

    per_player: int
    in_all: int


class Admission:
    """Counts open streams."""

    def __init__(self, limits: StreamLimits) -> None:
        """Start with none open."""
        self._limits = limits
        self._open: Counter[str] = Counter()
        self._total = 0

    @property
    def total(self) -> int:
        """How many streams are open."""
        return self._total

    def refusal(self, player_id: str) -> str | None:
        """Return why the player may not open one more stream, or None if they may."""
        if self._open[player_id] >= self._limits.per_player:
            return (
                f"you watch {self._open[player_id]} tables already, and {self._limits.per_player} is the most: end one"
            )
        if self._total >= self._limits.in_all:
            return f"{self._total} streams are open here, and that is the most: try again"
        return None

    def enter(self, player_id: str) -> None:
        """Count a stream in."""
        self._open[player_id] += 1
        self._total += 1

    def leave(self, player_id: str) -> None:
        """Count a stream out."""
        assert self._open[player_id] > 0, "only an open stream can end"
        self._open[player_id] -= 1
        self._total -= 1
        if not self._open[player_id]:
            del self._open[player_id]
