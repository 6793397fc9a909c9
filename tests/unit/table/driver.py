"""Drives a table's domain: no server, no database, time and cards as the test says."""

from __future__ import annotations

import random
import uuid
from typing import Any

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.engine import cards
from cardroom.table.domain import commands as do
from cardroom.table.domain import presence
from cardroom.table.domain.decide import decide, opened
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.state import Seat, TableState, Turn
from cardroom.table.domain.step import Decision

STAKES = view.Stakes(
    game=view.GAME_NO_LIMIT_HOLDEM, small_blind=10, big_blind=20, min_buy_in=20, max_buy_in=4000, seats=6
)
NOON = 1_700_000_000_000
FOLD, CHECK, CALL, RAISE = (
    view.ACTION_KIND_FOLD,
    view.ACTION_KIND_CHECK,
    view.ACTION_KIND_CALL,
    view.ACTION_KIND_RAISE,
)


def player_id(number: int) -> str:
    """The id of player `number`."""
    return str(uuid.UUID(int=number))


def rigged(text: str, seed: int = 7) -> Deck:
    """A deck that starts with these cards and goes on in some order."""
    first = cards.parse(text)
    rest = [card for card in range(52) if card not in first]
    random.Random(seed).shuffle(rest)
    return Deck((*first, *rest))


SEAT_2_WINS = rigged("Ah7cAd2d 3c KhQs9d 3d 8s 3h 4c")
"""Between seats 1 and 2 with the button on seat 1: aces on seat 2, and seat 1 does not improve."""


class Driver:
    """A table and the moment it is in. Player n sits on seat n."""

    def __init__(self, *stacks: int, pace: do.Pace | None = None, stakes: view.Stakes = STAKES) -> None:
        self.now = NOON
        command = do.OpenTable(player_id(99), "Table", stakes, pace or do.Pace())
        self.state: TableState = opened(command)
        self.history: list[tuple[do.Command, int, Deck | None, Decision]] = []
        self.stays = 0
        self.do(command)
        for number, stack in enumerate(stacks, 1):
            self.seat(number, stack)

    def do(self, command: do.Command, deck: Deck | None = None) -> Decision:
        """Decide a command and take it for committed."""
        decision = decide(self.state, command, self.now, deck)
        if decision.changes:
            self.history.append((command, self.now, deck, decision))
        self.state = decision.state
        return decision

    def seat(self, number: int, stack: int, player: int | None = None) -> Decision:
        """Seat a player."""
        self.stays += 1
        who = player or number
        stay = str(uuid.UUID(int=1000 + self.stays))
        return self.do(do.SeatPlayer(stay, player_id(who), f"Player {who}", number, stack, 30_000))

    def deal(self, deck: Deck | None = None, button_draw: int = 0) -> Decision:
        """The pause is over."""
        self.now = max(self.now, self.state.next_deal_ms)
        return self.do(do.DealHand(self.state.timing_generation, button_draw), deck or rigged(""))

    @property
    def turn(self) -> Turn:
        """The running turn."""
        assert self.state.turn is not None
        return self.state.turn

    def act(self, kind: view.ActionKind.ValueType, amount: int = 0) -> Decision:
        """The player whose turn it is acts."""
        return self.do(do.Act(self.turn.player_id, self.turn.token, kind, amount))

    def time_out(self) -> Decision:
        """Clock and bank of the actor run out."""
        self.now = self.turn.base_deadline_ms + 30_000
        return self.do(do.EndTurn(self.turn.token, self.state.timing_generation))

    def fold_out(self) -> Decision:
        """Everyone folds to the last."""
        while True:
            decision = self.act(FOLD)
            if self.state.hand is None:
                return decision

    def leave(self, number: int) -> Decision:
        """The player on a seat asks to leave."""
        return self.do(do.EndSeating(self.at(number).seating_id))

    def absent(self, number: int, *, is_present: bool = False) -> Decision:
        """The table has borne with the absence of the player on a seat for long enough, or they were not absent."""
        seat = self.at(number)
        self.now = max(self.now, presence.due_ms(seat, self.state.pace))
        return self.do(do.JudgeAbsence(seat.player_id, seat.absence_generation, is_present))

    def top_up(self, number: int, amount: int, name: str = "top-up") -> Decision:
        """More chips come to the player on a seat."""
        return self.do(do.TopUp(self.at(number).seating_id, name, amount))

    def at(self, number: int) -> Seat:
        """Who sits on a seat."""
        return self.state.seats[number]


def told(decision: Decision) -> list[str]:
    """The kinds of a decision's events."""
    return [str(event.WhichOneof("event")) for event in decision.events]


def only(decision: Decision, kind: str) -> Any:
    """The decision's one event of a kind."""
    found = [getattr(event, kind) for event in decision.events if event.HasField(kind)]  # type: ignore[arg-type]
    assert len(found) == 1, f"{len(found)} events {kind} in {told(decision)}"
    return found[0]
