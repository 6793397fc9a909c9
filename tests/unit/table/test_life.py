"""A table's whole life: players come, play, time out, vanish, go broke, top up and go; its owner and the clock change.

What must hold is in `life/`, each rule with its number. The quick search is the one of `make test`;
`pytest --hypothesis-profile=deep tests/unit/table/test_life.py` searches for half an hour.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain import commands as do
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import PassedTurn, Refused
from cardroom.table.domain.presence import due_ms
from cardroom.table.domain.state import Seat, Turn
from tests.unit.table.life.banks import Banks
from tests.unit.table.life.books import Books
from tests.unit.table.life.hours import Hours
from tests.unit.table.life.manners import Manners
from tests.unit.table.life.memory import Memory
from tests.unit.table.life.room import FORGOTTEN_MS, Committed, Referee, Room
from tests.unit.table.life.rounds import Rounds
from tests.unit.table.life.seats import Seats
from tests.unit.table.life.secrecy import Secrecy
from tests.unit.table.play import calm_action, some_action

So = tuple[str, int]
MOST = 2_000
CHANCE = st.integers(0, 1 << 30)
WHO = st.integers(0, 8)
"""One of those who sit, or of those who do not, by place."""
STACKS = st.sampled_from([500, MOST, 1_000, 60, 500, 1_000, 30, 15, 1])
TIMES_MS = st.sampled_from([1, 900, 2_000, 5_000, 19_000, 20_000, 20_250, 45_000, 50_250, 60_000, 120_000, 900_000])
MEANWHILE = st.tuples(
    st.sampled_from(["nothing", "a deal", "an action", "a wild action", "a hand", "some hands", "a wild hand"]), CHANCE
)
"""What goes on at the table before something else happens. Without it most lives would see few hands."""
REPEATABLE = (
    do.OpenTable | do.SeatPlayer | do.EndSeating | do.TopUp | do.Act | do.StartTimeBank | do.EndTurn | do.DealHand
    | do.SetTimeBank | do.JudgeAbsence
)  # fmt: skip


class TableLife(RuleBasedStateMachine):
    """The players, the owner and the clock of one table."""

    @initialize(
        game=st.sampled_from([pb.GAME_NO_LIMIT_HOLDEM, pb.GAME_POT_LIMIT_OMAHA]),
        ante=st.sampled_from([0, 5, 20]),
        players=st.sampled_from([4, 6, 5, 3, 8, 2]),
        free=st.sampled_from([1, 0]),
        stacks=st.lists(STACKS, min_size=8, max_size=8),
    )
    def open(self, game: pb.Game.ValueType, ante: int, players: int, free: int, stacks: list[int]) -> None:
        stakes = pb.Stakes(game=game, small_blind=10, big_blind=20, ante=ante, min_buy_in=20, max_buy_in=MOST)
        stakes.seats = players + free
        self.chance = random.Random(0)
        self.ids = 0
        self.done: list[tuple[do.Command, Any]] = []
        room = self.room = Room(
            do.OpenTable("table", "Table", stakes, do.Pace()),
            lambda: Deck.shuffled(self.chance.randrange),
            lambda _: self.chance.randrange(1 << 30),
        )
        self.referees: list[Referee] = [
            Books(), Rounds(), Seats(), Secrecy(), Manners(), Hours(room), Banks(), Memory(room)
        ]  # fmt: skip
        for referee in self.referees:
            room.listeners.append(referee.saw)
        room.listeners.append(self.note)
        for stack in stacks[:players]:
            self.sits_down(0, 0, stack, True, ("nothing", 0))

    def note(self, one: Committed) -> None:
        """Remember what could be sent again."""
        if isinstance(one.command, REPEATABLE):
            self.done = [*self.done[-8:], (one.command, one.decision.answer)]

    def new_id(self, what: str) -> str:
        self.ids += 1
        return f"{what} {self.ids}"

    @property
    def turn(self) -> Turn:
        assert self.room.state.turn is not None
        return self.room.state.turn

    def running(self) -> bool:
        return self.room.state.hand is not None

    def due(self) -> bool:
        return self.room.state.next_deal_ms > 0 and not self.room.clock_is_away

    def occupied(self) -> bool:
        return bool(self.room.state.seats)

    def one_of_them(self, who: int) -> Seat | None:
        """A seat where somebody sits."""
        seats = sorted(self.room.state.seats)
        return self.room.state.seats[seats[who % len(seats)]] if seats else None

    # What goes on at the table

    def meanwhile(self, so: So) -> None:
        """Play goes on for a while. No two commands come in the same moment."""
        what, chance = so
        self.chance.seed(chance)
        self.room.pass_ms(1)
        if what == "a deal" and not self.running():
            self.wait_for_the_deal()
        elif what in ("an action", "a wild action") and self.running():
            self.act(what == "a wild action")
        elif what in ("a hand", "some hands", "a wild hand"):
            self.play(4 if what == "some hands" else 1, what == "a wild hand", 1)
        self.room.pass_ms(1)

    def wait_for_the_deal(self) -> None:
        if self.due():
            self.room.pass_ms(max(1, self.room.state.next_deal_ms - self.room.now_ms))

    def act(self, is_wild: bool) -> None:
        action = some_action if is_wild else calm_action
        self.room.execute(do.Act(self.turn.player_id, self.turn.token, *action(self.turn.view.legal, self.chance)))

    def play(self, hands: int, is_wild: bool, thinks_ms: int) -> None:
        """Hands to their end, the running one included, as long as one is due."""
        last = self.room.state.hand_number + hands - self.running()
        for _ in range(200 * hands):
            if self.running():
                self.room.pass_ms(self.chance.choice([1, thinks_ms]))
            if self.running():
                self.act(is_wild)
            elif self.due() and self.room.state.hand_number < last:
                self.wait_for_the_deal()
            else:
                return
        raise AssertionError("a hand does not end")

    # Players

    @precondition(lambda self: len(self.room.state.seats) < self.room.state.stakes.seats)
    @rule(who=WHO, place=WHO, stack=STACKS, is_online=st.booleans(), so=MEANWHILE)
    def sits_down(self, who: int, place: int, stack: int, is_online: bool, so: So) -> None:
        self.meanwhile(so)
        state = self.room.state
        free = [number for number in range(1, state.stakes.seats + 1) if number not in state.seats]
        people = [f"player {number}" for number in range(1, 11)]
        absent = [player for player in people if state.seat_of(player) is None]
        if free:
            player, seat = absent[who % len(absent)], free[place % len(free)]
            self.room.sit_down(player, self.new_id("stay"), seat, stack, is_online=is_online)

    @rule(who=WHO, what=st.sampled_from(["sit down", "end a stay", "top up"]), number=st.integers(1, 9), so=MEANWHILE)
    def something_in_vain_is_asked(self, who: int, what: str, number: int, so: So) -> None:
        """A seat that is taken or is none, or for who sits already; for a stay that never began or is over."""
        self.meanwhile(so)
        state, seat = self.room.state, self.one_of_them(who)
        if what == "end a stay":
            self.room.execute(do.EndSeating(self.new_id("stay that never began")))
        elif what == "top up":
            self.room.execute(do.TopUp("stay that is over", self.new_id("top-up"), 500))
        elif seat is not None:
            player = "somebody else" if number in state.seats else seat.player_id
            with pytest.raises(Refused) as refused:
                self.room.execute(do.SeatPlayer(self.new_id("stay"), player, "In Vain", number, 100, 0))
            assert refused.value.reason == ("SEAT_TAKEN" if number <= state.stakes.seats else "SEAT_UNKNOWN")
            assert self.room.state is state

    @precondition(occupied)
    @rule(who=WHO, twice=st.booleans(), so=MEANWHILE)
    def leaves(self, who: int, twice: bool, so: So) -> None:
        self.meanwhile(so)
        seat = self.one_of_them(who)
        for _ in range(1 + twice if seat is not None else 0):
            assert seat is not None
            self.room.execute(do.EndSeating(seat.seating_id))

    @precondition(occupied)
    @rule(who=WHO, so=MEANWHILE)
    def sits_out(self, who: int, so: So) -> None:
        self.meanwhile(so)
        seat = self.one_of_them(who)
        if seat is not None:
            self.room.execute(do.SitOut(seat.player_id))

    @precondition(lambda self: any(seat.is_sitting_out for seat in self.room.state.seats.values()))
    @rule(who=WHO, so=MEANWHILE)
    def comes_back(self, who: int, so: So) -> None:
        self.meanwhile(so)
        out = [seat for _, seat in sorted(self.room.state.seats.items()) if seat.is_sitting_out]
        if not out:
            return
        seat = out[who % len(out)]
        if not seat.is_leaving and not seat.stack:
            with pytest.raises(Refused, match="top up first"):
                self.room.execute(do.ComeBack(seat.player_id))
        else:
            self.room.execute(do.ComeBack(seat.player_id))

    @precondition(occupied)
    @rule(who=WHO, so=MEANWHILE)
    def is_connected_or_loses_the_connection(self, who: int, so: So) -> None:
        self.meanwhile(so)
        seat = self.one_of_them(who)
        if seat is not None:
            self.room.connect(seat.player_id, seat.player_id not in self.room.online)

    @precondition(occupied)
    @rule(
        who=WHO,
        amount=st.sampled_from([500, 1, 40, MOST, 3 * MOST]),
        then=st.sampled_from(["plays on", "asks again", "leaves"]),
        so=MEANWHILE,
    )
    def tops_up(self, who: int, amount: int, then: str, so: So) -> None:
        self.meanwhile(so)
        seat = self.one_of_them(who)
        if seat is None:
            return
        command = do.TopUp(seat.seating_id, self.new_id("top-up"), amount)
        if seat.top_up_id and not seat.is_leaving:
            with pytest.raises(Refused, match="one at a time"):
                self.room.execute(command)
            return
        self.room.execute(command)
        if then == "asks again":
            self.room.execute(command)
        elif then == "leaves":
            self.room.pass_ms(1)
            self.room.execute(do.EndSeating(seat.seating_id))

    @precondition(lambda self: any(not seat.stack for seat in self.room.state.seats.values()))
    @rule(
        who=WHO, first=st.sampled_from(["nothing", "sits out", "loses the connection"]), later_ms=TIMES_MS, so=MEANWHILE
    )
    def who_lost_everything_buys_back_in(self, who: int, first: str, later_ms: int, so: So) -> None:
        broke = [seat for _, seat in sorted(self.room.state.seats.items()) if not seat.stack]
        seat = broke[who % len(broke)]
        if first == "sits out":
            self.room.execute(do.SitOut(seat.player_id))
        elif first == "loses the connection" and seat.player_id in self.room.online:
            self.room.connect(seat.player_id, False)
        self.meanwhile(so)
        self.room.pass_ms(later_ms)
        now = self.room.state.seat_of_stay(seat.seating_id)
        if now is not None and not now.top_up_id:
            self.room.execute(do.TopUp(seat.seating_id, self.new_id("top-up"), 1_000))

    @precondition(lambda self: self.running() or self.due())
    @rule(
        chance=CHANCE,
        hands=st.sampled_from([1, 2, 4, 24]),
        is_wild=st.booleans(),
        thinks_ms=st.sampled_from([1, 22_000, 30_000]),
    )
    def hands_are_played(self, chance: int, hands: int, is_wild: bool, thinks_ms: int) -> None:
        self.chance.seed(chance)
        self.play(hands, is_wild, thinks_ms)

    @precondition(running)
    @rule(who=WHO, other=st.sampled_from([(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)]), so=MEANWHILE)
    def somebody_acts_for_another_turn(self, who: int, other: tuple[int, int], so: So) -> None:
        self.meanwhile(so)
        state, turn, seat = self.room.state, self.room.state.turn, self.one_of_them(who)
        if turn is None or seat is None or (other == (0, 0) and seat.player_id == turn.player_id):
            return
        token = do.Token(turn.token.hand_number + other[0], turn.token.action_number + other[1])
        command = do.Act(seat.player_id, token, pb.ACTION_KIND_FOLD, 0)
        taken = state.answered.get(token.action_number)
        if taken is not None and taken.act == command:
            return  # that is a repeat
        with pytest.raises((Refused, PassedTurn)):
            self.room.execute(command)
        assert self.room.state is state

    # Time and machines

    @rule(ms=TIMES_MS, so=MEANWHILE)
    def time_passes(self, ms: int, so: So) -> None:
        self.meanwhile(so)
        self.room.pass_ms(ms)

    @precondition(running)
    @rule(turns=st.integers(1, 4), so=MEANWHILE)
    def turns_run_out(self, turns: int, so: So) -> None:
        self.meanwhile(so)
        for _ in range(turns):
            if self.running() and not self.room.clock_is_away:
                until = self.turn.base_deadline_ms + self.turn.view.time_bank_left_ms + 250
                self.room.pass_ms(max(1, until - self.room.now_ms))

    @rule(so=MEANWHILE)
    def everyone_falls_asleep_until_the_hand_ends(self, so: So) -> None:
        """The clock alone brings every hand to its end, in four turns a player at the most."""
        self.meanwhile(so)
        if self.room.clock_is_away:
            self.the_clock_comes_back()
        hand, number = self.room.state.hand, self.room.state.hand_number
        for _ in range(0 if hand is None else 4 * len(hand.seats)):
            if not self.running() or self.room.state.hand_number != number:
                break
            until = self.turn.base_deadline_ms + self.turn.view.time_bank_left_ms + 250
            self.room.pass_ms(max(1, until - self.room.now_ms))
        assert not self.running() or self.room.state.hand_number != number, "the hand does not end"

    @precondition(occupied)
    @rule(who=WHO, firings=st.integers(0, 2), ms=st.sampled_from([0, 1, 250]), so=MEANWHILE)
    def the_clock_comes_too_early(self, who: int, firings: int, ms: int, so: So) -> None:
        """9.7, 9.5, 10.2: the table does not take the clock's word for it, a moment before the time either."""
        self.meanwhile(so)
        for firing in range(firings):
            self.room.pass_ms(1 if firing else 0)
            fires_at = self.room.timer.fire_at_ms
            if fires_at is not None:
                self.room.pass_ms(max(0, fires_at - self.room.now_ms - 1))
        state, now, seat = self.room.state, self.room.now_ms, self.one_of_them(who)
        early: list[do.Command] = []
        if state.turn is not None and now < (state.turn.bank_deadline_ms or state.turn.base_deadline_ms) + 250 - ms:
            early.append(do.EndTurn(state.turn.token, state.timing_generation))
        if seat is not None and now < due_ms(seat, state.pace) - ms:
            early.append(do.JudgeAbsence(seat.player_id, seat.absence_generation, False))
        for command in early:
            with pytest.raises(Refused) as refused:
                self.room.execute(command)
            assert refused.value.reason == "TOO_EARLY"
        assert self.room.state is state

    @rule(so=MEANWHILE)
    def the_owner_changes(self, so: So) -> None:
        self.meanwhile(so)
        self.room.move()

    @rule(is_lost=st.booleans(), so=MEANWHILE)
    def the_hand_cannot_be_completed(self, is_lost: bool, so: So) -> None:
        """14.4: it is void, whether the owner still knows it or a new one finds it in pieces."""
        self.meanwhile(so)
        if not self.running():
            return
        if is_lost:
            answered, self.room.state = self.room.state.answered, self.room.salvaged()
            self.room.state.answered = answered
        self.room.execute(do.VoidHand())

    @precondition(lambda self: not self.room.clock_is_away)
    @rule(so=MEANWHILE)
    def the_clock_goes_away(self, so: So) -> None:
        self.meanwhile(so)
        self.room.clock_is_away = True

    @precondition(lambda self: self.room.clock_is_away)
    @rule()
    def the_clock_comes_back(self) -> None:
        self.room.pass_ms(1)
        self.room.clock_comes_back()
        self.room.pass_ms(1)

    @precondition(lambda self: self.room.clock_is_away)
    @rule()
    def the_owner_helps_itself(self) -> None:
        self.room.pass_ms(FORGOTTEN_MS + 1)
        while self.room.help_itself():
            pass

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 8), so=MEANWHILE)
    def something_is_sent_again(self, which: int, so: So) -> None:
        """Whatever a network repeats: it changes nothing, and who asked gets an answer."""
        self.meanwhile(so)
        command, first = self.done[-1 - which % len(self.done)]
        state = self.room.state
        try:
            answer = self.room.execute(command)
            assert not isinstance(command, do.Act | do.EndSeating) or answer == first or first is None
        except Refused as refused:
            assert refused.reason in {"SEATING_OVER", "TOO_EARLY"}  # noqa: PT017
        except PassedTurn:
            # Answers of earlier hands are looked up in the log.
            assert isinstance(command, do.Act)
            assert command.token.hand_number < state.hand_number
        assert self.room.state.version == state.version, f"{command} came twice and counted twice"

    @invariant()
    def the_rules_hold(self) -> None:
        for referee in self.referees:
            referee.check(self.room)

    def teardown(self) -> None:
        if hasattr(self, "room") and sys.exc_info()[0] is None:
            self.everyone_falls_asleep_until_the_hand_ends(("nothing", 0))
            self.the_rules_hold()


TestTableLife = TableLife.TestCase
IS_DEEP = settings.get_current_profile_name() == "deep"
pytestmark = pytest.mark.timeout(0 if IS_DEEP else 120)
TestTableLife.settings = settings(
    max_examples=settings().max_examples if IS_DEEP else 40,
    stateful_step_count=60 if IS_DEEP else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Explaining runs everything again under a tracer, for minutes.
    phases=set(Phase) - {Phase.explain},
)
