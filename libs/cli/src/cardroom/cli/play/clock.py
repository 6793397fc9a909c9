"""How much time a turn has left, as the player's screen shows it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.contracts.table.v1.view_pb2 import TurnView


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Whole seconds: of the base time first, then of the bank."""

    base_seconds: int
    bank_seconds: int
    bank_runs: bool

    def __str__(self) -> str:
        """As text, for example `12 s (+30 s bank)`."""
        if self.bank_runs:
            return f"bank {self.bank_seconds} s"
        return f"{self.base_seconds} s (+{self.bank_seconds} s bank)"


def time_left(turn: TurnView, server_now: float, *, is_connected: bool = True) -> TimeLeft:
    """What is left at `server_now`, in seconds since 1970 by the server's clock.

    The bank of an actor who has lost the connection does not begin to run (rule 9.5).
    """
    base = seconds(turn.base_deadline) - server_now
    if turn.HasField("bank_deadline"):
        return TimeLeft(0, _up(seconds(turn.bank_deadline) - server_now), bank_runs=True)
    bank = turn.time_bank_left_ms / 1000 if is_connected else 0
    if base > 0 or not is_connected:
        return TimeLeft(_up(base), _up(bank), bank_runs=False)
    return TimeLeft(0, _up(bank + base), bank_runs=True)


def seconds(moment: Timestamp) -> float:
    """A protobuf time in seconds since 1970."""
    return moment.seconds + moment.nanos / 1e9


def _up(left: float) -> int:
    return max(0, int(left + 0.999))
