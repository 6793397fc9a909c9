"""A table's whole life: players come, play, time out, vanish, go broke, top up and go; its owner and the clock change.

What must hold is in `life/`, each rule with its number. The quick search is the one of `make test`;
`pytest --hypothesis-profile=deep tests/unit/table/test_life.py` searches for half an hour.
"""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain import commands as do
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import PassedTurn, Refused
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
from tests.unit.table.play import some_action

MOST = 2_000
PEOPLE = st.integers(1, 8).map("player {}".format)
STACKS = st.sampled_from([1, 15, 30, 60, 500, MOST])
CHANCE = st.integers(0, 1 << 30)
TIMES_MS = st.sampled_from([1, 900, 2_000, 5_000, 19_000, 20_000, 20_250, 45_000, 50_250, 60_000, 120_000, 900_000])
REPEATABLE = (
    do.OpenTable | do.SeatPlayer | do.EndSeating | do.TopUp | do.Act | do.StartTimeBank | do.EndTurn | do.DealHand
    | do.SetTimeBank | do.JudgeAbsence
)  # fmt: skip


class TableLife(RuleBasedStateMachine):
    """The players, the owner and the clock of one table."""

    @initialize(
        game=st.sampled_from([pb.GAME_NO_LIMIT_HOLDEM, pb.GAME_POT_LIMIT_OMAHA]),
        ante=st.sampled_from([0, 5, 20]),
        seats=st.integers(2, 9),
        stacks=st.lists(STACKS, max_size=6),
    )
    def open(self, game: pb.Game.ValueType, ante: int, seats: int, stacks: list[int]) -> None:
        stakes = pb.Stakes(
            game=game, small_blind=10, big_blind=20, ante=ante, min_buy_in=20, max_buy_in=MOST, seats=seats
        )
        self.chance = random.Random(0)
        self.ids = 0
        self.done: list[do.Command] = []
        self.room = Room(
            do.OpenTable("table", "Table", stakes, do.Pace()),
            lambda: Deck.shuffled(self.chance.randrange),
            lambda _: self.chance.randrange(1 << 30),
        )
        room = self.room
        self.referees: list[Referee] = [
            Books(), Rounds(), Seats(), Secrecy(), Manners(), Hours(room), Banks(), Memory(room)
        ]  # fmt: skip
        for referee in self.referees:
            room.listeners.append(referee.saw)
        room.listeners.append(self.note)
        for number, stack in enumerate(stacks[:seats], 1):
            self.sits_down(f"player {number}", number, stack, True)

    def note(self, one: Committed) -> None:
        """Remember what could be sent again."""
        if isinstance(one.command, REPEATABLE):
            self.done = [*self.done[-8:], one.command]

    def new_id(self, what: str) -> str:
        self.ids += 1
        return f"{what} {self.ids}"

    def seat(self, player: str) -> Seat | None:
        """Where a player sits; no two commands come in the same moment."""
        self.room.pass_ms(1)
        return self.room.seat(player)

    @property
    def turn(self) -> Turn:
        assert self.room.state.turn is not None
        return self.room.state.turn

    def running(self) -> bool:
        return self.room.state.hand is not None

    # Players

    @rule(player=PEOPLE, seat=st.integers(1, 9), stack=STACKS, is_online=st.booleans())
    def sits_down(self, player: str, seat: int, stack: int, is_online: bool) -> None:
        self.room.pass_ms(1)
        state = self.room.state
        if state.seat_of(player) is None and seat not in state.seats and seat <= state.stakes.seats:
            self.room.sit_down(player, self.new_id("stay"), seat, stack, is_online=is_online)
            return
        with pytest.raises(Refused) as refused:
            self.room.sit_down(player, self.new_id("stay"), seat, stack)
        assert refused.value.reason == ("SEAT_UNKNOWN" if seat > state.stakes.seats else "SEAT_TAKEN")
        assert self.room.state is state

    @rule(player=PEOPLE)
    def leaves(self, player: str) -> None:
        seat = self.seat(player)
        stay = self.new_id("stay that never began") if seat is None else seat.seating_id
        self.room.execute(do.EndSeating(stay))

    @rule(player=PEOPLE)
    def sits_out(self, player: str) -> None:
        if self.seat(player) is not None:
            self.room.execute(do.SitOut(player))

    @rule(player=PEOPLE)
    def comes_back(self, player: str) -> None:
        seat = self.seat(player)
        if seat is None:
            return
        if seat.is_sitting_out and not seat.is_leaving and not seat.stack:
            with pytest.raises(Refused, match="top up first"):
                self.room.execute(do.ComeBack(player))
        else:
            self.room.execute(do.ComeBack(player))

    @rule(player=PEOPLE)
    def loses_the_connection(self, player: str) -> None:
        if self.seat(player) is not None:
            self.room.connect(player, False)

    @rule(player=PEOPLE)
    def is_connected_again(self, player: str) -> None:
        if self.seat(player) is not None:
            self.room.connect(player, True)

    @rule(player=PEOPLE, amount=st.sampled_from([1, 40, 500, MOST, 3 * MOST]))
    def tops_up(self, player: str, amount: int) -> None:
        seat = self.seat(player)
        stay = "stay that is over" if seat is None else seat.seating_id
        command = do.TopUp(stay, self.new_id("top-up"), amount)
        if seat is not None and seat.top_up_id and not seat.is_leaving:
            with pytest.raises(Refused, match="one at a time"):
                self.room.execute(command)
        else:
            self.room.execute(command)

    @precondition(running)
    @rule(chance=CHANCE)
    def acts(self, chance: int) -> None:
        self.room.pass_ms(1)
        if self.running():
            self.act(random.Random(chance))

    def act(self, chance: random.Random) -> None:
        turn = self.turn
        self.room.execute(do.Act(turn.player_id, turn.token, *some_action(turn.view.legal, chance)))

    @precondition(running)
    @rule(chance=CHANCE, thinks_ms=st.sampled_from([1, 1, 1, 10_000, 30_000]))
    def the_hand_is_played(self, chance: int, thinks_ms: int) -> None:
        source = random.Random(chance)
        hand = self.room.state.hand_number
        for _ in range(200):
            self.room.pass_ms(source.choice([1, thinks_ms]))
            if self.room.state.hand is None or self.room.state.hand_number != hand:
                return
            self.act(source)
        raise AssertionError("the hand does not end")

    @precondition(running)
    @rule(player=PEOPLE, other=st.sampled_from([(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)]))
    def somebody_acts_for_another_turn(self, player: str, other: tuple[int, int]) -> None:
        self.room.pass_ms(1)
        state, turn = self.room.state, self.room.state.turn
        if turn is None or (other == (0, 0) and player == turn.player_id):
            return
        token = do.Token(turn.token.hand_number + other[0], turn.token.action_number + other[1])
        taken = state.answered.get(token.action_number)
        if other == (0, -1) and taken is not None and taken.act.player_id == player and taken.act.kind == 1:
            return  # a repeat
        with pytest.raises((Refused, PassedTurn)):
            self.room.execute(do.Act(player, token, pb.ACTION_KIND_FOLD, 0))
        assert self.room.state is state

    # Time and machines

    @rule(ms=TIMES_MS, chance=CHANCE)
    def time_passes(self, ms: int, chance: int) -> None:
        self.chance.seed(chance)
        self.room.pass_ms(ms)

    @rule()
    def everyone_falls_asleep_until_the_hand_ends(self) -> None:
        """The clock alone brings every hand to its end, in four turns a player at the most."""
        if self.room.clock_is_away:
            self.the_clock_comes_back()
        hand = self.room.state.hand
        number = self.room.state.hand_number
        for _ in range(0 if hand is None else 4 * len(hand.seats)):
            if not self.running() or self.room.state.hand_number != number:
                break
            until = self.turn.base_deadline_ms + self.turn.view.time_bank_left_ms + 250
            self.room.pass_ms(max(1, until - self.room.now_ms))
        assert not self.running() or self.room.state.hand_number != number, "the hand does not end"

    @rule(chance=CHANCE)
    def the_owner_changes(self, chance: int) -> None:
        self.room.pass_ms(1)
        self.room.move()

    @precondition(lambda self: not self.room.clock_is_away)
    @rule()
    def the_clock_goes_away(self) -> None:
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
    @rule(data=st.data())
    def something_is_sent_again(self, data: st.DataObject) -> None:
        """Whatever a network repeats: it changes nothing, and who asked gets an answer."""
        self.room.pass_ms(1)
        command = data.draw(st.sampled_from(self.done))
        state = self.room.state
        try:
            self.room.execute(command)
        except Refused as refused:
            assert refused.reason in {"SEATING_OVER", "TOO_EARLY"}  # noqa: PT017
        except PassedTurn:
            assert isinstance(command, do.Act)
        assert self.room.state.version == state.version, f"{command} came twice and counted twice"

    @invariant()
    def the_rules_hold(self) -> None:
        for referee in self.referees:
            referee.check(self.room)

    def teardown(self) -> None:
        if hasattr(self, "room") and sys.exc_info()[0] is None:
            self.everyone_falls_asleep_until_the_hand_ends()
            self.the_rules_hold()


TestTableLife = TableLife.TestCase
IS_DEEP = settings.get_current_profile_name() == "deep"
pytestmark = pytest.mark.timeout(0 if IS_DEEP else 120)
TestTableLife.settings = settings(
    max_examples=settings().max_examples if IS_DEEP else 60,
    stateful_step_count=80 if IS_DEEP else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Explaining runs everything again under a tracer, for minutes.
    phases=set(Phase) - {Phase.explain},
)
