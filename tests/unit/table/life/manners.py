"""Who is asked, one at a time, and what the table does for who does not answer (rules 9.3, 9.4, 9.7, 10.3)."""

from __future__ import annotations

from collections import Counter

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain import commands as do
from cardroom.table.domain.view import public_view
from tests.unit.table.life.room import Committed, Room

__all__ = ["Manners"]

GRACE_MS = 250


class Manners:
    """Knows a hand by its public events only."""

    def __init__(self) -> None:
        self.asked: pb.TurnView | None = None
        self.players: dict[int, str] = {}
        self.street: Counter[int] = Counter()
        self.price = 0
        self.timeouts: Counter[str] = Counter()
        """In a row, by player."""
        self.at_once: set[str] = set()
        """Players whose turns are the table's until the hand ends (9.4)."""
        self.out: set[str] = set()
        """Players who asked to sit out, and have not come back (10.1)."""

    def saw(self, one: Committed) -> None:
        """A decision's events in their order."""
        self._timeout_is_due(one)
        if isinstance(one.command, do.ComeBack | do.SeatPlayer) and one.decision.changes:
            self.at_once.discard(one.command.player_id)
            self.timeouts[one.command.player_id] = 0
        if isinstance(one.command, do.SitOut):
            self.out.add(one.command.player_id)
        elif isinstance(one.command, do.ComeBack | do.SeatPlayer):
            self.out.discard(one.command.player_id)
        for event in one.decision.events:
            self._see(one, event)
        turn = one.decision.state.turn
        if isinstance(one.command, do.TakeOver) and turn is not None:
            assert turn.started_ms == one.now_ms, "9.6: after a takeover the turn starts again"
        for player in self.at_once:
            seat = one.decision.state.seat_of(player)
            assert seat is None or not seat.can_play, "9.4: two timeouts in a row sit the player out"

    def _timeout_is_due(self, one: Committed) -> None:
        turn = one.before.turn
        if isinstance(one.command, do.EndTurn) and one.decision.changes:
            assert turn is not None
            deadline = turn.bank_deadline_ms or turn.base_deadline_ms
            assert one.now_ms >= deadline + GRACE_MS, "9.7: a timeout no sooner than 250 ms after the deadline"
            assert turn.base_deadline_ms == turn.started_ms + 20_000, "9.1: 20 s to act"

    def _see(self, one: Committed, event: pb.TableEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "hand_started":
            self.players = {player.seat: player.player_id for player in event.hand_started.players}
            assert not self.out & set(self.players.values()), "10.1: who sits out is not dealt in"
            self.street, self.price = Counter(), one.before.stakes.big_blind
            self.asked = None
            self.at_once.clear()
        elif kind == "posted" and event.posted.kind != pb.POST_KIND_ANTE:
            self.street[event.posted.seat] += event.posted.amount
        elif kind == "street_dealt":
            self.street, self.price = Counter(), 0
        elif kind == "turn_started":
            self._ask(one, event.turn_started)
        elif kind == "action_taken":
            self._act(one, event.action_taken)
        elif kind == "stack_changed" and one.before.seats[event.stack_changed.seat].is_out_of_chips:
            self.timeouts[one.before.seats[event.stack_changed.seat].player_id] = 0
        elif kind == "hand_ended":
            assert self.asked is None or event.hand_ended.is_void, "a hand ends when nobody is asked"
            self.asked = None
            self.at_once.clear()

    def _ask(self, one: Committed, turn: pb.TurnView) -> None:
        is_anew = isinstance(one.command, do.TakeOver | do.RestartTurn)
        assert self.asked is None or (is_anew and turn.token == self.asked.token), "one player is asked at a time"
        assert self.players[turn.seat] == turn.player_id
        assert turn.player_id not in self.at_once, "9.4: the rest of the hand is played at once"
        seat = one.decision.state.seats.get(turn.seat)
        assert seat is None or not seat.is_leaving, "10.3: who leaves is not asked"
        assert turn.started_at.ToMilliseconds() == one.now_ms, "9.6: a turn begins with a full clock"
        self.asked = turn

    def _act(self, one: Committed, action: pb.ActionTaken) -> None:
        player = self.players[action.seat]
        owed = max(self.price, *self.street.values(), 0) - self.street[action.seat]
        if action.cause == pb.ACTION_CAUSE_ABSENT:
            self._for_the_absent(one, action, player, owed)
        else:
            assert self.asked is not None, "nobody is asked"
            assert (action.seat, action.action_number) == (self.asked.seat, self.asked.token.action_number)
        if action.cause == pb.ACTION_CAUSE_TIMEOUT:
            assert isinstance(one.command, do.EndTurn)
            assert action.kind == (pb.ACTION_KIND_FOLD if owed else pb.ACTION_KIND_CHECK), "9.3: a check if they can"
            self.timeouts[player] += 1
            if self.timeouts[player] >= 2:
                self.at_once.add(player)
        elif action.cause == pb.ACTION_CAUSE_PLAYER:
            assert isinstance(one.command, do.Act)
            assert one.command.player_id == player, "only the actor acts"
            self.timeouts[player] = 0
        self.street[action.seat] += action.added
        self.asked = None

    def _for_the_absent(self, one: Committed, action: pb.ActionTaken, player: str, owed: int) -> None:
        after = one.decision.state.seats.get(action.seat)
        is_leaving = after is None or after.is_leaving
        assert self.asked is None or (is_leaving and self.asked.seat == action.seat), "the table acts at the turn"
        assert is_leaving or player in self.at_once, "9.4, 10.3: only for who leaves or timed out twice"
        must_fold = is_leaving or owed
        assert action.kind == (pb.ACTION_KIND_FOLD if must_fold else pb.ACTION_KIND_CHECK), "9.4, 10.3: check or fold"

    def check(self, room: Room) -> None:
        """At most one player is asked, and everyone sees who."""
        state = room.state
        shown = public_view(state).hand
        assert (state.hand is not None) == (self.asked is not None), "a hand that is on asks somebody, else nobody"
        if self.asked is None or state.hand is None:
            assert state.turn is None
            assert not shown.HasField("turn")
            return
        assert state.turn is not None
        assert state.hand.actor == state.turn.seat == self.asked.seat == shown.turn.seat
        assert not state.next_deal_ms, "2.5: no hand is due while one is on"
