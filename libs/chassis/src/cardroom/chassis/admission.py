"""Who may open one more stream: a limit for each player, and one for all."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cardroom.chassis.errors import ResourceExhausted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Gauge


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How many streams of one kind this replica serves."""

    per_player: int
    in_all: int


class Admission:
    """Counts the open streams of one kind."""

    def __init__(self, limits: StreamLimits, gauge: Gauge | None = None) -> None:
        """Start with none open; `gauge` shows how many are."""
        self._limits = limits
        self._gauge = gauge
        self._open: Counter[str] = Counter()
        self._total = 0

    @property
    def total(self) -> int:
        """How many streams are open."""
        return self._total

    @contextmanager
    def admit(self, player_id: str) -> Iterator[None]:
        """Count a stream while the block runs. Raises ResourceExhausted/TOO_MANY_STREAMS."""
        if self._open[player_id] >= self._limits.per_player:
            text = f"you have {self._open[player_id]} streams like this open, and that is the most: end one"
            raise ResourceExhausted("TOO_MANY_STREAMS", text)
        if self._total >= self._limits.in_all:
            text = f"{self._total} streams are open here, and that is the most: try again"
            raise ResourceExhausted("TOO_MANY_STREAMS", text)
        self._change(player_id, 1)
        try:
            yield
        finally:
            self._change(player_id, -1)

    def _change(self, player_id: str, by: int) -> None:
        self._open[player_id] += by
        self._total += by
        if not self._open[player_id]:
            del self._open[player_id]
        if self._gauge is not None:
            self._gauge.set(self._total)
