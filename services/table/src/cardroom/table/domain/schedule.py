"""When the next hand comes (rules 2.4, 2.5): due after a pause while at least two can play, not at all otherwise."""

from __future__ import annotations

from cardroom.table.domain.step import Step

__all__ = ["reschedule"]

FEWEST = 2


def reschedule(step: Step, pause_ms: int, *, is_new: bool = False) -> None:
    """Begin or stop waiting for the next deal, as the number of players who can play says.

    A deal that is due already stays due when it was; `is_new` says that a hand has just ended and there is none.
    """
    state = step.state
    if state.hand is not None:
        return
    enough = sum([seat.can_play for seat in state.seats.values()]) >= FEWEST
    if enough and (is_new or not state.next_deal_ms):
        step.schedule_deal(pause_ms)
    elif not enough and state.next_deal_ms:
        step.cancel_deal()
    elif is_new:
        step.retime()
