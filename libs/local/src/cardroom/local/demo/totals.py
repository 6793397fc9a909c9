"""What a demo counts: hands, actions, and how long an action takes until its committed answer is back."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_SAMPLES_MAX = 10_000
_WINDOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The totals at one moment."""

    seconds: float
    hands: int
    actions: int
    actions_per_second: float
    p50_ms: float
    p99_ms: float

    def line(self) -> str:
        """One line for a log or a status bar."""
        return (
            f"{self.seconds:6.0f} s  hands {self.hands:5}  actions {self.actions:6}  "
            f"{self.actions_per_second:6.1f}/s  p50 {self.p50_ms:5.1f} ms  p99 {self.p99_ms:6.1f} ms"
        )


class Totals:
    """Counts over all tables. Time is passed in, in seconds since the start."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._last_hands: dict[str, int] = {}
        self._actions = 0
        self._latencies: deque[float] = deque(maxlen=_SAMPLES_MAX)
        self._window: deque[tuple[float, int]] = deque([(0.0, 0)])

    @property
    def hands(self) -> int:
        """Hands that have ended, over all tables."""
        return sum(self._last_hands.values())

    def hand_ended(self, table_id: str, hand_number: int) -> None:
        """A bot saw a hand end; the others at its table may tell the same, in any order."""
        self._last_hands[table_id] = max(hand_number, self._last_hands.get(table_id, 0))

    def acted(self, seconds: float) -> None:
        """An action was answered after so long."""
        self._actions += 1
        self._latencies.append(seconds)

    def read(self, now: float) -> Reading:
        """The totals now; the rate is that of the last five seconds."""
        while len(self._window) > 1 and self._window[0][0] < now - _WINDOW_SECONDS:
            self._window.popleft()
        then, before = self._window[0]
        self._window.append((now, self._actions))
        rate = (self._actions - before) / (now - then) if now > then else 0.0
        ordered = sorted(self._latencies)
        return Reading(
            seconds=now,
            hands=self.hands,
            actions=self._actions,
            actions_per_second=rate,
            p50_ms=percentile(ordered, 0.50) * 1000,
            p99_ms=percentile(ordered, 0.99) * 1000,
        )


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` of the ordered samples do not exceed; 0 without samples."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
