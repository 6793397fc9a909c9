"""The end of a hand: stacks, settlement, who is out of chips, who leaves, when the next hand comes."""

from __future__ import annotations

from cardroom.contracts.events.v1.events_pb2 import HandSettled
from cardroom.contracts.table.v1.view_pb2 import STATUS_REASON_OUT_OF_CHIPS, HandEnded, PlayerLeft
from cardroom.engine import Hand, blinds
from cardroom.table.domain.errors import InvariantBroken
from cardroom.table.domain.schedule import reschedule, rest
from cardroom.table.domain.state import Seat
from cardroom.table.domain.step import EndedSeating, Step, timestamp
from cardroom.table.domain.topping_up import add_chips, drop_top_up
from cardroom.table.domain.view import hand_view

__all__ = ["end_hand", "remove"]

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
    outcomes = [
        HandEnded.Outcome(seat=seat, stack=stack, delta=result.deltas[seat]) for seat, stack in result.stacks.items()
    ]
    had_showdown = bool(result.shown or result.mucked)
    step.tell(
        hand_ended=HandEnded(
            hand_number=state.hand_number,
            outcomes=outcomes,
            had_showdown=had_showdown,
            pot_total=sum(pot.amount for pot in result.pots),
        )
    )
    step.settlement = _settlement(step, hand)
    state.last_hand = hand_view(state, hand)
    state.hand = None
    for number, stack in result.stacks.items():
        step.change_seat(state.seats[number], stack=stack, is_played_at_once=False)
    rest(step, had_showdown=had_showdown)
    _part_ways(step)
    reschedule(step, is_new=True)
    if state.edition < 1:
        state.rest_until_ms = 0
    state.edition = 0


def _settlement(step: Step, hand: Hand) -> HandSettled:
    state, result = step.state, hand.result
    assert result is not None
    return HandSettled(
        table_id=state.table_id,
        hand_number=state.hand_number,
        currency=CURRENCY,
        deltas=[
            HandSettled.Delta(
                player_id=state.seats[number].player_id, delta=result.deltas[number], stack=result.stacks[number]
            )
            for number in result.stacks
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
    state.positions = blinds.leave(state.positions, seat.number)
    step.brought -= seat.stack
    step.ended.append(ended)
    step.tell(player_left=PlayerLeft(seat=seat.number, player_id=seat.player_id))
    return ended
