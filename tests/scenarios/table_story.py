"""Tells what happens at a table over time: the table's and the clock's domains on a virtual clock.

rules: ["2.5"]
title: the next hand starts 2 s after the last one
blinds: 10/20
seats: {1: 1000, 2: 1000}
story:
  - 2 s pass
  - hand 1 is on
  - 1 folds
  - the next hand is due in 2 s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.engine import cards
from cardroom.table.domain import commands
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import PassedTurn, Refused
from cardroom.table.domain.state import Seat, TableState
from cardroom.table.domain.view import public_view
from tests.unit.table.life.room import Room

__all__ = ["TableStory"]

KEYS = {"rules", "title", "blinds", "ante", "seats", "biggest buy-in", "first button", "deck", "story"}
KINDS = {
    "folds": pb.ACTION_KIND_FOLD,
    "checks": pb.ACTION_KIND_CHECK,
    "calls": pb.ACTION_KIND_CALL,
    "bets": pb.ACTION_KIND_RAISE,
    "raises to": pb.ACTION_KIND_RAISE,
}
STATUSES = {
    "playing": pb.SEAT_STATUS_PLAYING,
    "waiting": pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND,
    "sitting out": pb.SEAT_STATUS_SITTING_OUT,
    "leaving": pb.SEAT_STATUS_LEAVING,
}
REASONS = {
    "the connection": pb.STATUS_REASON_CONNECTION_LOST,
    "timeouts": pb.STATUS_REASON_TIMEOUTS,
    "want of chips": pb.STATUS_REASON_OUT_OF_CHIPS,
}


class TableStory:
    """One story, ready to run."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        unknown = set(told) - KEYS
        assert not unknown, f"unknown keys {sorted(unknown)}: a story has {sorted(KEYS)}"
        self.told = told
        self.heard: list[pb.TableEvent] = []
        self.ids = 0
        small, big = (int(part) for part in str(told["blinds"]).split("/"))
        stakes = pb.Stakes(
            game=pb.GAME_NO_LIMIT_HOLDEM,
            small_blind=small,
            big_blind=big,
            ante=told.get("ante", 0),
            min_buy_in=big,
            max_buy_in=told.get("biggest buy-in", 100_000),
            seats=9,
        )
        opening = commands.OpenTable("table", "Story", stakes, commands.Pace())
        self.room = Room(opening, self._deck, self._first_button)
        self.room.listeners.append(lambda one: self.heard.extend(one.decision.events))
        for seat, stack in told.get("seats", {}).items():
            self.sits_down(str(seat), str(stack))

    def run(self) -> None:
        """Play every line; an AssertionError says which one does not hold."""
        for number, line in enumerate(self.told["story"], 1):
            try:
                self._line(str(line))
            except (AssertionError, Refused) as problem:
                raise AssertionError(f"line {number}, {line!r}: {problem}") from problem

    def _line(self, line: str) -> None:
        for pattern, step in STEPS:
            match = pattern.fullmatch(line)
            if match:
                step(self, *match.groups())
                return
        raise AssertionError(f"not understood; a line is one of: {', '.join(pattern.pattern for pattern, _ in STEPS)}")

    def _deck(self) -> Deck:
        first = list(cards.parse(str(self.told.get("deck", "")).replace(" ", "")))
        return Deck((*first, *(card for card in range(52) if card not in first)))

    def _first_button(self, state: TableState) -> int:
        able = sorted(number for number, seat in state.seats.items() if seat.can_play)
        first = self.told.get("first button", able[0])
        return able.index(first) if first in able else 0

    def _new_id(self, what: str) -> str:
        self.ids += 1
        return f"{what} {self.ids}"

    @property
    def state(self) -> TableState:
        """The table as it is."""
        return self.room.state

    def _seat(self, seat: str) -> Seat:
        assert int(seat) in self.state.seats, f"nobody sits at {seat}"
        return self.state.seats[int(seat)]

    # What happens

    def sits_down(self, seat: str, stack: str, unseen: str | None = None) -> None:
        """'4 sits down with 1000', '4 sits down with 1000 and never connects'."""
        self.room.sit_down(f"player {seat}", self._new_id("stay"), int(seat), int(stack), is_online=not unseen)

    def cannot_sit_down(self, player: str, seat: str, reason: str) -> None:
        """'4 cannot sit down at 5: SEAT_TAKEN': who sits at 4 asks for another seat, and is refused."""
        before = self.state
        with pytest.raises(Refused) as refused:
            self.room.sit_down(f"player {player}", self._new_id("stay"), int(seat), 1000)
        assert refused.value.reason == reason, refused.value.reason
        assert self.state is before, "a refused command changed the table"

    def leaves(self, seat: str) -> None:
        """'4 leaves'."""
        self.room.execute(commands.EndSeating(self._seat(seat).seating_id))

    def tops_up(self, seat: str, amount: str) -> None:
        """'4 tops up 500'."""
        self.room.execute(commands.TopUp(self._seat(seat).seating_id, self._new_id("top-up"), int(amount)))

    def sits_out(self, seat: str) -> None:
        """'4 sits out'."""
        self.room.execute(commands.SitOut(f"player {seat}"))

    def comes_back(self, seat: str) -> None:
        """'4 comes back'."""
        self.room.execute(commands.ComeBack(f"player {seat}"))

    def acts(self, seat: str, verb: str, amount: str | None) -> None:
        """'4 folds', '4 raises to 120'."""
        assert self.state.turn is not None, "nobody is asked"
        self.room.execute(commands.Act(f"player {seat}", self.state.turn.token, KINDS[verb], int(amount or 0)))

    def is_late(self, seat: str, verb: str, amount: str | None) -> None:
        """'4 folds too late': the action answers the turn before this one, and is refused."""
        assert self.state.turn is not None, "nobody is asked"
        late = commands.Token(self.state.turn.token.hand_number, self.state.turn.token.action_number - 1)
        before = self.state
        with pytest.raises(PassedTurn):
            self.room.execute(commands.Act(f"player {seat}", late, KINDS[verb], int(amount or 0)))
        assert self.state is before, "a refused action changed the table"

    def loses_connection(self, seat: str) -> None:
        """'4 loses the connection': the last stream closes."""
        self.room.connect(f"player {seat}", False)

    def connects(self, seat: str) -> None:
        """'4 is connected again'."""
        self.room.connect(f"player {seat}", True)

    def moves(self, lost: str | None) -> None:
        """'the table moves to another owner', 'the table moves to another owner and 4 does not come along'."""
        self.room.online.discard(f"player {lost}")
        self.room.move()

    def hand_is_void(self) -> None:
        """'the hand cannot be completed': not even its turn can be ended, and recovery could not mend it."""
        self.room.execute(commands.VoidHand())

    def passes(self, seconds: str) -> None:
        """'2.5 s pass': every timer that falls due in between fires in its moment."""
        self.room.pass_ms(round(float(seconds) * 1000))

    def fold_hands(self, count: str) -> None:
        """'20 hands are folded': whoever is asked folds, until so many hands have ended, the running one included."""
        until = self.state.hand_number + int(count) - (self.state.hand is not None)
        while self.state.hand is not None or self.state.hand_number < until:
            if self.state.turn is None:
                assert self.state.next_deal_ms, "no hand is due"
                self.room.pass_ms(self.state.next_deal_ms - self.room.now_ms)
            else:
                turn = self.state.turn
                self.room.execute(commands.Act(turn.player_id, turn.token, pb.ACTION_KIND_FOLD, 0))

    # What must hold

    def hand_is_on(self, number: str) -> None:
        """'hand 3 is on'."""
        assert self.state.hand is not None, "no hand is on"
        assert self.state.hand_number == int(number), f"it is hand {self.state.hand_number}"

    def no_hand(self) -> None:
        """'no hand is on'."""
        assert self.state.hand is None, f"hand {self.state.hand_number} is on"

    def due_in(self, seconds: str) -> None:
        """'the next hand is due in 2 s'."""
        assert self.state.next_deal_ms, "none is due"
        left = (self.state.next_deal_ms - self.room.now_ms) / 1000
        assert left == float(seconds), f"it is due in {left} s"

    def none_due(self) -> None:
        """'no hand is due'."""
        assert not self.state.next_deal_ms, "one is due"

    def turn_is(self, seat: str) -> None:
        """'it is the turn of 4'."""
        assert self.state.turn is not None, "nobody is asked"
        assert self.state.turn.seat == int(seat), f"it is the turn of {self.state.turn.seat}"

    def bank_runs(self, seconds: str) -> None:
        """'the time bank runs out in 12 s'."""
        assert self.state.turn is not None, "nobody is asked"
        assert self.state.turn.bank_deadline_ms, "the bank does not run"
        left = (self.state.turn.bank_deadline_ms - self.room.now_ms) / 1000
        assert left == float(seconds), f"it runs out in {left} s"

    def bank_rests(self) -> None:
        """'the time bank does not run'."""
        assert self.state.turn is not None, "nobody is asked"
        assert not self.state.turn.bank_deadline_ms, "it runs"

    def bank_holds(self, seat: str, seconds: str) -> None:
        """'4 has 20 s of time bank'."""
        left = self.room.bank(f"player {seat}").left_ms / 1000
        assert left == float(seconds), f"it holds {left} s"

    def last_was(self, seat: str, what: str, cause: str) -> None:
        """'4 folds by timeout', '4 checks at once': the last thing that the table did for a player."""
        kinds = {"folds": pb.ACTION_KIND_FOLD, "checks": pb.ACTION_KIND_CHECK}
        causes = {"by timeout": pb.ACTION_CAUSE_TIMEOUT, "at once": pb.ACTION_CAUSE_ABSENT}
        taken = [event.action_taken for event in self.heard if event.HasField("action_taken")]
        mine = [action for action in taken if action.seat == int(seat)]
        assert mine, f"{seat} has not acted"
        assert (mine[-1].kind, mine[-1].cause) == (kinds[what], causes[cause]), f"the last action was {mine[-1]}"

    def status_is(self, seat: str, status: str) -> None:
        """'4 is sitting out'."""
        found = self.state.status_of(self._seat(seat))
        assert found == STATUSES[status], f"is {pb.SeatStatus.Name(found)}"

    def is_gone(self, seat: str) -> None:
        """'4 is gone'."""
        assert int(seat) not in self.state.seats, f"{seat} still sits"

    def shown_as(self, seat: str, how: str) -> None:
        """'4 is shown as away', '4 is shown as connected'."""
        view = next(one for one in public_view(self.state).seats if one.seat == int(seat))
        assert view.connected == (how == "connected"), f"connected: {view.connected}"

    def reason_is(self, seat: str, reason: str) -> None:
        """'4 was sat out for the connection': the reason that everyone was told last."""
        told = [event.seat_status_changed for event in self.heard if event.HasField("seat_status_changed")]
        last = next(change for change in reversed(told) if change.seat == int(seat))
        assert last.reason == REASONS[reason], pb.StatusReason.Name(last.reason)

    def stack_is(self, seat: str, stack: str) -> None:
        """'4 has 1000'."""
        assert self._seat(seat).stack == int(stack), f"has {self._seat(seat).stack}"

    def sees(self, seat: str, text: str) -> None:
        """'4 sees Ah Kd': their own cards."""
        own = self.state.own_cards(f"player {seat}").cards
        assert own == text.replace(" ", ""), f"sees {own}"

    def never_shown(self, text: str) -> None:
        """'nobody is ever shown Ah Kd': no public event so far names one of these cards."""
        told = "\n".join(str(event) for event in self.heard)
        for card in text.split():
            assert card not in told, f"{card} was shown"


