"""What is in each player's time bank, counted beside the clock (rules 9.1, 9.2, 9.5)."""

from __future__ import annotations

from dataclasses import dataclass

from tests.unit.table.life.room import Committed, Room

__all__ = ["Banks"]

FULL_MS, GROWTH_MS, HANDS, AWAY_MS = 30_000, 5_000, 20, 5 * 60_000


@dataclass(slots=True)
class Account:
    """One player's bank, whatever the table."""

    left_ms: int = FULL_MS
    hands: int = 0
    is_broke: bool = False
    away_since_ms: int | None = None

    def fill(self, ms: int) -> None:
        """Put time in, up to the full size."""
        self.left_ms = min(FULL_MS, self.left_ms + ms)
        self.hands = 0


class Banks:
    """Counts from the table's events and commands what each bank must hold."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}

    def saw(self, one: Committed) -> None:
        """Take out what a turn used, put in what the rules give."""
        self._bank_starts(one)
        self._charge(one)
        names = {number: seat.player_id for number, seat in one.before.seats.items()}
        for event in one.decision.events:
            if event.HasField("hand_started"):
                for player in event.hand_started.players:
                    self._dealt_in(player.player_id)
            if event.HasField("hand_ended"):
                for outcome in event.hand_ended.outcomes:
                    if not outcome.stack:
                        self.of(names[outcome.seat]).is_broke = True
            if event.HasField("stack_changed") and self.of(names[event.stack_changed.seat]).is_broke:
                self.of(names[event.stack_changed.seat]).is_broke = False
                self.of(names[event.stack_changed.seat]).fill(FULL_MS)
            if event.HasField("player_seated"):
                self._sits_down(event.player_seated.seat.player_id, one.now_ms)
            if event.HasField("player_left"):
                self.of(event.player_left.player_id).away_since_ms = one.now_ms

    def of(self, player: str) -> Account:
        """A player's account."""
        return self.accounts.setdefault(player, Account())

    def _bank_starts(self, one: Committed) -> None:
        turn = one.before.turn
        for event in one.decision.events:
            if event.HasField("time_bank_started"):
                assert turn is not None
                assert event.time_bank_started.seat == turn.seat
                assert one.now_ms >= turn.base_deadline_ms, "9.1: the bank is used when the 20 s are over"
                assert one.before.seats[turn.seat].connected, "9.5: no bank for who is away"
                lasts = event.time_bank_started.bank_deadline.ToMilliseconds() - turn.base_deadline_ms
                assert lasts == self.of(turn.player_id).left_ms, "9.1: it lasts as long as there is time in it"

    def _charge(self, one: Committed) -> None:
        turn = one.before.turn
        if turn is None or not turn.bank_deadline_ms:
            return
        if any(event.HasField("action_taken") for event in one.decision.events):
            used = min(one.now_ms, turn.bank_deadline_ms) - turn.base_deadline_ms
            self.of(turn.player_id).left_ms -= max(0, used)

    def _dealt_in(self, player: str) -> None:
        account = self.of(player)
        if account.left_ms < FULL_MS:
            account.hands += 1
            if account.hands == HANDS:
                account.fill(GROWTH_MS)

    def _sits_down(self, player: str, now_ms: int) -> None:
        account = self.of(player)
        if account.away_since_ms is not None and (account.is_broke or now_ms - account.away_since_ms >= AWAY_MS):
            account.fill(FULL_MS)
            account.is_broke = False
        account.away_since_ms = None

    def check(self, room: Room) -> None:
        """9.2: within 0 and full, at the clock and at the table; both know what the rules say."""
        for player, account in self.accounts.items():
            assert 0 <= room.bank(player).left_ms <= FULL_MS, "9.2: a bank within 0 and full"
            if not room.clock_is_away:
                assert room.bank(player).left_ms == account.left_ms, f"9.2: the bank of {player}"
        turn = room.state.turn
        if turn is not None and not turn.bank_deadline_ms and not room.clock_is_away:
            assert turn.view.time_bank_left_ms == self.of(turn.player_id).left_ms, "9.1: everyone sees the bank"
        for seat in room.state.seats.values():
            assert 0 <= seat.time_bank_ms <= FULL_MS
            if not room.clock_is_away:
                assert seat.time_bank_ms == self.of(seat.player_id).left_ms, "9.1: everyone sees the bank"
