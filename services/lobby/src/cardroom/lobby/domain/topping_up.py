"""A top-up, from the hold to the chips at the table (rule 10.4), as a state machine like a stay's.

    asked ──hold──► held ──tell the table──► waiting ──hand over──► posting ──post──► over
      │ refused       └──────added at once──────────────────────────┘
      ▼               └── nothing added (full, or leaving) ──► voiding ──void──► over
     over

The table's word is final: what it added is paid, in part or whole, and the rest of the hold becomes free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.errors import BrokenPromise, NotNow


class Step(StrEnum):
    """How far a top-up is."""

    ASKED = "asked"
    HELD = "held"
    WAITING = "waiting"
    POSTING = "posting"
    VOIDING = "voiding"
    OVER = "over"


class Call(StrEnum):
    """What a neighbour is asked for next."""

    PLACE_HOLD = "place_hold"
    TELL_TABLE = "tell_table"
    POST_HOLD = "post_hold"
    VOID_HOLD = "void_hold"


@dataclass(frozen=True, slots=True)
class TopUp:
    """One top-up. `revision` counts the writes of its row."""

    top_up_id: str
    seating_id: str
    table_id: str
    player_id: str
    amount: int
    step: Step = Step.ASKED
    hold_id: str | None = None
    added: int = 0
    refusal: Refusal | None = None
    attempts: int = 0
    revision: int = 0

    @property
    def is_known_to_the_table(self) -> bool:
        """Whether the player can be told how far it is."""
        return self.step not in {Step.ASKED, Step.HELD}


@dataclass(frozen=True, slots=True)
class Added:
    """How far the table is with a top-up."""

    is_over: bool
    added: int = 0


_CALLS: Final = {
    Step.ASKED: Call.PLACE_HOLD,
    Step.HELD: Call.TELL_TABLE,
    Step.WAITING: Call.TELL_TABLE,
    Step.POSTING: Call.POST_HOLD,
    Step.VOIDING: Call.VOID_HOLD,
}


def due(top_up: TopUp) -> Call | None:
    """Return the call that moves this top-up on, or None when it is over."""
    return _CALLS.get(top_up.step)


def hold_placed(top_up: TopUp, hold_id: str) -> TopUp:
    """The chips are set aside."""
    assert top_up.step is Step.ASKED
    return replace(top_up, step=Step.HELD, hold_id=hold_id, attempts=0)


def table_told(top_up: TopUp, answer: Added) -> TopUp:
    """The table said how far it is. Raises NotNow while the top-up goes on to wait for the end of a hand."""
    if answer.is_over:
        assert 0 <= answer.added <= top_up.amount, "the table adds no more than was brought"
        step = Step.POSTING if answer.added else Step.VOIDING
        return replace(top_up, step=step, added=answer.added, attempts=0)
    if top_up.step is Step.WAITING:
        raise NotNow(f"top-up {top_up.top_up_id} waits for the end of the running hand")
    return replace(top_up, step=Step.WAITING, attempts=0)


def hold_posted(top_up: TopUp) -> TopUp:
    """The chips are in the seat's escrow."""
    assert top_up.step is Step.POSTING
    return replace(top_up, step=Step.OVER, attempts=0)


def hold_voided(top_up: TopUp) -> TopUp:
    """The chips are free again."""
    assert top_up.step is Step.VOIDING
    return replace(top_up, step=Step.OVER, attempts=0)


def refused(top_up: TopUp, by: Refusal) -> TopUp:
    """A neighbour said a definite no. Raises NotNow or BrokenPromise where that cannot end the top-up."""
    if top_up.step is Step.ASKED:
        return replace(top_up, step=Step.OVER, refusal=refusals.chips_refused(by, top_up.amount), attempts=0)
    if top_up.step in {Step.HELD, Step.WAITING} and by.reason == "TABLE_UNKNOWN":
        return replace(top_up, step=Step.VOIDING, attempts=0)
    if top_up.step is Step.HELD and by.reason == "TOP_UP_PENDING":
        raise NotNow(f"top-up {top_up.top_up_id} comes after another one")
    if top_up.step is Step.VOIDING and by.reason == "HOLD_NOT_PENDING" and not refusals.is_posted(by):
        return hold_voided(top_up)
    raise BrokenPromise(f"top-up {top_up.top_up_id} at {top_up.step}: {by.code}/{by.reason} ({by.message})")
