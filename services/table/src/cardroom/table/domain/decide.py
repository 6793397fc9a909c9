"""The one door to the domain: a committed state and a command in, a decision out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cardroom.table.domain import commands, dealing, ending, playing, presence, seating, topping_up
from cardroom.table.domain.commands import Command, OpenTable, TopUp
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import InvariantBroken
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Decision, Step

__all__ = ["decide", "handle", "opened"]

_HANDLERS: Final[dict[type, Callable[[Step, Any], Any]]] = {
    commands.OpenTable: seating.open_table,
    commands.CloseTable: seating.close_table,
    commands.SeatPlayer: seating.seat_player,
    commands.EndSeating: seating.end_seating,
    commands.TopUp: topping_up.top_up,
    commands.SitOut: seating.sit_out,
    commands.ComeBack: seating.come_back,
    commands.SetTimeBank: seating.set_bank,
    commands.Act: playing.act,
    commands.EndTurn: playing.end_turn,
    commands.StartTimeBank: playing.start_time_bank,
    commands.RestartTurn: playing.restart_turn,
    commands.SetConnected: presence.set_connected,
    commands.JudgeAbsence: presence.judge,
    commands.TakeOver: presence.take_over,
    commands.DealHand: dealing.deal_hand,
    commands.VoidHand: ending.void_hand,
}


def opened(command: OpenTable) -> TableState:
    """The state before the first version of a table."""
    seating.check_stakes(command.stakes)
    return TableState(command.table_id, command.name, command.stakes, command.pace)


def decide(state: TableState, command: Command, now_ms: int, deck: Deck | None = None) -> Decision:
    """What `command` comes to at `now_ms`. The same arguments give the same decision, always.

    `deck` is used if the command begins a hand. Raises Refused or PassedTurn where the command changes nothing, and
    InvariantBroken where something must not be.
    """
    step = Step(state.copy(), now_ms, deck)
    answer = handle(step, command)
    after = step.state
    is_first = state.version == 0
    # Ending a stay that never began shows nothing, and takes a version all the same: beside it no command can slip in
    # that begins the stay, and whose commit is in doubt.
    changes = bool(step.events or step.ended or step.topped_up) or is_first or after.is_closed != state.is_closed
    # So does a top-up that waits for the hand's end.
    changes = changes or (isinstance(command, TopUp) and after.seats != state.seats)
    if changes:
        after.version += 1
    absences = presence.timed(state, after) if changes else ()
    _check(state, step)
    return Decision(
        state=after,
        events=tuple(step.events),
        answer=answer,
        own_cards=step.own_cards,
        timing=step.timing(),
        absences=absences,
        settlement=step.settlement,
        ended=tuple(step.ended),
        topped_up=tuple(step.topped_up),
        deck=step.dealt,
        changes=changes,
    )


def handle(step: Step, command: Command) -> Any:
    """Change a step's table as the command says, and answer it; whether what comes of it may be is not looked at."""
    return _HANDLERS[type(command)](step, command)


def _check(before: TableState, step: Step) -> None:
    """What must hold after every command."""
    after = step.state
    if after.chips() != before.chips() + step.brought:
        text = f"{before.chips()} chips and {step.brought} brought became {after.chips()}"
        raise InvariantBroken(f"table {after.table_id}: {text}")
    hand, turn = after.hand, after.turn
    if hand is None:
        if turn is not None:
            raise InvariantBroken(f"table {after.table_id}: a turn without a hand")
        return
    if turn is None or turn.seat != hand.actor:
        raise InvariantBroken(f"table {after.table_id}: the hand and the table disagree about the actor")
    if any(seat.stack < 0 for seat in after.seats.values()):
        raise InvariantBroken(f"table {after.table_id}: a stack below 0")
    started = sum([stack for _, stack in hand.config.seats])
    if sum([hand.stack(seat) + hand.contribution(seat) for seat in hand.seats]) != started:
        raise InvariantBroken(f"table {after.table_id}: the running hand lost or made chips")
