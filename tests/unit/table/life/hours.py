"""What must happen when: pauses between hands (2.5), and how long absences last (9.5, 10.2). Times in milliseconds."""

from __future__ import annotations

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain import commands as do
from cardroom.table.domain.state import Seat
from tests.unit.table.life.room import REPEAT_MS, Committed, Room

__all__ = ["Hours"]

AWAY_MS, NO_CHIPS_MS, SITTING_OUT_MS = 60_000, 2 * 60_000, 15 * 60_000


class Hours:
    """A clock on the wall, and since when each player is away, sits out or has no chips."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.rest_until = 0
        """Before this no hand is dealt."""
        self.due_at = 0
        """When the next hand must be dealt, if nothing comes between; 0: nothing is said."""
        self.offline_since: dict[str, int] = {}
        self.excused: dict[str, int] = {}
        """Since when a player's absence counts, if later than it began: after a takeover, coming back, chips."""
        self.out_since: dict[str, int] = {}
        """By stay: since when it sits out, or has no chips if that came later."""

    def saw(self, one: Committed) -> None:
        """Note the time of everything that has one."""
        self._connections(one)
        self._pauses(one)
        if isinstance(one.command, do.TakeOver):
            self.excused |= {seat.player_id: one.now_ms for seat in one.before.seats.values()}
        for number, seat in one.before.seats.items():
            after = one.decision.state.seats.get(number)
            if after is None or after.is_leaving:
                self._leaves(one, seat)
            else:
                self._changes(one, seat, after)

    def _connections(self, one: Committed) -> None:
        if isinstance(one.command, do.SeatPlayer) and one.decision.changes:
            self.offline_since[one.command.player_id] = one.now_ms
        for player in self.room.online:
            self.offline_since.pop(player, None)
        if isinstance(one.command, do.SetConnected) and not one.command.connected:
            self.offline_since.setdefault(one.command.player_id, one.now_ms)

    def _pauses(self, one: Committed) -> None:
        for event in one.decision.events:
            if event.HasField("hand_started"):
                assert one.now_ms >= self.rest_until, "2.5: 2 s after a hand, 5 s after a showdown, and no sooner"
                assert not self.due_at or one.now_ms == self.due_at, "2.5: the next hand starts in its time"
            if event.HasField("hand_ended"):
                self.rest_until = one.now_ms + (5_000 if event.hand_ended.had_showdown else 2_000)
                self.due_at = self.rest_until
        after = one.decision.state
        enough = sum(seat.can_play for seat in after.seats.values()) >= 2
        if not enough or self.room.clock_is_away or isinstance(one.command, do.RestartTurn):
            self.due_at = 0
        assert after.hand is not None or (after.next_deal_ms > 0) == enough, "2.4: a hand is due while two can play"

    def _leaves(self, one: Committed, seat: Seat) -> None:
        since = self.out_since.pop(seat.seating_id, None)
        asked = isinstance(one.command, do.EndSeating) and one.command.seating_id == seat.seating_id
        if seat.is_leaving or asked:
            return
        assert since is not None, "nobody leaves who did not ask to, and plays"
        has_chips = seat.stack or seat.top_up_id
        least = SITTING_OUT_MS if has_chips else NO_CHIPS_MS
        assert one.now_ms - since >= least, "10.2: 15 minutes; 2 minutes without chips"

    def _changes(self, one: Committed, seat: Seat, after: Seat) -> None:
        stay, player = seat.seating_id, seat.player_id
        if not after.is_sitting_out:
            if seat.is_sitting_out:
                self.excused[player] = one.now_ms
            self.out_since.pop(stay, None)
        elif not seat.is_sitting_out or (seat.stack and not after.stack):
            self.out_since[stay] = one.now_ms
        told = [event.seat_status_changed for event in one.decision.events if event.HasField("seat_status_changed")]
        for change in told:
            if change.seat == seat.number and change.reason == pb.STATUS_REASON_CONNECTION_LOST:
                assert player not in self.room.online, "9.5: nobody is sat out who is there"
                assert one.now_ms - self._away_since(player) >= AWAY_MS, "9.5: 60 s"

    def _away_since(self, player: str) -> int:
        return max(self.offline_since[player], self.excused.get(player, 0))

    def check(self, room: Room) -> None:
        """Nobody is borne with for longer, and no hand is overdue."""
        if room.clock_is_away:
            self.due_at = 0
            return
        state, now = room.state, room.now_ms - REPEAT_MS
        assert not 0 < state.next_deal_ms < room.now_ms, "2.5: a hand is overdue"
        assert not 0 < state.waits_until_ms < room.now_ms - 250, "9.3: a turn is overdue"
        for seat in state.seats.values():
            if seat.is_leaving:
                continue
            if not seat.is_sitting_out:
                away = seat.player_id not in room.online
                assert not away or now - self._away_since(seat.player_id) <= AWAY_MS, "9.5: sat out after 60 s"
                continue
            most = SITTING_OUT_MS if seat.stack or seat.top_up_id else NO_CHIPS_MS
            assert now - self.out_since[seat.seating_id] <= most, "10.2: leaves after 15 minutes, or 2 without chips"
