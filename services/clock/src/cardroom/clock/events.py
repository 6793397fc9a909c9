"""What the clock learns from the tables' events: which timers are on, and what happens to players with a bank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.bus import Message
from cardroom.clock.absence_store import AbsenceStore
from cardroom.clock.domain import absences, banks, timers
from cardroom.clock.domain.absences import Absence
from cardroom.clock.domain.banks import Bank, Facts
from cardroom.clock.domain.timers import Timer
from cardroom.clock.store import Acted, Batch, ClockStore
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.table.v1 import view_pb2

QUEUE: Final = "clock.table-changed"
BINDINGS: Final = ("table.changed.#",)
_OF_BANKS: Final = frozenset({"hand_started", "hand_ended", "player_seated", "player_left", "stack_changed"})


class TableChanges:
    """Handles batches of TableChanged: one statement for all of their timers, acknowledged after its commit.

    In any order and any number of times: a timer is replaced by a higher generation only, a bank is charged by the
    replacement of the turn it ran in, and facts of banks carry the time up to which they are known.
    """

    def __init__(
        self,
        store: ClockStore,
        away: AbsenceStore,
        on_timers: Callable[[Iterable[Timer]], None],
        on_banks: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._away = away
        self._now_ms = now_ms
        self._on_timers = on_timers
        self._on_banks = on_banks

    async def handle(self, messages: list[Message]) -> None:
        """Write down what the batch says, then let the timers run."""
        batch = Batch()
        for message in messages:
            _read(events_pb2.TableChanged.FromString(message.body), batch)
        if batch.absences:
            await self._away.write(batch.absences.values(), self._now_ms())
        if not batch.timers and not batch.facts:
            return
        in_use, players = await self._store.write(batch)
        if in_use or players:
            decide = _Settlement(batch)
            if await self._store.settle(batch, in_use, players, decide):
                self._on_banks()
        self._on_timers(batch.timers.values())


class _Settlement:
    """Decides what a batch makes of the banks, from the turns that were running and the banks as they are."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __call__(self, running: dict[str, Timer], now: dict[str, Bank]) -> list[Bank]:
        before = dict(now)
        for acted in self._batch.acted:
            timer, successor = running.get(acted.table_id), self._batch.timers.get(acted.table_id)
            if timer is None or timer.player_id is None:
                continue
            if successor is None or successor.generation <= timer.generation:
                # Nothing replaces the turn in this transaction, so that a repeat would charge it again.
                continue
            if acted.after_generation > timer.generation:
                # The turn began anew before the action (rule 9.6), all within this batch.
                continue
            spent = timers.bank_used_ms(timer, acted.hand_number, acted.action_number, acted.at_ms)
            if spent:
                now[timer.player_id] = banks.used(now[timer.player_id], acted.table_id, spent)
        for facts in self._batch.facts:
            bank = now.get(facts.player_id)
            if bank is not None:
                now[facts.player_id] = banks.noted(bank, facts)
        return [bank for player_id, bank in now.items() if bank != before[player_id]]


def _read(change: events_pb2.TableChanged, batch: Batch) -> None:
    table_id = change.table_id
    of_banks = False
    for event in change.events:
        kind = event.WhichOneof("event")
        if kind == "action_taken":
            batch.acted.append(_acted(change, event.action_taken, batch))
        elif kind in _OF_BANKS:
            of_banks = True
    if of_banks:
        batch.facts.extend(_facts(change))
    for said in change.absences:
        absence = _absence(table_id, said)
        key = (table_id, absence.player_id)
        batch.absences[key] = absences.replaced(batch.absences.get(key), absence)
    if change.HasField("timing"):
        known = batch.timers.get(table_id)
        if known is None or known.generation < change.timing.generation:
            batch.timers[table_id] = _timer(table_id, change.timing)


def _acted(change: events_pb2.TableChanged, taken: view_pb2.ActionTaken, batch: Batch) -> Acted:
    before = batch.timers.get(change.table_id)
    return Acted(
        table_id=change.table_id,
        hand_number=change.view.hand.hand_number,
        action_number=taken.action_number,
        at_ms=_ms(change.occurred_at),
        after_generation=before.generation if before else 0,
    )


def _timer(table_id: str, timing: events_pb2.Timing) -> Timer:
    kind = timing.WhichOneof("waiting_for")
    if kind == "turn":
        turn = timing.turn
        return timers.turn(
            table_id,
            timing.generation,
            hand_number=turn.token.hand_number,
            action_number=turn.token.action_number,
            player_id=turn.player_id,
            started_at_ms=_ms_up(turn.started_at),
            base_ms=turn.base_ms,
            bank_allowed=turn.bank_allowed,
        )
    if kind == "deal":
        return timers.deal(table_id, timing.generation, _ms_up(timing.deal.due_at))
    return timers.idle(table_id, timing.generation)


def _absence(table_id: str, said: events_pb2.AbsenceTiming) -> Absence:
    due_ms = _ms_up(said.due_at) if said.HasField("due_at") else None
    return Absence(table_id, said.player_id, said.generation, due_ms)


def _facts(change: events_pb2.TableChanged) -> Iterable[Facts]:
    """Return what a change says of each player whom it concerns."""
    said: dict[str, dict[str, bool]] = {}
    seated = {seat.seat: seat.player_id for seat in change.view.seats}
    # Who left in this change is no longer in its view.
    seated |= {one.player_left.seat: one.player_left.player_id for one in change.events if one.HasField("player_left")}
    for event in change.events:
        for player_id, fact in _facts_of(event, seated):
            said.setdefault(player_id, {})[fact] = True
    at_us = change.occurred_at.ToMicroseconds()
    return [Facts(player_id, change.table_id, at_us, **facts) for player_id, facts in said.items()]


def _facts_of(event: view_pb2.TableEvent, seated: dict[int, str]) -> Iterable[tuple[str, str]]:
    kind = event.WhichOneof("event")
    if kind == "hand_started":
        return [(player.player_id, "was_dealt_in") for player in event.hand_started.players]
    if kind == "hand_ended":
        broke = [outcome.seat for outcome in event.hand_ended.outcomes if outcome.stack == 0]
        return [(seated[seat], "lost_all_chips") for seat in broke if seat in seated]
    if kind == "player_seated":
        return [(event.player_seated.seat.player_id, "sat_down")]
    if kind == "player_left":
        return [(event.player_left.player_id, "left")]
    if kind == "stack_changed" and event.stack_changed.stack > 0 and event.stack_changed.seat in seated:
        return [(seated[event.stack_changed.seat], "has_chips_again")]
    return []


def _ms(at: Timestamp) -> int:
    return at.seconds * 1000 + at.nanos // 1_000_000


def _ms_up(at: Timestamp) -> int:
    """Rounded up, so that nothing fires a part of a millisecond early."""
    return at.seconds * 1000 - (-at.nanos // 1_000_000)
