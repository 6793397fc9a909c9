"""A running hand: turns, actions, and those that the table takes for players who cannot (rules 9.3, 9.4, 10.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cardroom.contracts.table.v1.table_pb2 import ActResponse
from cardroom.contracts.table.v1.view_pb2 import (
    ACTION_CAUSE_ABSENT,
    ACTION_CAUSE_PLAYER,
    ACTION_CAUSE_TIMEOUT,
    ACTION_KIND_CALL,
    ACTION_KIND_CHECK,
    ACTION_KIND_FOLD,
    ACTION_KIND_RAISE,
    STATUS_REASON_TIMEOUTS,
    ActionCause,
    ActionTaken,
    TimeBankStarted,
    TurnToken,
    TurnView,
)
from cardroom.engine.actions import CALL, CHECK, FOLD, Action, RaiseTo
from cardroom.engine.errors import IllegalAction
from cardroom.table.domain import ending, hand_events
from cardroom.table.domain.commands import Act, EndTurn, RestartTurn, StartTimeBank, TakeOver, Token
from cardroom.table.domain.errors import PassedTurn, RefusalKind, Refused
from cardroom.table.domain.state import Answered, Seat, Turn
from cardroom.table.domain.step import Step, timestamp

__all__ = ["act", "end_turn", "go_on", "leave_hand", "restart_turn", "show_bank", "start_time_bank", "time_turn"]

TIMEOUTS_IN_A_ROW: Final = 2
TIMEOUT_GRACE_MS: Final = 250
"""A timeout is applied no sooner than this after the deadline (9.7)."""


def act(step: Step, command: Act) -> ActResponse:
    """The player's action for the turn that it names. A repeat gets the first answer; a passed turn is refused."""
    state = step.state
    if command.token.hand_number < 1 or command.token.action_number < 1:
        text = f"the turn {_name(command.token)} names none: send the token of the last turn_started"
        raise Refused(RefusalKind.INVALID, "TURN_MISSING", text)
    if command.token.hand_number == state.hand_number:
        earlier = state.answered.get(command.token.action_number)
        if earlier is not None and earlier.act == command:
            return earlier.answer
    turn = _turn_of(step, command)
    action = _engine_action(command)
    try:
        taken = _take(step, turn.seat, action, ACTION_CAUSE_PLAYER)
    except IllegalAction as refusal:
        raise _illegal(command, refusal) from refusal
    seat = state.seats[turn.seat]
    if seat.timeouts:
        step.change_seat(seat, timeouts=0)
    answer = ActResponse(version=state.version + 1, turn=turn.view.token, taken=taken)
    state.answered[command.token.action_number] = Answered(command, answer)
    go_on(step)
    return answer


def _turn_of(step: Step, command: Act) -> Turn:
    state, turn, token = step.state, step.state.turn, command.token
    is_seated = state.seat_of(command.player_id) is not None
    not_seated = Refused(RefusalKind.PERMISSION, "NOT_SEATED", "you do not sit at this table: sit down first")
    if _has_passed(step, token):
        now = "nobody is asked now" if turn is None else f"the turn now is {_name(turn.token)}"
        late = Refused(RefusalKind.PRECONDITION, "LATE_TURN", f"the turn {_name(token)} has passed: {now}")
        raise PassedTurn(late if is_seated else not_seated)
    if not is_seated:
        raise not_seated
    if turn is None or token != turn.token:
        text = f"the turn {_name(token)} has not come: wait for its turn_started"
        raise Refused(RefusalKind.PRECONDITION, "NOT_YOUR_TURN", text)
    if turn.player_id != command.player_id:
        text = f"it is the turn of seat {turn.seat}: wait for a turn_started with your seat"
        raise Refused(RefusalKind.PRECONDITION, "NOT_YOUR_TURN", text)
    return turn


def _has_passed(step: Step, token: Token) -> bool:
    if token.hand_number != step.state.hand_number:
        return token.hand_number < step.state.hand_number
    turn = step.state.turn
    return turn is None or token.action_number < turn.token.action_number


def _name(token: Token) -> str:
    return f"{token.hand_number}/{token.action_number}"


def _engine_action(command: Act) -> Action:
    if command.kind == ACTION_KIND_RAISE:
        return RaiseTo(command.amount)
    if command.amount:
        text = f"amount {command.amount} without a bet or raise: leave it 0 to fold, check or call"
        raise Refused(RefusalKind.INVALID, "ILLEGAL_AMOUNT", text)
    if command.kind == ACTION_KIND_FOLD:
        return FOLD
    if command.kind == ACTION_KIND_CHECK:
        return CHECK
    if command.kind == ACTION_KIND_CALL:
        return CALL
    text = f"action kind {command.kind} is none: send fold, check, call or raise"
    raise Refused(RefusalKind.INVALID, "ILLEGAL_ACTION", text)


def _illegal(command: Act, refusal: IllegalAction) -> Refused:
    if command.kind == ACTION_KIND_RAISE and refusal.nearest:
        near = {"nearest_below": str(refusal.nearest[0]), "nearest_above": str(refusal.nearest[-1])}
        return Refused(RefusalKind.INVALID, "ILLEGAL_AMOUNT", str(refusal), **near)
    return Refused(RefusalKind.INVALID, "ILLEGAL_ACTION", str(refusal))


def _take(step: Step, seat: int, action: Action, cause: ActionCause.ValueType) -> ActionTaken:
    """Play an action in the engine and tell what came of it; answers the action as everyone sees it."""
    state = step.state
    assert state.hand is not None
    assert state.turn is not None
    assert state.turn.seat == seat, "only the actor acts"
    events = state.hand.act(seat, action)
    told = list(hand_events.public(events, state.turn.token.action_number, cause))
    step.events.extend(told)
    return told[0].action_taken


