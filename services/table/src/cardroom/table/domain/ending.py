"""The end of a hand: stacks, settlement, who is out of chips, who leaves, when the next hand comes."""

from __future__ import annotations

from collections.abc import Mapping

from cardroom.contracts.events.v1.events_pb2 import HandSettled
from cardroom.contracts.table.v1.view_pb2 import (
    STATUS_REASON_OUT_OF_CHIPS,
    STATUS_REASON_UNSPECIFIED,
    HandEnded,
    PlayerLeft,
)
from cardroom.table.domain.commands import VoidHand
from cardroom.table.domain.errors import InvariantBroken
from cardroom.table.domain.schedule import reschedule, rest
from cardroom.table.domain.state import Seat
from cardroom.table.domain.step import EndedSeating, Step, timestamp
from cardroom.table.domain.topping_up import add_chips, drop_top_up
from cardroom.table.domain.view import hand_view, void_hand_view

__all__ = ["end_hand", "remove", "void_hand"]

CURRENCY = "PLAY"


def end_hand(step: Step) -> None:
    """The hand is over: chips go to the stacks and the settlement, then the table gets ready for the next one."""
    state = step.state
    hand = state.hand
    assert hand is not None
    result = hand.result
    assert result is not None
    if sum(result.deltas.values()) != 0:
        raise InvariantBroken(f"hand {state.hand_number}: the deltas sum to {sum(result.deltas.values())}")
    ended = HandEnded(
        hand_number=state.hand_number,
        outcomes=_outcomes(result.stacks, result.deltas),
        had_showdown=bool(result.shown or result.mucked),
        pot_total=sum(pot.amount for pot in result.pots),
    )
    state.last_hand = hand_view(state, hand)
    _finish(step, ended)


def void_hand(step: Step, _: VoidHand) -> bool:
    """The hand cannot be completed: all is as if it had not been dealt, but for its number (14.4).

    Who was to pay the big blind still is. Answers whether there was no hand to be void.
    """
    state = step.state
    if state.hand is None:
        return True
    stacks = {number: state.seats[number].stack for number, _ in state.hand.config.seats}
    ended = HandEnded(hand_number=state.hand_number, outcomes=_outcomes(stacks, dict.fromkeys(stacks, 0)), is_void=True)
    state.last_hand = void_hand_view(state, state.hand)
    _restore_positions(step)
    state.turn = None
    _finish(step, ended)
    return False


def _restore_positions(step: Step) -> None:
    """Button, blinds and debts are those before the hand: who no longer waited for the big blind may again (3.4)."""
    state = step.state
    assert state.positions_before is not None
    before = {number: state.status_of(seat) for number, seat in state.seats.items()}
    state.positions = state.positions_before
    for number, seat in sorted(state.seats.items()):
        if state.status_of(seat) != before[number]:
            step.tell_status(seat, STATUS_REASON_UNSPECIFIED)


def _outcomes(stacks: Mapping[int, int], deltas: Mapping[int, int]) -> list[HandEnded.Outcome]:
    return [HandEnded.Outcome(seat=seat, stack=stack, delta=deltas[seat]) for seat, stack in stacks.items()]


def _finish(step: Step, ended: HandEnded) -> None:
    """Tell and settle the end; then what lies between two hands begins, in the order that the README gives (2.5)."""
    state = step.state
    step.tell(hand_ended=ended)
    step.settlement = _settlement(step, ended)
    state.hand = None
    state.positions_before = None
    for outcome in ended.outcomes:
        step.change_seat(state.seats[outcome.seat], stack=outcome.stack, is_played_at_once=False)
    rest(step, had_showdown=ended.had_showdown)
    _part_ways(step)
    reschedule(step, is_new=True)
    if state.edition < 1:
        state.rest_until_ms = 0
    state.edition = 0


def _settlement(step: Step, ended: HandEnded) -> HandSettled:
    state = step.state
    return HandSettled(
        table_id=state.table_id,
        hand_number=state.hand_number,
        currency=CURRENCY,
        deltas=[
            HandSettled.Delta(player_id=state.seats[one.seat].player_id, delta=one.delta, stack=one.stack)
            for one in ended.outcomes
        ],
        ended_at=timestamp(step.now_ms),
    )


def _part_ways(step: Step) -> None:
    """Who asked to leave leaves; top-ups come to the others (10.4); who has no chips then sits out."""
    for seat in sorted(step.state.seats.values(), key=lambda seat: seat.number):
        if seat.is_leaving:
            remove(step, seat)
            continue
        _judge_stack(step, add_chips(step, seat))


def _judge_stack(step: Step, seat: Seat) -> None:
    if seat.stack == 0 and not seat.is_sitting_out:
        step.sit_out(seat, STATUS_REASON_OUT_OF_CHIPS, is_out_of_chips=True)
    elif seat.stack == 0 and seat.last_hand_number == step.state.hand_number:
        # Sat out before, and lost the last chips now: the two minutes begin (10.2).
        step.change_seat(seat, out_since_ms=step.now_ms)


def remove(step: Step, seat: Seat) -> EndedSeating:
    """Take a player and their chips from the table; answers how the stay ended."""
    state = step.state
    ended = EndedSeating(seat.seating_id, True, seat.stack, seat.last_hand_number)
    drop_top_up(step, seat)
    del state.seats[seat.number]
    state.forget_debts(seat.number)
    step.brought -= seat.stack
    step.ended.append(ended)
    step.tell(player_left=PlayerLeft(seat=seat.number, player_id=seat.player_id))
    return ended