STEPS: list[tuple[re.Pattern[str], Callable[..., None]]] = [
    (re.compile(r"(\d+) sits down with (\d+)( and never connects)?"), TableStory.sits_down),
    (re.compile(r"(\d+) cannot sit down at (\d+): (\w+)"), TableStory.cannot_sit_down),
    (re.compile(r"(\d+) leaves"), TableStory.leaves),
    (re.compile(r"(\d+) tops up (\d+)"), TableStory.tops_up),
    (re.compile(r"(\d+) sits out"), TableStory.sits_out),
    (re.compile(r"(\d+) comes back"), TableStory.comes_back),
    (re.compile(r"(\d+) (folds|checks) (by timeout|at once)"), TableStory.last_was),
    (re.compile(r"(\d+) (folds|checks|calls|bets|raises to)(?: (\d+))? too late"), TableStory.is_late),
    (re.compile(r"(\d+) (folds|checks|calls|bets|raises to)(?: (\d+))?"), TableStory.acts),
    (re.compile(r"(\d+) loses the connection"), TableStory.loses_connection),
    (re.compile(r"(\d+) is connected again"), TableStory.connects),
    (re.compile(r"the table moves to another owner(?: and (\d+) does not come along)?"), TableStory.moves),
    (re.compile(r"the hand cannot be completed"), TableStory.hand_is_void),
    (re.compile(r"([\d.]+) s pass(?:es)?"), TableStory.passes),
    (re.compile(r"(\d+) hands? (?:are|is) folded"), TableStory.fold_hands),
    (re.compile(r"hand (\d+) is on"), TableStory.hand_is_on),
    (re.compile(r"no hand is on"), TableStory.no_hand),
    (re.compile(r"the next hand is due in ([\d.]+) s"), TableStory.due_in),
    (re.compile(r"no hand is due"), TableStory.none_due),
    (re.compile(r"it is the turn of (\d+)"), TableStory.turn_is),
    (re.compile(r"the time bank runs out in ([\d.]+) s"), TableStory.bank_runs),
    (re.compile(r"the time bank does not run"), TableStory.bank_rests),
    (re.compile(r"(\d+) has ([\d.]+) s of time bank"), TableStory.bank_holds),
    (re.compile(r"(\d+) is (playing|waiting|sitting out|leaving)"), TableStory.status_is),
    (re.compile(r"(\d+) is shown as (away|connected)"), TableStory.shown_as),
    (re.compile(r"(\d+) was sat out for (the connection|timeouts|want of chips)"), TableStory.reason_is),
    (re.compile(r"(\d+) is gone"), TableStory.is_gone),
    (re.compile(r"(\d+) has (\d+)"), TableStory.stack_is),
    (re.compile(r"(\d+) sees (.+)"), TableStory.sees),
    (re.compile(r"nobody is ever shown (.+)"), TableStory.never_shown),
]
