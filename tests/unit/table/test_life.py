"""A table's life, any life: players come, play, time out, sit out, come back and go, and the owner changes."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cardroom.client.view import apply_change
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.contracts.table.v1.view_pb2 import Stakes
from cardroom.table.domain import commands as do
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import Refused
from cardroom.table.domain.presence import due_ms
from cardroom.table.domain.replay import Entry, replay
from cardroom.table.domain.step import Decision
from cardroom.table.domain.view import public_view
from cardroom.table.records import pack_command, pack_table, unpack_command, unpack_table
from tests.unit.table.driver import STAKES, Driver
from tests.unit.table.play import some_action

SEATS = st.integers(1, 6)
CHANCE = st.integers(0, 1 << 30)


class TableLife(RuleBasedStateMachine):
    """Follows one table with a client that knows only events, a wallet that knows only settlements, and a log."""

    @initialize(ante=st.sampled_from([0, 5, 20]))
    def open(self, ante: int) -> None:
        stakes = Stakes()
        stakes.CopyFrom(STAKES)
        stakes.ante = ante
        table = Driver(stakes=stakes)
        self.table = table
        self.view = public_view(table.state)
        self.people = 0
        self.brought = 0
        self.snapshot = pack_table(table.state)
        self.log: list[Entry] = []
        self.deck: Deck | None = None
        self.settled = 0
        self.big_blind = 0
        self.told: dict[str, int] = {}
        self.top_ups = 0
        self.waiting: set[str] = set()

    def follow(self, decision: Decision) -> None:
        """What everyone else does with a committed decision."""
        for one in decision.topped_up:
            self.waiting.remove(one.top_up_id)
            self.brought += one.added
        self.brought -= sum(ended.final_stack for ended in decision.ended if ended.had_begun)
        self.deck = decision.deck or self.deck
        if decision.settlement is not None:
            self.settled += 1
            assert decision.settlement.hand_number == self.settled
            assert sum(one.delta for one in decision.settlement.deltas) == 0
        if not decision.changes:
            return
        for said in decision.absences:
            assert said.generation == decision.state.version
            self.told[said.player_id] = said.due_at.ToMilliseconds()
        apply_change(self.view, decision.state.version, decision.events)
        command, now, _, _ = self.table.history[-1]
        change = LoggedChange(events=decision.events)
        self.log.append(Entry(decision.state.version, now, unpack_command(pack_command(command)), change))
        if self.table.state.hand is None:
            self.snapshot, self.log = pack_table(self.table.state), []

    def running(self) -> bool:
        return self.table.state.hand is not None

    def due(self) -> bool:
        return self.table.state.next_deal_ms > 0

    @rule(seat=SEATS, stack=st.sampled_from([1, 15, 40, 500, 4000]))
    def sit_down(self, seat: int, stack: int) -> None:
        if seat not in self.table.state.seats:
            self.people += 1
            self.brought += stack
            self.follow(self.table.seat(seat, stack, player=self.people))

    @rule(seat=SEATS)
    def leave(self, seat: int) -> None:
        if seat in self.table.state.seats:
            self.follow(self.table.leave(seat))

    @rule(seat=SEATS)
    def sit_out(self, seat: int) -> None:
        if seat in self.table.state.seats:
            self.follow(self.table.do(do.SitOut(self.table.at(seat).player_id)))

    @rule(seat=SEATS)
    def come_back(self, seat: int) -> None:
        if seat in self.table.state.seats and self.table.at(seat).stack:
            self.follow(self.table.do(do.ComeBack(self.table.at(seat).player_id)))

    @precondition(due)
    @rule(chance=CHANCE)
    def deal(self, chance: int) -> None:
        deck = Deck.shuffled(random.Random(chance).randrange)
        decision = self.table.deal(deck, chance)
        self.follow(decision)
        started = next(event.hand_started for event in decision.events if event.HasField("hand_started"))
        dealt_in = [player.seat for player in started.players]
        assert len(dealt_in) >= 2
        assert started.big_blind_seat in dealt_in
        if len(dealt_in) > 2:
            assert started.big_blind_seat != self.big_blind, "the big blind is paid twice in a row"
        self.big_blind = started.big_blind_seat

    @precondition(running)
    @rule(chance=CHANCE)
    def act(self, chance: int) -> None:
        self.follow(self.table.act(*some_action(self.table.turn.view.legal, random.Random(chance))))

    @precondition(running)
    @rule(chance=CHANCE)
    def act_until_the_hand_ends(self, chance: int) -> None:
        source = random.Random(chance)
        for _ in range(200):
            if not self.running():
                return
            self.follow(self.table.act(*some_action(self.table.turn.view.legal, source)))
        raise AssertionError("the hand does not end")

    @precondition(running)
    @rule()
    def time_out(self) -> None:
        self.follow(self.table.time_out())

    @rule(seat=SEATS, amount=st.sampled_from([1, 500, 4000, 9000]))
    def top_up(self, seat: int, amount: int) -> None:
        if seat not in self.table.state.seats:
            return
        self.top_ups += 1
        if self.table.at(seat).top_up_id:
            with pytest.raises(Refused, match="one at a time"):
                self.table.top_up(seat, amount, f"top-up {self.top_ups}")
            return
        decision = self.table.top_up(seat, amount, f"top-up {self.top_ups}")
        self.waiting.add(f"top-up {self.top_ups}")
        self.follow(decision)

    @rule(seat=SEATS, connected=st.booleans())
    def streams_come_and_go(self, seat: int, connected: bool) -> None:
        if seat in self.table.state.seats:
            self.follow(self.table.do(do.SetConnected(self.table.at(seat).player_id, connected)))

    @rule(seat=SEATS, is_present=st.booleans())
    def an_absence_has_lasted(self, seat: int, is_present: bool) -> None:
        if seat not in self.table.state.seats or not self.told.get(self.table.at(seat).player_id, 0):
            return
        before = self.table.at(seat)
        due = due_ms(before, self.table.state.pace)
        decision = self.table.absent(seat, is_present=is_present)
        self.follow(decision)
        assert decision.answer is False
        after = self.table.state.seats.get(seat)
        assert after is None or due_ms(after, self.table.state.pace) != due

    @rule(later_ms=st.integers(0, 60_000))
    def the_owner_changes(self, later_ms: int) -> None:
        self.table.now += later_ms
        rebuilt = replay(unpack_table(self.snapshot), self.log, lambda _: self.deck)
        assert rebuilt is not None
        if rebuilt.hand is None:
            rebuilt.answered = self.table.state.answered
        assert rebuilt == self.table.state
        self.table.state = rebuilt
        self.follow(self.table.do(do.TakeOver()))

    @invariant()
    def chips_are_conserved(self) -> None:
        assert self.table.state.chips() == self.brought

    @invariant()
    def the_clock_knows_how_long_each_absence_may_last(self) -> None:
        state = self.table.state
        due = {seat.player_id: due_ms(seat, state.pace) for seat in state.seats.values()}
        assert {who: at for who, at in self.told.items() if at} == {who: at for who, at in due.items() if at}

    @invariant()
    def top_ups_wait_for_a_running_hand_only_and_none_gets_lost(self) -> None:
        state = self.table.state
        assert self.waiting == {seat.top_up_id for seat in state.seats.values() if seat.top_up_id}
        assert not self.waiting or state.hand is not None

    @invariant()
    def everyone_sees_the_same(self) -> None:
        assert self.view == public_view(self.table.state)

    @invariant()
    def a_running_hand_asks_one_player_and_a_table_at_rest_asks_none(self) -> None:
        state = self.table.state
        assert (state.hand is None) == (state.turn is None)
        if state.turn is not None:
            assert state.hand is not None
            assert state.turn.seat == state.hand.actor
            assert not state.seats[state.turn.seat].is_played_at_once
            assert not state.next_deal_ms

    @invariant()
    def a_deal_is_due_exactly_while_two_can_play(self) -> None:
        state = self.table.state
        able = sum(seat.can_play for seat in state.seats.values())
        assert state.hand is not None or (state.next_deal_ms > 0) == (able >= 2)


TestTableLife = TableLife.TestCase
TestTableLife.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
