"""What can be saved of a table whose running hand cannot be decided again: everything but the hand (rule 14.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.engine import Hand, HandConfig
from cardroom.table.domain import presence
from cardroom.table.domain.commands import Act, DealHand, EndTurn, RestartTurn, StartTimeBank
from cardroom.table.domain.dealing import GAMES, plan_hand
from cardroom.table.domain.decide import handle
from cardroom.table.domain.errors import ReplayMismatch
from cardroom.table.domain.replay import Entry
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Step

__all__ = ["salvage"]

_PLAY: Final = (Act, StartTimeBank, EndTurn, RestartTurn)


def salvage(state: TableState, entries: Iterable[Entry]) -> TableState | None:
    """The table after `entries`, which follow `state`, in a hand that only waits to be void. None: no hand is on.

    Seats, stays and top-ups are decided again, as they do not hang on the cards. Of the play, only what was told of
    seats is taken over. Raises whatever the domain raises where even that does not come out.
    """
    for entry in entries:
        state = _after(state, entry)
    return state if state.hand is not None else None


def _after(state: TableState, entry: Entry) -> TableState:
    step = Step(state.copy(), entry.occurred_ms, None)
    if isinstance(entry.command, DealHand):
        started = [one.hand_started for one in entry.events.events if one.HasField("hand_started")]
        if not started:
            raise ReplayMismatch(f"table {state.table_id}, version {entry.version}: a deal of which nothing was told")
        _deal(step, started[0], entry.command)
    elif isinstance(entry.command, _PLAY):
        for event in entry.events.events:
            _hear(step, event)
    else:
        handle(step, entry.command)
    after = step.state
    after.version = entry.version
    # The clock may know of one more for each command.
    after.timing_generation = state.timing_generation + 1
    presence.timed(state, after)
    return after


def _deal(step: Step, started: pb.HandStarted, command: DealHand) -> None:
    state, stakes = step.state, step.state.stakes
    plan = plan_hand(state, command)
    if plan is None:
        raise ReplayMismatch(f"table {state.table_id}: hand {started.hand_number} with too few who could play")
    # As everyone was told: who waits for the big blind, and no longer.
    state.positions_before, state.positions = state.positions, plan.positions
    state.hand_number, state.edition, state.next_deal_ms = started.hand_number, command.edition, 0
    for player in started.players:
        step.change_seat(state.seats[player.seat], last_hand_number=started.hand_number)
    config = HandConfig(
        game=GAMES[stakes.game],
        small_blind=stakes.small_blind,
        big_blind=stakes.big_blind,
        ante=stakes.ante,
        button=started.button_seat,
        small_blind_seat=started.small_blind_seat or None,
        big_blind_seat=started.big_blind_seat,
        seats=tuple([(player.seat, player.stack) for player in started.players]),
    )
    # Any cards do: nobody sees them, and nothing is played.
    state.hand, _ = Hand.start(config, range(52))


def _hear(step: Step, event: pb.TableEvent) -> None:
    """What the play did to a seat: timeouts in a row, and sitting out for them (9.4)."""
    if event.HasField("action_taken") and event.action_taken.cause != pb.ACTION_CAUSE_ABSENT:
        seat = step.state.seats[event.action_taken.seat]
        is_late = event.action_taken.cause == pb.ACTION_CAUSE_TIMEOUT
        step.change_seat(seat, timeouts=seat.timeouts + 1 if is_late else 0)
    elif event.HasField("seat_status_changed"):
        seat = step.state.seats[event.seat_status_changed.seat]
        if event.seat_status_changed.reason == pb.STATUS_REASON_TIMEOUTS and not seat.is_sitting_out:
            step.change_seat(seat, is_sitting_out=True, out_since_ms=step.now_ms)
