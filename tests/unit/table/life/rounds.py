"""Where button and blinds must be, and who is dealt in: §3 told once more, by what each stay owes."""

from __future__ import annotations

from typing import Any

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain.state import TableState
from cardroom.table.domain.view import public_view
from tests.unit.table.life.room import Committed, Room

__all__ = ["Rounds"]


class Rounds:
    """Follows the blinds of a table with a dead button. A stay owes the big blind until it has paid or been excused."""

    def __init__(self) -> None:
        self.owes: dict[str, bool] = {}
        self.button = self.small_due = self.big = 0
        self.last_payer = ""
        self.was_heads_up = False
        self.before: dict[str, Any] = {}

    def saw(self, one: Committed) -> None:
        """A hand begins: everything about its places follows from the one before."""
        for event in one.decision.events:
            if event.HasField("hand_started"):
                self.before = {name: value for name, value in vars(self).items() if name != "before"}
                self.owes = dict(self.owes)
                self._hand(one.before, event.hand_started)
                self._posts(one, event.hand_started)
            if event.HasField("hand_ended") and event.hand_ended.is_void:
                # 14.4: as if it had not been dealt.
                vars(self).update(self.before)

    def _hand(self, before: TableState, hand: pb.HandStarted) -> None:
        stays = {number: seat.seating_id for number, seat in before.seats.items()}
        able = sorted(seat.seat for seat in public_view(before).seats if _is_able(seat))
        assert len(able) >= 2, "2.4: a hand needs two who can play"
        dealt = [player.seat for player in hand.players]
        if self.big == 0:
            assert dealt == able, "3.5: at the first hand everyone plays"
            assert hand.button_seat in able, "3.1: the first button is somebody's who plays"
            small = hand.button_seat if len(able) == 2 else after(hand.button_seat, able)
            self._places(hand, hand.button_seat, small, after(small, able))
        else:
            self._next_hand(hand, able, dealt, stays)
        assert hand.big_blind_seat in dealt
        assert stays[hand.big_blind_seat] != self.last_payer, "3.1: nobody pays the big blind twice in a row"
        self._remember(hand, dealt, stays)

    def _next_hand(self, hand: pb.HandStarted, able: list[int], dealt: list[int], stays: dict[int, str]) -> None:
        big = after(self.big, able)
        due = [seat for seat in able if seat == big or not self.owes.get(stays[seat], True)]
        if len(due) < 2:
            due = able
        assert dealt == due, f"3.4, 3.5: dealt in are {dealt}, it is the turn of {due}"
        if len(dealt) == 2:
            other = next(seat for seat in dealt if seat != big)
            self._places(hand, other, other, big)
            return
        small = self.big if self.big in dealt else 0
        button = self.small_due
        if self.was_heads_up and (button == big or not is_between(button, self.big, big)):
            # Where the last small blind cannot have the button, it is only said that it goes before the blinds.
            button = hand.button_seat
            assert is_between(button, self.big, big), "3.1: the button comes before the blinds"
        self._places(hand, button, small, big)

    def _places(self, hand: pb.HandStarted, button: int, small: int, big: int) -> None:
        places = (hand.button_seat, hand.small_blind_seat, hand.big_blind_seat)
        assert places == (button, small, big), f"3.1, 3.3: button and blinds are {places}, not {(button, small, big)}"

    def _remember(self, hand: pb.HandStarted, dealt: list[int], stays: dict[int, str]) -> None:
        is_first, last_big = self.big == 0, self.big
        self.was_heads_up = len(dealt) == 2
        self.button, self.big = hand.button_seat, hand.big_blind_seat
        # The seat where the small blind is due, whether or not somebody posts it there.
        self.small_due = hand.small_blind_seat or last_big
        self.last_payer = stays[self.big]
        for seat, stay in stays.items():
            passed = is_first or is_between(last_big, seat, self.big)
            if seat in dealt:
                self.owes[stay] = False
            elif passed or seat == self.small_due:
                self.owes[stay] = True

    def _posts(self, one: Committed, hand: pb.HandStarted) -> None:
        """3.6, 3.7: antes first, then the blinds, each as far as the stack goes."""
        stakes = one.before.stakes
        left = {player.seat: player.stack for player in hand.players}
        due = [(seat, pb.POST_KIND_ANTE, stakes.ante) for seat in left] if stakes.ante else []
        if hand.small_blind_seat:
            due.append((hand.small_blind_seat, pb.POST_KIND_SMALL_BLIND, stakes.small_blind))
        due.append((hand.big_blind_seat, pb.POST_KIND_BIG_BLIND, stakes.big_blind))
        expected = []
        for seat, kind, amount in due:
            if left[seat]:
                expected.append((seat, kind, min(amount, left[seat])))
                left[seat] -= min(amount, left[seat])
        posted = [event.posted for event in one.decision.events if event.HasField("posted")]
        assert sorted((post.seat, post.kind, post.amount) for post in posted) == sorted(expected)

    def check(self, room: Room) -> None:
        """3.4: who waits for the big blind sees so."""
        if not self.big:
            return
        for seat in public_view(room.state).seats:
            if seat.status in (pb.SEAT_STATUS_PLAYING, pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND):
                owes = self.owes.get(room.state.seats[seat.seat].seating_id, True)
                assert (seat.status == pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND) == owes, f"3.4: seat {seat.seat}"


def _is_able(seat: pb.SeatView) -> bool:
    return seat.stack > 0 and seat.status in (pb.SEAT_STATUS_PLAYING, pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND)


def after(seat: int, seats: list[int]) -> int:
    """The first of `seats` to the left of `seat`."""
    return next((other for other in sorted(seats) if other > seat), min(seats))


def is_between(start: int, seat: int, end: int) -> bool:
    """Whether one who goes left from `start` meets `seat` before `end`."""
    return 0 < (seat - start) % 10 < (end - start) % 10 if start != end else seat != start
