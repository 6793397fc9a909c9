"""Who sits where, by what was answered: a seat is never lost or doubled (rules 10.2, 10.3, 10.5)."""

from __future__ import annotations

from cardroom.table.domain import commands as do
from tests.unit.table.life.room import Committed, Room

__all__ = ["Seats"]


class Seats:
    """The usher's list. A stay begins and ends once, and nobody goes in the middle of a hand."""

    def __init__(self) -> None:
        self.taken: dict[int, tuple[str, str]] = {}
        self.over: set[str] = set()

    def saw(self, one: Committed) -> None:
        """Somebody sits down or has gone."""
        command, decision = one.command, one.decision
        told_gone = {event.player_left.seat for event in decision.events if event.HasField("player_left")}
        in_hand = set() if one.before.hand is None else set(one.before.hand.seats)
        gone = set()
        for ended in decision.ended:
            assert ended.seating_id not in self.over, "a stay ends once"
            self.over.add(ended.seating_id)
            seat = next((number for number, (stay, _) in self.taken.items() if stay == ended.seating_id), None)
            assert ended.had_begun == (seat is not None)
            if seat is not None:
                del self.taken[seat]
                gone.add(seat)
        assert gone == told_gone, "everyone is told who has left"
        assert decision.ends_hand or not gone & in_hand, "10.3: who is in the hand leaves when it ends"
        if isinstance(command, do.SeatPlayer) and decision.changes:
            assert command.seat not in self.taken, "a seat is one player's"
            assert command.player_id not in [player for _, player in self.taken.values()], "10.5: one seat a player"
            self.taken[command.seat] = (command.seating_id, command.player_id)

    def check(self, room: Room) -> None:
        """The table's seats are those of the list: none lost, none doubled."""
        seats = {number: (seat.seating_id, seat.player_id) for number, seat in room.state.seats.items()}
        assert seats == self.taken
        assert all(number == seat.number for number, seat in room.state.seats.items())
        assert set(seats) <= set(range(1, room.state.stakes.seats + 1))
        if room.state.hand is not None:
            assert set(room.state.hand.seats) <= set(seats)
        else:
            assert not any(seat.is_leaving for seat in room.state.seats.values()), "10.3: nobody leaves forever"
