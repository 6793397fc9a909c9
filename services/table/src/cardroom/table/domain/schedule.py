"""When the next hand comes (rules 2.4, 2.5): due after a pause while at least two can play, not at all otherwise."""

from __future__ import annotations

from cardroom.table.domain.step import Step

__all__ = ["reschedule", "rest"]

FEWEST = 2


def rest(step: Step, *, had_showdown: bool) -> None:
    """A hand has just ended: the table rests before the next one."""
    state = step.state
    state.rest_until_ms = step.now_ms + (state.pace.showdown_pause_ms if had_showdown else state.pace.pause_ms)


def reschedule(step: Step, *, is_new: bool = False) -> None:
    """Begin or stop waiting for the next deal, as the number of players who can play says.

    A deal that is due already stays due when it was; `is_new` says that a hand has just ended and there is none.
    """
    state = step.state
    if state.hand is not None:
        return
    enough = sum([seat.can_play for seat in state.seats.values()]) >= FEWEST
    if enough and (is_new or not state.next_deal_ms):
        step.schedule_deal(is_new=is_new)
    elif not enough and state.next_deal_ms:
        step.cancel_deal()
    elif is_new:
        step.retime()
