"""A table with its clock, on virtual time: what the table's service and the clock's do, without servers.

Commands are decided by the table's domain and kept as the database would keep them; the clock reads the same messages
as it does from the broker, with its own code, and fires in the moment that it says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from cardroom.clock import events as clock
from cardroom.clock.domain import absences, banks, timers
from cardroom.clock.domain.absences import Absence
from cardroom.clock.store import Batch
from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table import records
from cardroom.table.deckbox import DeckBox
from cardroom.table.domain import commands as do
from cardroom.table.domain.decide import decide, opened
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import RefusalKind, Refused
from cardroom.table.domain.presence import due_ms
from cardroom.table.domain.replay import Entry, replay
from cardroom.table.domain.salvage import salvage
from cardroom.table.domain.state import Seat, TableState
from cardroom.table.domain.step import Decision, EndedSeating, ToppedUp
from cardroom.table.writes import HandRow, LogRow, Write, written

__all__ = ["FORGOTTEN_MS", "START_MS", "Committed", "Referee", "Room"]

START_MS = 1_800_000_000_000
FORGOTTEN_MS = 30_000
"""So long after the clock should have come the table's owner helps itself."""
FOREVER = 1 << 62
REPEAT_MS = 3_000
"""The clock tells of an absence again after this, until the table has moved on."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A command that was decided, and what is written of it: nothing where it changed nothing."""

    command: do.Command
    now_ms: int
    before: TableState
    decision: Decision
    write: Write | None


class Referee(Protocol):
    """Watches a room and knows some of the rules."""

    def saw(self, one: Committed) -> None:
        """Follow a decision; raise AssertionError where it breaks a rule."""

    def check(self, room: Room) -> None:
        """Look at the room as it is now, between two things that happen."""


