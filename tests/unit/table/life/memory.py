"""What must be the same thing twice: a table and the one rebuilt from what is written, a view and its events."""

from __future__ import annotations

from cardroom.client.view import apply_change
from cardroom.table.domain.commands import VoidHand
from cardroom.table.domain.decide import decide
from cardroom.table.domain.presence import due_ms
from cardroom.table.domain.view import public_view
from tests.unit.table.life.room import Committed, Room

__all__ = ["Memory"]


class Memory:
    """A client that knows the first view and events, and a clock that knows what it was told."""

    def __init__(self, room: Room) -> None:
        self.view = public_view(room.state)
        self.told: dict[str, int] = {}

    def saw(self, one: Committed) -> None:
        """Follow a change."""
        state = one.decision.state
        assert state.version == one.before.version + (1 if one.decision.changes else 0)
        if not one.decision.changes:
            assert state == one.before, "what changes nothing is not written"
            return
        apply_change(self.view, state.version, one.decision.events)
        for said in one.decision.absences:
            assert said.generation == state.version
            self.told[said.player_id] = said.due_at.ToMilliseconds()
        timing = one.decision.timing
        assert (timing is not None) == (state.timing_generation != one.before.timing_generation)

    def check(self, room: Room) -> None:
        """Everyone knows the table as it is."""
        assert self.view == public_view(room.state), "a view kept by events is the view"
        due = {seat.player_id: due_ms(seat, room.state.pace) for seat in room.state.seats.values()}
        told = {player: at for player, at in self.told.items() if at}
        assert told == {player: at for player, at in due.items() if at}, "the clock knows how long absences may last"
        assert room.rebuilt() == room.state, "a table rebuilt from its log is the table"
        if room.state.hand is not None:
            self._salvage(room)

    def _salvage(self, room: Room) -> None:
        """14.4: a void hand leaves the same table, whether its owner knows it or a new one finds it in pieces."""
        known, salvaged = (decide(one, VoidHand(), room.now_ms).state for one in (room.state, room.salvaged()))
        assert salvaged.timing_generation >= known.timing_generation, "the clock forgets what it was told before"
        salvaged.timing_generation, salvaged.answered = known.timing_generation, known.answered
        assert salvaged == known
