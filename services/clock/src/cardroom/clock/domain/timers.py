"""A table's one timer: a register that a higher generation replaces (design §5), and what it does when it is due.

    turn, base ──due, bank left──► tell that the bank runs ──► turn, bank ──due──► end the turn
        └──────due, no bank──────────────────────────────────────────────────────────┘
    deal ──due──► deal

Times are whole milliseconds since the epoch. Nothing fires before its time; what fired fires again until the table has
moved on, which a newer generation or the answer "stale" tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

# Rule 9.7: a timeout counts no sooner than this after the deadline; an action before then stands.
GRACE_MS: Final = 250
REPEAT_MS: Final = 1_000
REPEAT_MS_MAX: Final = 5_000


class Kind(StrEnum):
    """What a table waits for."""

    NOTHING = "nothing"
    TURN = "turn"
    DEAL = "deal"


class Phase(StrEnum):
    """Which time of a turn runs. A deal has only a base time."""

    BASE = "base"
    BANK = "bank"


@dataclass(frozen=True, slots=True)
class Timer:
    """What one table waits for, and when the clock acts next (`fire_at_ms`; None: no more)."""

    table_id: str
    generation: int
    kind: Kind = Kind.NOTHING
    phase: Phase = Phase.BASE
    fire_at_ms: int | None = None
    hand_number: int = 0
    action_number: int = 0
    player_id: str | None = None
    started_at_ms: int = 0
    base_ms: int = 0
    bank_allowed: bool = False
    # When the turn times out; known once the bank runs, or once there is none.
    deadline_ms: int = 0
    attempts: int = 0

    @property
    def base_deadline_ms(self) -> int:
        """When the base time of the turn is over."""
        return self.started_at_ms + self.base_ms


class Act(StrEnum):
    """What a table is told."""

    START_BANK = "start_bank"
    END_TURN = "end_turn"
    DEAL = "deal"


@dataclass(frozen=True, slots=True)
class Firing:
    """What to tell the table now; `deadline_ms` is when the turn will time out."""

    act: Act
    timer: Timer
    deadline_ms: int = 0


def idle(table_id: str, generation: int) -> Timer:
    """The table waits for nothing."""
    return Timer(table_id, generation)


def deal(table_id: str, generation: int, due_at_ms: int) -> Timer:
    """The next hand is dealt at this time (rule 2.5)."""
    return Timer(table_id, generation, Kind.DEAL, fire_at_ms=due_at_ms)


def turn(
    table_id: str,
    generation: int,
    *,
    hand_number: int,
    action_number: int,
    player_id: str,
    started_at_ms: int,
    base_ms: int,
    bank_allowed: bool,
) -> Timer:
    """A player's turn: base time, then the bank unless the player is away (rules 9.1, 9.5)."""
    assert base_ms >= 0, base_ms
    due = started_at_ms + base_ms
    return Timer(
        table_id,
        generation,
        Kind.TURN,
        fire_at_ms=due if bank_allowed else due + GRACE_MS,
        hand_number=hand_number,
        action_number=action_number,
        player_id=player_id,
        started_at_ms=started_at_ms,
        base_ms=base_ms,
        bank_allowed=bank_allowed,
        deadline_ms=0 if bank_allowed else due,
    )


def due(timer: Timer, bank_left_ms: int, now_ms: int) -> Firing | Timer:
    """Return what to tell the table now, or the timer with the later time at which to ask again."""
    assert timer.kind is not Kind.NOTHING
    if timer.kind is Kind.DEAL:
        return Firing(Act.DEAL, timer)
    deadline = _deadline(timer, bank_left_ms)
    if now_ms >= deadline + GRACE_MS:
        return Firing(Act.END_TURN, timer, deadline)
    if timer.phase is Phase.BASE and deadline > timer.base_deadline_ms:
        return Firing(Act.START_BANK, timer, deadline)
    return replace(timer, deadline_ms=deadline, fire_at_ms=deadline + GRACE_MS, attempts=0)


def _deadline(timer: Timer, bank_left_ms: int) -> int:
    if timer.phase is Phase.BANK:
        return timer.deadline_ms
    return timer.base_deadline_ms + (max(0, bank_left_ms) if timer.bank_allowed else 0)


def answered(firing: Firing, *, stale: bool) -> Timer | None:
    """Return the timer to keep after the table's answer, or None when it stands as it is (and fires again)."""
    if stale:
        return replace(firing.timer, fire_at_ms=None, attempts=0)
    if firing.act is Act.START_BANK:
        return replace(
            firing.timer,
            phase=Phase.BANK,
            deadline_ms=firing.deadline_ms,
            fire_at_ms=firing.deadline_ms + GRACE_MS,
            attempts=0,
        )
    # The table has moved on; its next generation is on the way and replaces this one.
    return None


def repeat_at_ms(attempts: int, now_ms: int) -> int:
    """Return when to fire again after this many tries before."""
    return now_ms + min(REPEAT_MS * (attempts + 1), REPEAT_MS_MAX)


def bank_used_ms(timer: Timer, hand_number: int, action_number: int, acted_at_ms: int) -> int:
    """Return how much of the bank the turn took that this action ended; 0 for an action of another turn.

    Only a bank that the table was told of is charged: a turn that began anew (rule 9.6) and a clock that was away cost
    the player nothing.
    """
    is_this = (timer.hand_number, timer.action_number) == (hand_number, action_number)
    if timer.kind is not Kind.TURN or timer.phase is not Phase.BANK or not is_this:
        return 0
    return max(0, min(acted_at_ms, timer.deadline_ms) - timer.base_deadline_ms)