def go_on(step: Step) -> None:
    """Ask the next player, acting at once for those who are played at once; end the hand when it is over."""
    hand = step.state.hand
    assert hand is not None
    while True:
        number = step.state.turn.token.action_number + 1 if step.state.turn is not None else 1
        if hand.is_over:
            step.state.turn = None
            ending.end_hand(step)
            return
        _ask(step, number)
        actor = hand.actor
        assert actor is not None, "a hand that is not over asks somebody"
        seat = step.state.seats[actor]
        if not seat.is_played_at_once:
            assert step.state.turn is not None
            step.retime()
            step.tell(turn_started=step.state.turn.view)
            return
        _take(step, actor, _default_action(step, seat), ACTION_CAUSE_ABSENT)


def _ask(step: Step, action_number: int) -> None:
    """Begin a turn of the hand's actor."""
    state = step.state
    assert state.hand is not None
    legal = state.hand.legal()
    assert legal is not None
    seat = state.seats[legal.seat]
    deadline = step.now_ms + state.pace.turn_ms
    view = TurnView(
        token=TurnToken(hand_number=state.hand_number, action_number=action_number),
        seat=seat.number,
        player_id=seat.player_id,
        legal=hand_events.legal_actions(legal),
        started_at=timestamp(step.now_ms),
        base_deadline=timestamp(deadline),
        time_bank_left_ms=seat.time_bank_ms,
    )
    token = Token(state.hand_number, action_number)
    state.turn = Turn(token, seat.number, seat.player_id, step.now_ms, deadline, 0, view)


def _default_action(step: Step, seat: Seat) -> Action:
    """A check if that is free, else a fold (9.3); a leaving player's cards are folded (10.3)."""
    assert step.state.turn is not None
    return CHECK if step.state.turn.view.legal.can_check and not seat.is_leaving else FOLD


def end_turn(step: Step, command: EndTurn) -> bool:
    """Time is up: check or fold for the actor (9.3). Answers whether the call was stale."""
    state, turn = step.state, step.state.turn
    if turn is None or turn.token != command.token or state.timing_generation != command.generation:
        return True
    earliest = (turn.bank_deadline_ms or turn.base_deadline_ms) + TIMEOUT_GRACE_MS
    if step.now_ms < earliest:
        text = f"the turn {_name(turn.token)} may not time out for {earliest - step.now_ms} ms more (rule 9.7)"
        raise Refused(RefusalKind.UNAVAILABLE, "TOO_EARLY", text, wait_ms=str(earliest - step.now_ms))
    seat = step.change_seat(state.seats[turn.seat], timeouts=state.seats[turn.seat].timeouts + 1)
    _take(step, seat.number, _default_action(step, seat), ACTION_CAUSE_TIMEOUT)
    if seat.timeouts >= TIMEOUTS_IN_A_ROW and not seat.is_leaving:
        if seat.is_sitting_out:
            step.change_seat(seat, is_played_at_once=True)
            step.tell_status(seat, STATUS_REASON_TIMEOUTS)
        else:
            step.sit_out(seat, STATUS_REASON_TIMEOUTS, is_played_at_once=True)
    go_on(step)
    return False


def leave_hand(step: Step, seat: Seat) -> None:
    """A player who is leaving folds at their turn: now, if it is theirs (10.3)."""
    turn = step.state.turn
    if turn is not None and turn.seat == seat.number:
        _take(step, seat.number, FOLD, ACTION_CAUSE_ABSENT)
        go_on(step)


def start_time_bank(step: Step, command: StartTimeBank) -> bool:
    """The actor's bank begins to run; everyone is told (9.1). Answers whether the call was stale."""
    state, turn = step.state, step.state.turn
    if turn is None or turn.token != command.token or state.timing_generation != command.generation:
        return True
    if turn.bank_deadline_ms:
        return False
    view = TurnView()
    view.CopyFrom(turn.view)
    view.bank_deadline.CopyFrom(timestamp(command.bank_deadline_ms))
    state.turn = replace(turn, bank_deadline_ms=command.bank_deadline_ms, view=view)
    step.tell(time_bank_started=TimeBankStarted(token=view.token, seat=turn.seat, bank_deadline=view.bank_deadline))
    return False


def show_bank(step: Step, seat: Seat) -> None:
    """The player on `seat` has another time bank: in their turn everyone sees it (9.1). One that runs runs on."""
    turn = step.state.turn
    if turn is not None and turn.seat == seat.number and not turn.bank_deadline_ms:
        view = TurnView()
        view.CopyFrom(turn.view)
        view.time_bank_left_ms = seat.time_bank_ms
        step.state.turn = replace(turn, view=view)


def time_turn(step: Step, seat: Seat) -> None:
    """The player on `seat` came or went: if it is their turn, the clock must know whether their bank counts (9.5).

    A bank that runs already runs on: it was there when it was needed.
    """
    turn = step.state.turn
    if turn is not None and turn.seat == seat.number and not turn.bank_deadline_ms:
        step.retime()


def restart_turn(step: Step, _: RestartTurn | TakeOver) -> None:
    """The running turn begins anew with a full clock (9.6); between hands, the pause before a deal that is due does."""
    turn = step.state.turn
    if turn is None:
        if step.state.next_deal_ms:
            step.schedule_deal()
        return
    _ask(step, turn.token.action_number)
    assert step.state.turn is not None
    step.retime()
    step.tell(turn_started=step.state.turn.view)
