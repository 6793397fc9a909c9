"""The books of everyone's chips, kept beside the table by whoever pays them (rules 1.3, 10.3, 10.4)."""

from __future__ import annotations

from collections import Counter

from cardroom.table.domain import commands as do
from cardroom.table.domain.view import public_view
from tests.unit.table.life.room import Committed, Room

__all__ = ["Books"]


class Books:
    """Purses, escrows of seats and chips promised for top-ups. Purses start at 0, so that everything sums to 0."""

    def __init__(self) -> None:
        self.purses: Counter[str] = Counter()
        self.escrows: dict[str, int] = {}
        self.promised: dict[str, tuple[str, int]] = {}
        """By top-up: the stay, and the chips that were put aside for it."""
        self.owners: dict[str, str] = {}
        self.settled = 0
        self.last_hands: dict[str, int] = {}

    def saw(self, one: Committed) -> None:
        """Move the chips that a decision moves, each from one place to another."""
        if not one.decision.changes:
            return
        command, decision = one.command, one.decision
        if isinstance(command, do.SeatPlayer):
            self._pay(command.player_id, command.stack)
            assert command.seating_id not in self.escrows, "a stay begins once"
            self.escrows[command.seating_id] = command.stack
            self.owners[command.seating_id] = command.player_id
        if isinstance(command, do.TopUp) and command.seating_id in self.escrows:
            self._pay(self.owners[command.seating_id], command.amount)
            assert command.top_up_id not in self.promised, "a top-up is asked for once"
            self.promised[command.top_up_id] = (command.seating_id, command.amount)
        self._deal_in(one)
        self._settle(one)
        self._top_up(one)
        for ended in decision.ended:
            if ended.had_begun:
                assert ended.final_stack == self.escrows[ended.seating_id], "10.3: the chips that a player goes with"
                assert ended.last_hand_number == self.last_hands.get(ended.seating_id, 0)
                self._pay(self.owners[ended.seating_id], -self.escrows.pop(ended.seating_id))

    def _pay(self, player: str, amount: int) -> None:
        self.purses[player] -= amount

    def _deal_in(self, one: Committed) -> None:
        for event in one.decision.events:
            if event.HasField("hand_started"):
                for player in event.hand_started.players:
                    stay = one.before.seats[player.seat].seating_id
                    assert player.stack == self.escrows[stay]
                    self.last_hands[stay] = event.hand_started.hand_number

    def _settle(self, one: Committed) -> None:
        settlement = one.decision.settlement
        if settlement is None:
            return
        self.settled += 1
        assert settlement.hand_number == self.settled, "each hand is settled once, in order"
        assert sum(change.delta for change in settlement.deltas) == 0, "1.3: a hand makes no chips and loses none"
        if isinstance(one.command, do.VoidHand):
            assert not any(change.delta for change in settlement.deltas), "14.4: every chip put in goes back"
        stays = {seat.player_id: seat.seating_id for seat in one.before.seats.values()}
        for change in settlement.deltas:
            stay = stays[change.player_id]
            self.escrows[stay] += change.delta
            assert self.escrows[stay] == change.stack >= 0

    def _top_up(self, one: Committed) -> None:
        for done in one.decision.topped_up:
            if done.top_up_id not in self.promised:
                assert done.added == 0, "10.4: nothing comes from nobody"
                continue
            stay, amount = self.promised.pop(done.top_up_id)
            before = self.escrows[stay]
            assert 0 <= done.added <= amount
            most = one.decision.state.stakes.max_buy_in
            seat = one.before.seat_of_stay(stay)
            is_leaving = seat is not None and seat.is_leaving
            if is_leaving or stay in {ended.seating_id for ended in one.decision.ended}:
                assert done.added == 0, "10.4: leaving cancels a top-up"
            else:
                assert done.added == max(0, min(amount, most - before)), "10.4: up to the biggest buy-in, by the stack"
            self.escrows[stay] += done.added
            self._pay(self.owners[stay], done.added - amount)

    def check(self, room: Room) -> None:
        """1.3: nothing came from nowhere or went there, and the table says what the books say."""
        state = room.state
        promised = sum(amount for _, amount in self.promised.values())
        assert self.purses.total() + sum(self.escrows.values()) + promised == 0, "1.3: chips are conserved"
        assert self.escrows == {seat.seating_id: seat.stack for seat in state.seats.values()}
        waiting = {one.top_up_id: (one.seating_id, one.top_up) for one in state.seats.values() if one.top_up_id}
        assert self.promised == waiting, "10.4: what was promised waits, and nothing else"
        assert not waiting or state.hand is not None, "10.4: between hands a top-up comes at once"
        view = public_view(state)
        shown = sum(seat.stack for seat in view.seats)
        if state.hand is not None:
            shown += sum(pot.amount for pot in view.hand.pots)
        assert shown == sum(self.escrows.values()), "1.3: stacks and pots, as everyone sees them"