class Room:
    """One table and everything around it that has to do with time. Times are milliseconds since 1970."""

    def __init__(
        self, opening: do.OpenTable, deck: Callable[[], Deck], draw: Callable[[TableState], int] = lambda _: 0
    ) -> None:
        self.now_ms = START_MS
        self.state = opened(opening)
        self.online: set[str] = set()
        """Players with a stream that is alive."""
        self.banks: dict[str, banks.Bank] = {}
        self.absences: dict[str, Absence] = {}
        self.timer = timers.idle(opening.table_id, 0)
        self.clock_is_away = False
        self.listeners: list[Callable[[Committed], None]] = []
        self._deck, self._draw = deck, draw
        self._box = DeckBox([bytes(32)])
        self._unheard: list[TableChanged] = []
        self._ended: dict[str, EndedSeating] = {}
        self._topped_up: dict[str, ToppedUp] = {}
        self._snapshot = b""
        self._log: list[LogRow] = []
        self._hand: HandRow | None = None
        self.execute(opening)

    # What the table's service does with a command

    def execute(self, command: do.Command) -> Any:
        """Decide a command, keep what comes of it, tell the clock; answers as the service does."""
        past = self._past(command)
        if past is not None:
            return past
        deck = self._deck() if isinstance(command, do.DealHand) else None
        before, decision = self.state, decide(self.state, command, self.now_ms, deck)
        write = None
        if decision.changes:
            write = written(before, decision, command, shard=1, epoch=1, now_ms=self.now_ms, box=self._box)
            self._keep(write)
        self.state = decision.state
        for listener in self.listeners:
            listener(Committed(command, self.now_ms, before, decision, write))
        if write is not None and write.changed is not None:
            self._unheard.append(TableChanged.FromString(write.changed.event))
            self._hear()
        return decision.answer

    def _past(self, command: do.Command) -> Any:
        """What the service finds in its database before it decides anything."""
        if isinstance(command, do.TopUp):
            return self._topped_up.get(command.top_up_id)
        if not isinstance(command, do.SeatPlayer | do.EndSeating):
            return None
        past = self._ended.get(command.seating_id)
        if past is not None and isinstance(command, do.SeatPlayer):
            raise Refused(RefusalKind.PRECONDITION, "SEATING_OVER", "this seating has ended")
        return past

    def _keep(self, write: Write) -> None:
        assert write.log is not None
        self._log.append(write.log)
        if write.hand is not None:
            self._hand = write.hand
        if write.snapshot is not None:
            self._snapshot, self._log = write.snapshot.snapshot, []
        self._ended |= {one.seating_id: one for one in write.ended}
        self._topped_up |= {one.top_up_id: one for one in write.topped_up}

    def _entries(self) -> list[Entry]:
        return [
            Entry(
                row.version, row.occurred_ms, records.unpack_command(row.command), LoggedChange.FromString(row.change)
            )
            for row in self._log
        ]

    def rebuilt(self) -> TableState:
        """The table as a new owner finds it."""
        hand, deck = self._hand, None
        if hand is not None and hand.deck is not None:
            deck = self._box.open(hand.deck, hand.deck_key or "", self.state.table_id, hand.hand_number)
        state = replay(records.unpack_table(self._snapshot), self._entries(), lambda _: deck)
        assert state is not None
        if state.hand is None:
            # Answers of hands that are over are looked up in the log.
            state.answered = self.state.answered
        return state

    def salvaged(self) -> TableState:
        """The table as a new owner finds it who cannot decide its hand again."""
        state = salvage(records.unpack_table(self._snapshot), self._entries())
        assert state is not None, "a hand is on"
        return state

    # What players and owners do

    def seat(self, player: str) -> Seat | None:
        """Where a player sits."""
        return self.state.seat_of(player)

    def sit_down(self, player: str, seating_id: str, seat: int, stack: int, *, is_online: bool = True) -> None:
        """A player sits down and opens a stream, or does not."""
        bank = self.bank(player)
        left = banks.left_when_sitting_down(bank, self.now_ms)
        self.execute(do.SeatPlayer(seating_id, player, player.title(), seat, stack, left, bank.generation))
        if is_online:
            self.online.add(player)

    def connect(self, player: str, is_online: bool) -> None:
        """The first of a player's streams opens, or the last one closes."""
        (self.online.add if is_online else self.online.discard)(player)
        self.execute(do.SetConnected(player, is_online))

    def move(self) -> None:
        """Another owner takes the table over: from what is written, not from memory."""
        self.state = self.rebuilt()
        self.execute(do.TakeOver())

    # What the clock does

    def bank(self, player: str) -> banks.Bank:
        """A player's time bank, as the clock has it."""
        return self.banks.get(player, banks.Bank(player))

    def clock_comes_back(self) -> None:
        """The clock reads what it has missed; what is overdue fires as time goes on."""
        self.clock_is_away = False
        self._hear()

    def pass_ms(self, ms: int) -> None:
        """Time goes by; every timer that falls due in between fires in its moment, in the order of their times."""
        until = self.now_ms + ms
        while not self.clock_is_away:
            absent = min(self.absences.values(), key=lambda one: one.fire_at_ms or FOREVER, default=None)
            judged_at = (absent.fire_at_ms if absent else None) or FOREVER
            fires_at = self.timer.fire_at_ms or FOREVER
            if min(judged_at, fires_at) > until:
                break
            self.now_ms = max(self.now_ms, min(judged_at, fires_at))
            if absent is not None and judged_at < fires_at:
                self._judge(absent)
            else:
                self._turn_or_deal()
        self.now_ms = until

    def help_itself(self) -> bool:
        """The owner begins anew what the clock has forgotten; answers whether there was something."""
        state, before_ms = self.state, self.now_ms - FORGOTTEN_MS
        if 0 < state.waits_until_ms < before_ms:
            self.execute(do.RestartTurn())
            return True
        for seat in state.seats.values():
            if 0 < due_ms(seat, state.pace) < before_ms:
                present = seat.player_id in self.online
                self.execute(do.JudgeAbsence(seat.player_id, seat.absence_generation, present))
                return True
        return False

    def _hear(self) -> None:
        """Read what the table said, as the clock's service does from the broker, in one batch."""
        if self.clock_is_away or not self._unheard:
            return
        said, self._unheard = self._unheard, []
        batch = Batch()
        for change in said:
            clock._read(change, batch)
        for (_, player), absence in batch.absences.items():
            self.absences[player] = absences.replaced(self.absences.get(player), absence)
        changed = self._settle(batch)
        for timer in batch.timers.values():
            if timer.generation > self.timer.generation:
                self.timer = timer
        for bank in changed:
            if bank.table_id is not None:
                left = self.bank(bank.player_id)
                self.execute(do.SetTimeBank(left.player_id, left.left_ms, left.generation))

    def _settle(self, batch: Batch) -> list[banks.Bank]:
        """Charge and fill banks; answers those that a table must be told of."""
        timer = self.timer
        running: dict[str, timers.Timer] = {}
        now: dict[str, banks.Bank] = {}
        acted = [(one.hand_number, one.action_number) for one in batch.acted]
        is_used = timer.phase is timers.Phase.BANK and (timer.hand_number, timer.action_number) in acted
        if is_used and timer.player_id is not None:
            running[timer.table_id] = timer
            now[timer.player_id] = self.bank(timer.player_id)
        for facts in batch.facts:
            bank = self.bank(facts.player_id)
            if bank.left_ms < banks.FULL_MS:
                now[facts.player_id] = bank
        changed = clock._Settlement(batch)(running, dict(now))
        self.banks |= {bank.player_id: bank for bank in changed}
        return [bank for bank in changed if bank.generation > now[bank.player_id].generation]

    def _judge(self, absent: Absence) -> None:
        assert absent.fire_at_ms is not None
        again = replace(absent, fire_at_ms=self.now_ms + REPEAT_MS)
        self.absences[absent.player_id] = again
        stale = self.execute(do.JudgeAbsence(absent.player_id, absent.generation, absent.player_id in self.online))
        kept = absences.answered(again, stale=stale)
        if kept is not None and self.absences[absent.player_id] is again:
            self.absences[absent.player_id] = kept

    def _turn_or_deal(self) -> None:
        todo = timers.due(self.timer, self.bank(self.timer.player_id or "").left_ms, self.now_ms)
        if isinstance(todo, timers.Timer):
            self.timer = todo
        else:
            self._fire(todo)

    def _fire(self, firing: timers.Firing) -> None:
        timer = firing.timer
        assert timer.attempts == 0, "the table has not moved on"
        again_at = timers.repeat_at_ms(timer.attempts, self.now_ms)
        self.timer = replace(timer, fire_at_ms=again_at, attempts=timer.attempts + 1)
        token = do.Token(timer.hand_number, timer.action_number)
        command: do.Command
        if firing.act is timers.Act.DEAL:
            command = do.DealHand(timer.generation, self._draw(self.state))
        elif firing.act is timers.Act.START_BANK:
            command = do.StartTimeBank(token, timer.generation, firing.deadline_ms)
        else:
            command = do.EndTurn(token, timer.generation)
        kept = timers.answered(firing, stale=self.execute(command))
        if kept is not None and self.timer.generation == kept.generation:
            self.timer = kept
