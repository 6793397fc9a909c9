"""Opening and closing a table, sitting down, sitting out, coming back, leaving (rules 3.4, 10.1 to 10.3)."""

from __future__ import annotations

from typing import Final

from cardroom.contracts.table.v1.table_pb2 import ComeBackResponse, SitOutResponse
from cardroom.contracts.table.v1.view_pb2 import (
    STATUS_REASON_PLAYER,
    PlayerSeated,
    Stakes,
    StatusReason,
    TimeBankChanged,
)
from cardroom.table.domain.commands import (
    MOST_CHIPS,
    CloseTable,
    ComeBack,
    EndSeating,
    OpenTable,
    SeatPlayer,
    SetTimeBank,
    SitOut,
)
from cardroom.table.domain.dealing import GAMES
from cardroom.table.domain.ending import remove
from cardroom.table.domain.errors import RefusalKind, Refused
from cardroom.table.domain.playing import leave_hand, show_bank
from cardroom.table.domain.schedule import reschedule
from cardroom.table.domain.state import Seat
from cardroom.table.domain.step import EndedSeating, Step
from cardroom.table.domain.view import seat_view

__all__ = [
    "check_stakes",
    "close_table",
    "come_back",
    "end_seating",
    "leave",
    "open_table",
    "seat_player",
    "set_bank",
    "sit_out",
]

MOST_SEATS: Final = 9


def check_stakes(stakes: Stakes) -> None:
    """Refuse stakes that no hand can be played for, saying which amount is wrong."""
    wrong = ""
    if stakes.game not in GAMES:
        wrong = f"game {stakes.game} is not dealt here"
    elif not 2 <= stakes.seats <= MOST_SEATS:
        wrong = f"seats {stakes.seats}: a table has 2 to {MOST_SEATS}"
    elif stakes.small_blind < 1 or stakes.big_blind != 2 * stakes.small_blind:
        wrong = f"blinds {stakes.small_blind}/{stakes.big_blind}: the small one is at least 1, the big one twice it"
    elif not 0 <= stakes.ante <= stakes.big_blind:
        wrong = f"ante {stakes.ante}: from 0 to the big blind"
    elif not stakes.big_blind <= stakes.min_buy_in <= stakes.max_buy_in <= MOST_CHIPS:
        wrong = (
            f"buy-in {stakes.min_buy_in} to {stakes.max_buy_in}: from at least the big blind, the least first, "
            f"to at most {MOST_CHIPS}"
        )
    if wrong:
        raise Refused(RefusalKind.INVALID, "INVALID_STAKES", wrong)


def open_table(step: Step, command: OpenTable) -> None:
    """A new table, or a repeat with the same content."""
    state = step.state
    if state.version and (state.name != command.name or state.stakes != command.stakes):
        text = f"table {state.table_id} is open under the name {state.name!r} with other stakes or name: use a new id"
        raise Refused(RefusalKind.EXISTS, "TABLE_DIFFERS", text)


def close_table(step: Step, _: CloseTable) -> None:
    """Close an empty table for good."""
    state = step.state
    if state.seats:
        text = f"{len(state.seats)} player(s) sit at the table: it closes when it is empty"
        raise Refused(RefusalKind.PRECONDITION, "TABLE_OCCUPIED", text)
    state.is_closed = True


def seat_player(step: Step, command: SeatPlayer) -> None:
    """Put a player with chips on a seat. The chips are new to the table."""
    state = step.state
    stay = state.seat_of_stay(command.seating_id)
    if stay is not None:
        if (stay.player_id, stay.number) != (command.player_id, command.seat):
            text = f"seating {command.seating_id} is of another player or seat: use a new id"
            raise Refused(RefusalKind.EXISTS, "SEATING_DIFFERS", text)
        return
    _check_seat(step, command)
    seat = Seat(
        number=command.seat,
        seating_id=command.seating_id,
        player_id=command.player_id,
        display_name=command.display_name,
        stack=command.stack,
        time_bank_ms=command.time_bank_ms,
        # What an earlier stay was told and comes again is not newer than this.
        time_bank_generation=command.time_bank_generation,
        # Their stream comes after they sit; nobody counts as away before 60 s without one.
        unseen_since_ms=step.now_ms,
    )
    state.seats[seat.number] = seat
    # The seat may have been known by another player's debts.
    state.forget_debts(seat.number)
    step.brought += seat.stack
    step.tell(player_seated=PlayerSeated(seat=seat_view(state, seat, seat.stack)))
    reschedule(step)


