"""A player's stay at a table, from the reserved seat to the chips' return: the saga of design §4 as a state machine.

    reserved ──hold──► held ──seat──► at_table ──post──► seated ──► leaving ──end──► cashing_out ──► over
        │ refused        │ refused, or the player left, or too late
        ▼                ▼
       over            undoing ──end: had not begun──► voiding ──void──► over
                          └──── end: had begun ──► at_table (forward only), then leaving

Whoever drives it asks `due`, makes that call, and gives the answer to the function named after it. Each call can be
repeated, so that a crash between a call and the write of its answer costs nothing but the call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.errors import BrokenPromise, NotNow

GIVE_UP_AFTER: Final = timedelta(seconds=120)


class Step(StrEnum):
    """How far a stay is. Everything but OVER keeps the seat and the player's only place."""

    RESERVED = "reserved"
    HELD = "held"
    AT_TABLE = "at_table"
    SEATED = "seated"
    UNDOING = "undoing"
    VOIDING = "voiding"
    LEAVING = "leaving"
    CASHING_OUT = "cashing_out"
    OVER = "over"


class Call(StrEnum):
    """What a neighbour is asked for next."""

    PLACE_HOLD = "place_hold"
    SEAT_PLAYER = "seat_player"
    POST_HOLD = "post_hold"
    END_SEATING = "end_seating"
    VOID_HOLD = "void_hold"
    CASH_OUT = "cash_out"


@dataclass(frozen=True, slots=True)
class Seating:
    """One stay. `revision` counts the writes of its row; versions are those of the table."""

    seating_id: str
    table_id: str
    player_id: str
    display_name: str
    seat: int
    buy_in: int
    reserved_at: datetime
    step: Step = Step.RESERVED
    hold_id: str | None = None
    seated_version: int = 0
    left_version: int = 0
    wants_out: bool = False
    refusal: Refusal | None = None
    final_stack: int = 0
    last_hand_number: int = 0
    cashed_out: int = 0
    attempts: int = 0
    revision: int = 0

    @property
    def has_left_the_table(self) -> bool:
        """Whether the table said that this player left after this stay began."""
        return self.left_version > self.seated_version


@dataclass(frozen=True, slots=True)
class End:
    """How far the table is with the end of a stay."""

    is_over: bool
    had_begun: bool
    final_stack: int = 0
    last_hand_number: int = 0


_CALLS: Final = {
    Step.RESERVED: Call.PLACE_HOLD,
    Step.HELD: Call.SEAT_PLAYER,
    Step.AT_TABLE: Call.POST_HOLD,
    Step.UNDOING: Call.END_SEATING,
    Step.VOIDING: Call.VOID_HOLD,
    Step.LEAVING: Call.END_SEATING,
    Step.CASHING_OUT: Call.CASH_OUT,
}


def due(seating: Seating) -> Call | None:
    """Return the call that moves this stay on, or None when it rests (seated, or over)."""
    return _CALLS.get(seating.step)


def turned(seating: Seating, now: datetime) -> Seating:
    """Return the stay after what others want of it: a wish to leave, an end that the table told, too long a wait.

    Nobody is turned away from a seat that the table may have given: only `undoing` finds that out.
    """
    if seating.step is Step.SEATED and (seating.wants_out or seating.has_left_the_table):
        return replace(seating, step=Step.LEAVING, attempts=0)
    if seating.step is Step.HELD and seating.wants_out:
        return _undo(seating, refusals.left_before_seated())
    if seating.step is Step.HELD and now - seating.reserved_at > GIVE_UP_AFTER:
        return _undo(seating, refusals.seating_expired(int(GIVE_UP_AFTER.total_seconds())))
    return seating


def hold_placed(seating: Seating, hold_id: str) -> Seating:
    """The chips are set aside."""
    assert seating.step is Step.RESERVED
    return replace(seating, step=Step.HELD, hold_id=hold_id, attempts=0)


def seat_given(seating: Seating, version: int) -> Seating:
    """The table has the player: from here it only goes forward."""
    assert seating.step is Step.HELD
    return replace(seating, step=Step.AT_TABLE, seated_version=version, attempts=0)


def hold_posted(seating: Seating) -> Seating:
    """The chips are in the seat's escrow: the player sits."""
    assert seating.step is Step.AT_TABLE
    return replace(seating, step=Step.SEATED, attempts=0)


def end_told(seating: Seating, end: End) -> Seating:
    """The table said how far the end is. Raises NotNow while a hand still needs the player."""
    if seating.step is Step.UNDOING:
        if not end.had_begun:
            return replace(seating, step=Step.VOIDING, attempts=0)
        # The table did seat the player, only its answer was lost: pay for the seat, then leave it.
        return replace(seating, step=Step.AT_TABLE, refusal=None, wants_out=True, attempts=0)
    assert seating.step is Step.LEAVING
    if not end.had_begun:
        raise BrokenPromise(f"the table does not know seating {seating.seating_id}, which it began")
    if not end.is_over:
        raise NotNow(f"seating {seating.seating_id} ends with the running hand")
    return replace(
        seating,
        step=Step.CASHING_OUT,
        final_stack=end.final_stack,
        last_hand_number=end.last_hand_number,
        attempts=0,
    )


def hold_voided(seating: Seating) -> Seating:
    """The chips are free again: nothing is left of the attempt."""
    assert seating.step is Step.VOIDING
    return replace(seating, step=Step.OVER, attempts=0)


def chips_returned(seating: Seating, amount: int) -> Seating:
    """The chips are back: the seat is free."""
    assert seating.step is Step.CASHING_OUT
    return replace(seating, step=Step.OVER, cashed_out=amount, attempts=0)


def refused(seating: Seating, by: Refusal) -> Seating:
    """A neighbour said a definite no. Raises NotNow or BrokenPromise where that cannot end the stay."""
    if seating.step is Step.RESERVED:
        return replace(seating, step=Step.OVER, refusal=refusals.chips_refused(by, seating.buy_in), attempts=0)
    if seating.step is Step.HELD:
        return _undo(seating, _by_table(by))
    if seating.step is Step.UNDOING and by.reason == "TABLE_UNKNOWN":
        return replace(seating, step=Step.VOIDING, attempts=0)
    if seating.step is Step.VOIDING and by.reason == "HOLD_NOT_PENDING" and not refusals.is_posted(by):
        return hold_voided(seating)
    if seating.step is Step.CASHING_OUT and by.reason == "SETTLEMENT_PENDING":
        raise NotNow(f"hand {seating.last_hand_number} of table {seating.table_id} is not settled yet")
    raise BrokenPromise(f"seating {seating.seating_id} at {seating.step}: {by.code}/{by.reason} ({by.message})")


def _undo(seating: Seating, why: Refusal) -> Seating:
    return replace(seating, step=Step.UNDOING, refusal=why, attempts=0)


def _by_table(by: Refusal) -> Refusal:
    known = {"SEAT_TAKEN", "TABLE_UNKNOWN"}
    return by if by.reason in known else refusals.seat_refused_by_table(by.reason)
