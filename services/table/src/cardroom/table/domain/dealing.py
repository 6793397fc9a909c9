"""Dealing the next hand (rules 2, 3)."""

from __future__ import annotations

from typing import Final

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import OwnCards
from cardroom.engine import Hand, HandConfig
from cardroom.engine.blinds import DealPlan, next_positions
from cardroom.engine.cards import text
from cardroom.engine.events import Event, HoleCardsGiven
from cardroom.engine.games import Game
from cardroom.table.domain import hand_events, playing
from cardroom.table.domain.commands import DealHand
from cardroom.table.domain.errors import InvariantBroken
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Step

__all__ = ["GAMES", "deal_hand", "plan_hand"]

GAMES: Final = {
    pb.GAME_NO_LIMIT_HOLDEM: Game.NO_LIMIT_HOLDEM,
    pb.GAME_POT_LIMIT_OMAHA: Game.POT_LIMIT_OMAHA,
}


def plan_hand(state: TableState, command: DealHand) -> DealPlan | None:
    """Where button and blinds are in the hand that is due, and who is dealt in (§3); None when too few can play."""
    return next_positions(
        state.positions,
        {number: seat.can_play for number, seat in state.seats.items()},
        draw=lambda count: command.button_draw % count,
    )


def deal_hand(step: Step, command: DealHand) -> bool:
    """The pause is over: deal if at least two can play (2.4). Answers whether the call was stale."""
    state = step.state
    if state.hand is not None or not state.next_deal_ms or state.timing_generation != command.generation:
        return True
    plan = plan_hand(state, command)
    if plan is None:
        raise InvariantBroken("a hand is due at a table where fewer than two can play")
    if step.deck is None:
        raise InvariantBroken("a hand is due and there is no deck")
    _seat_everyone(step, plan)
    state.next_deal_ms = 0
    state.hand_number += 1
    state.last_hand = None
    state.answered.clear()
    state.edition = command.edition
    step.dealt = step.deck
    state.hand, events = Hand.start(_config(step, plan), step.deck.cards)
    _tell_start(step, plan, events)
    playing.go_on(step)
    return False


def _seat_everyone(step: Step, plan: DealPlan) -> None:
    """Remember the places and tell who no longer waits for the big blind (3.4)."""
    state = step.state
    before = {number: state.status_of(state.seats[number]) for number in plan.dealt_in}
    state.positions_before, state.positions = state.positions, plan.positions
    for number in plan.dealt_in:
        seat = step.change_seat(state.seats[number], last_hand_number=state.hand_number + 1)
        if state.status_of(seat) != before[number]:
            step.tell_status(seat, pb.STATUS_REASON_UNSPECIFIED)


def _config(step: Step, plan: DealPlan) -> HandConfig:
    state, stakes = step.state, step.state.stakes
    return HandConfig(
        game=GAMES[stakes.game],
        small_blind=stakes.small_blind,
        big_blind=stakes.big_blind,
        ante=stakes.ante,
        button=plan.button,
        small_blind_seat=plan.small_blind_seat,
        big_blind_seat=plan.big_blind_seat,
        seats=tuple([(number, state.seats[number].stack) for number in sorted(plan.dealt_in)]),
    )


def _tell_start(step: Step, plan: DealPlan, events: list[Event]) -> None:
    state = step.state
    dealt_in = [
        pb.HandStarted.DealtIn(seat=number, player_id=state.seats[number].player_id, stack=state.seats[number].stack)
        for number in sorted(plan.dealt_in)
    ]
    step.tell(
        hand_started=pb.HandStarted(
            hand_number=state.hand_number,
            button_seat=plan.button,
            small_blind_seat=plan.small_blind_seat or 0,
            big_blind_seat=plan.big_blind_seat,
            players=dealt_in,
        )
    )
    step.events.extend(hand_events.public(events, 0, pb.ACTION_CAUSE_UNSPECIFIED))
    for event in events:
        if type(event) is HoleCardsGiven:
            player = state.seats[event.seat].player_id
            step.own_cards[player] = OwnCards(hand_number=state.hand_number, cards=text(event.cards))