def _check_seat(step: Step, command: SeatPlayer) -> None:
    state = step.state
    if state.is_closed:
        raise Refused(RefusalKind.PRECONDITION, "TABLE_CLOSED", "the table is closed: choose another")
    if not 1 <= command.seat <= state.stakes.seats:
        text = f"seat {command.seat}: the table's seats are 1 to {state.stakes.seats}"
        raise Refused(RefusalKind.INVALID, "SEAT_UNKNOWN", text)
    if not 1 <= command.stack <= MOST_CHIPS:
        text = f"stack {command.stack}: bring 1 to {MOST_CHIPS} chips"
        raise Refused(RefusalKind.INVALID, "INVALID_STACK", text)
    if command.seat in state.seats:
        raise Refused(RefusalKind.PRECONDITION, "SEAT_TAKEN", f"seat {command.seat} is taken: choose another")
    if state.seat_of(command.player_id) is not None:
        text = "the player sits at this table already: one seat for each player"
        raise Refused(RefusalKind.PRECONDITION, "SEAT_TAKEN", text)


def end_seating(step: Step, command: EndSeating) -> EndedSeating | None:
    """End a stay: at once, or when the running hand ends (10.3), and then the answer is None for now."""
    state = step.state
    seat = state.seat_of_stay(command.seating_id)
    if seat is None:
        ended = EndedSeating(command.seating_id, False, 0, 0)
        step.ended.append(ended)
        return ended
    return leave(step, seat, STATUS_REASON_PLAYER)


def leave(step: Step, seat: Seat, reason: StatusReason.ValueType) -> EndedSeating | None:
    """A player leaves: at once, or when the running hand ends, and then the answer is None for now."""
    state = step.state
    if state.is_in_hand(seat.number):
        if not seat.is_leaving:
            seat = step.change_seat(seat, is_leaving=True, is_played_at_once=True)
            step.tell_status(seat, reason)
            leave_hand(step, seat)
        return next((ended for ended in step.ended if ended.seating_id == seat.seating_id), None)
    gone = remove(step, seat)
    reschedule(step)
    return gone


def sit_out(step: Step, command: SitOut) -> SitOutResponse:
    """Sit out from the next hand on (10.1). Who does so for want of chips already then stays out when new ones come."""
    seat = _seat_of(step, command.player_id)
    if _is_late(step, seat, command.seen_version):
        return SitOutResponse(status=step.state.status_of(seat), version=_version(step))
    if seat.is_out_of_chips and not seat.is_leaving:
        step.tell_status(step.change_seat(seat, is_out_of_chips=False), STATUS_REASON_PLAYER)
    elif not seat.is_sitting_out and not seat.is_leaving:
        seat = step.sit_out(seat, STATUS_REASON_PLAYER)
        reschedule(step)
    return SitOutResponse(status=step.state.status_of(seat), version=_version(step))


def come_back(step: Step, command: ComeBack) -> ComeBackResponse:
    """Play again, by 3.4; turns of the running hand are the player's own again (9.4)."""
    state = step.state
    seat = _seat_of(step, command.player_id)
    is_late = _is_late(step, seat, command.seen_version)
    if seat.is_sitting_out and not seat.is_leaving and not is_late:
        if not seat.stack:
            text = "you have no chips at this table: top up first"
            raise Refused(RefusalKind.PRECONDITION, "OUT_OF_CHIPS", text)
        # Who comes back without a stream has another 60 s to open one.
        unseen = step.now_ms if seat.unseen_since_ms else 0
        seat = step.change_seat(
            seat,
            is_sitting_out=False,
            is_out_of_chips=False,
            is_played_at_once=False,
            timeouts=0,
            out_since_ms=0,
            unseen_since_ms=unseen,
        )
        step.tell_status(seat, STATUS_REASON_PLAYER)
        reschedule(step)
    return ComeBackResponse(status=state.status_of(seat), version=_version(step))


def set_bank(step: Step, command: SetTimeBank) -> bool:
    """A time bank has a new content. Answers whether the call was stale."""
    seat = step.state.seat_of(command.player_id)
    if seat is None or command.generation <= seat.time_bank_generation:
        return True
    seat = step.change_seat(seat, time_bank_ms=command.left_ms, time_bank_generation=command.generation)
    show_bank(step, seat)
    step.tell(time_bank_changed=TimeBankChanged(seat=seat.number, time_bank_left_ms=command.left_ms))
    return False


def _seat_of(step: Step, player_id: str) -> Seat:
    seat = step.state.seat_of(player_id)
    if seat is None:
        raise Refused(RefusalKind.PERMISSION, "NOT_SEATED", "you do not sit at this table: sit down first")
    return seat


def _is_late(step: Step, seat: Seat, seen_version: int) -> bool:
    """Whether a player asked before they sat down, were sat out or came back: a repeat that was held up on its way."""
    if not 0 <= seen_version <= step.state.version:
        text = f"the table has not had version {seen_version}: send the last one that you have seen, or 0"
        raise Refused(RefusalKind.INVALID, "VERSION_UNKNOWN", text)
    return 0 < seen_version < seat.status_version


def _version(step: Step) -> int:
    """The version that the answer belongs to."""
    return step.state.version + (1 if step.events else 0)
