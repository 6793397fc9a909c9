"""Who is there: connections that come and go, and how long the table bears with absence (rules 9.5, 10.2)."""

from __future__ import annotations

from dataclasses import replace

from cardroom.contracts.events.v1.events_pb2 import AbsenceTiming
from cardroom.contracts.table.v1.view_pb2 import (
    STATUS_REASON_CONNECTION_LOST,
    STATUS_REASON_OUT_OF_CHIPS,
    STATUS_REASON_UNSPECIFIED,
    ConnectionChanged,
)
from cardroom.table.domain.commands import JudgeAbsence, Pace, SetConnected, TakeOver
from cardroom.table.domain.errors import RefusalKind, Refused
from cardroom.table.domain.playing import restart_turn, time_turn
from cardroom.table.domain.schedule import reschedule
from cardroom.table.domain.seating import leave
from cardroom.table.domain.state import Seat, TableState
from cardroom.table.domain.step import Step, timestamp

__all__ = ["due_ms", "judge", "set_connected", "take_over", "timed"]


def due_ms(seat: Seat, pace: Pace) -> int:
    """When the table must look at an absent player: to sit them out, or to let them leave. 0: not at all."""
    if seat.is_leaving:
        return 0
    unseen, out = _unseen_until(seat, pace), _out_until(seat, pace)
    return min(unseen, out) if unseen and out else unseen or out


def _unseen_until(seat: Seat, pace: Pace) -> int:
    """When the player has been without a stream for too long. Who sits out already is only shown as away."""
    if not seat.unseen_since_ms or (seat.is_sitting_out and not seat.connected):
        return 0
    return seat.unseen_since_ms + pace.away_ms


def _out_until(seat: Seat, pace: Pace) -> int:
    """When the player has sat out, or been without chips, for too long. Chips that wait for the hand's end count."""
    if not seat.out_since_ms:
        return 0
    return seat.out_since_ms + (pace.sitting_out_ms if seat.stack or seat.top_up_id else pace.no_chips_ms)


def set_connected(step: Step, command: SetConnected) -> None:
    """A player's streams came or went. What is known already, or about nobody here, changes nothing."""
    seat = step.state.seat_of(command.player_id)
    if seat is not None and seat.connected != command.connected:
        _connect(step, seat, command.connected, 0 if command.connected else step.now_ms)


def _connect(step: Step, seat: Seat, connected: bool, unseen_since_ms: int) -> Seat:
    was = seat.connected
    seat = step.change_seat(seat, connected=connected, unseen_since_ms=unseen_since_ms)
    step.tell(connection_changed=ConnectionChanged(seat=seat.number, connected=connected))
    if was != connected:
        time_turn(step, seat)
    return seat


def judge(step: Step, command: JudgeAbsence) -> bool:
    """An absence has lasted long enough. Answers whether the call was stale.

    Who has a stream by now is present. Others are sat out from the next hand on (9.5); who sits out too long, or has no
    chips for too long, leaves (10.2).
    """
    state = step.state
    seat, pace = state.seat_of(command.player_id), state.pace
    if seat is None or seat.absence_generation != command.generation:
        return True
    due = due_ms(seat, pace)
    if not due:
        return True
    if step.now_ms < due:
        text = f"seat {seat.number} may be absent for {due - step.now_ms} ms more (rules 9.5, 10.2)"
        raise Refused(RefusalKind.UNAVAILABLE, "TOO_EARLY", text, wait_ms=str(due - step.now_ms))
    if due != _unseen_until(seat, pace):
        leave(step, seat, STATUS_REASON_UNSPECIFIED if seat.stack else STATUS_REASON_OUT_OF_CHIPS)
    elif command.is_present:
        _connect(step, seat, True, 0)
    else:
        _lose(step, seat)
    return False


def _lose(step: Step, seat: Seat) -> None:
    if seat.connected:
        seat = _connect(step, seat, False, seat.unseen_since_ms)
    if not seat.is_sitting_out:
        step.sit_out(seat, STATUS_REASON_CONNECTION_LOST)
        reschedule(step)


def take_over(step: Step, command: TakeOver) -> None:
    """The table has a new owner, who has no streams yet: everyone counts as present until 60 s have passed (9.5).

    The running turn begins anew (9.6).
    """
    for seat in list(step.state.seats.values()):
        # Earlier releases did not write down since when a player sits out.
        out = seat.out_since_ms or (step.now_ms if seat.is_sitting_out else 0)
        _connect(step, step.change_seat(seat, out_since_ms=out), True, step.now_ms)
    if step.state.turn is not None:
        restart_turn(step, command)


def timed(before: TableState, after: TableState) -> tuple[AbsenceTiming, ...]:
    """What the clock must know after a change, written into the seats of `after` too: the new version names it.

    So it does where a player sat down, was sat out or came back.
    """
    told = []
    for number, seat in after.seats.items():
        old = before.seats.get(number)
        if old is seat:
            continue
        was = old if old is not None and old.seating_id == seat.seating_id else None
        if was is None or was.is_out_by_word != seat.is_out_by_word:
            after.seats[number] = replace(seat, status_version=after.version)
        due = due_ms(seat, after.pace)
        if due != (due_ms(was, before.pace) if was is not None else 0):
            after.seats[number] = replace(after.seats[number], absence_generation=after.version)
            told.append(_timing(seat, after.version, due))
    told += [
        _timing(old, after.version, 0)
        for old in before.seats.values()
        if due_ms(old, before.pace) and after.seat_of(old.player_id) is None
    ]
    return tuple(told)


def _timing(seat: Seat, generation: int, due: int) -> AbsenceTiming:
    due_at = timestamp(due) if due else None
    return AbsenceTiming(player_id=seat.player_id, generation=generation, due_at=due_at)
