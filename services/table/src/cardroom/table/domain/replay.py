"""A table as its log says it is: every command decided again, and what comes of it compared with what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table.domain.commands import Command, OpenTable
from cardroom.table.domain.decide import decide, opened
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import PassedTurn, Refused, ReplayMismatch
from cardroom.table.domain.state import TableState

__all__ = ["Entry", "replay"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A committed command of the log and the events that were told of it."""

    version: int
    occurred_ms: int
    command: Command
    events: LoggedChange


def replay(
    state: TableState | None, entries: Iterable[Entry], deck_of: Callable[[int], Deck | None]
) -> TableState | None:
    """The state after `entries`, which follow `state` without a gap; None for a table that was never opened.

    `deck_of(hand_number)` gives the deck of a hand that is still on. Raises ReplayMismatch where the log and the rules
    disagree; then nobody knows what the table's state is.
    """
    for entry in entries:
        if state is None:
            if not isinstance(entry.command, OpenTable):
                raise ReplayMismatch(f"version {entry.version} comes before the table was opened")
            state = opened(entry.command)
        state = _again(state, entry, deck_of)
    return state


def _again(state: TableState, entry: Entry, deck_of: Callable[[int], Deck | None]) -> TableState:
    where = f"table {state.table_id}, version {entry.version}, {type(entry.command).__name__}"
    if entry.version != state.version + 1:
        raise ReplayMismatch(f"{where}: the version before it is {state.version}")
    try:
        decision = decide(state, entry.command, entry.occurred_ms, deck_of(state.hand_number + 1))
    except (Refused, PassedTurn) as refusal:
        raise ReplayMismatch(f"{where}: was committed, is refused now") from refusal
    if not decision.changes or LoggedChange(events=decision.events) != entry.events:
        raise ReplayMismatch(f"{where}: its events are not those that were committed")
    return decision.state
