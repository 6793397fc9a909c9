"""More chips for a seat: between hands only, up to the table's biggest buy-in (rule 10.4)."""

from __future__ import annotations

from cardroom.contracts.table.v1.view_pb2 import STATUS_REASON_PLAYER, StackChanged
from cardroom.table.domain.commands import MOST_CHIPS, TopUp
from cardroom.table.domain.errors import RefusalKind, Refused
from cardroom.table.domain.schedule import reschedule
from cardroom.table.domain.state import Seat
from cardroom.table.domain.step import Step, ToppedUp

__all__ = ["add_chips", "drop_top_up", "top_up"]


def top_up(step: Step, command: TopUp) -> ToppedUp | None:
    """Bring chips to a stay: at once, or when the running hand ends, and then the answer is None for now.

    Nothing is added for a player who is leaving or has left.
    """
    state = step.state
    if not 1 <= command.amount <= MOST_CHIPS:
        most = state.stakes.max_buy_in
        text = f"a top-up of {command.amount}: bring 1 to {most} chips; what the stack is short of {most} is added"
        raise Refused(RefusalKind.INVALID, "INVALID_STACK", text)
    seat = state.seat_of_stay(command.seating_id)
    if seat is not None and seat.top_up_id == command.top_up_id:
        return None
    if seat is None or seat.is_leaving:
        step.topped_up.append(ToppedUp(command.top_up_id, 0))
        return step.topped_up[-1]
    if seat.top_up_id:
        text = f"another top-up of {seat.top_up} chips waits for the end of the hand: one at a time"
        raise Refused(RefusalKind.PRECONDITION, "TOP_UP_PENDING", text)
    seat = step.change_seat(seat, top_up_id=command.top_up_id, top_up=command.amount)
    if state.hand is not None:
        return None
    add_chips(step, seat)
    reschedule(step)
    return step.topped_up[-1]


def add_chips(step: Step, seat: Seat) -> Seat:
    """Between hands: what waits for the seat comes to it. Who sat out for want of chips plays again, by 3.4."""
    if not seat.top_up_id:
        return seat
    added = max(0, min(seat.top_up, step.state.stakes.max_buy_in - seat.stack))
    step.topped_up.append(ToppedUp(seat.top_up_id, added))
    step.brought += added
    seat = step.change_seat(seat, stack=seat.stack + added, top_up_id="", top_up=0)
    if added:
        step.tell(stack_changed=StackChanged(seat=seat.number, stack=seat.stack))
    if seat.is_out_of_chips and seat.stack:
        unseen = step.now_ms if seat.unseen_since_ms else 0
        seat = step.change_seat(
            seat, is_sitting_out=False, is_out_of_chips=False, timeouts=0, out_since_ms=0, unseen_since_ms=unseen
        )
        step.tell_status(seat, STATUS_REASON_PLAYER)
    return seat


def drop_top_up(step: Step, seat: Seat) -> None:
    """The player leaves: what waits for the seat is not added."""
    if seat.top_up_id:
        step.topped_up.append(ToppedUp(seat.top_up_id, 0))
