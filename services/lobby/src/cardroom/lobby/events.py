"""What the lobby learns from the tables' events: who has left, and how the hands go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from cardroom.chassis.bus import Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.lobby.domain.seating import Seating
from cardroom.lobby.domain.topping_up import TopUp
from cardroom.lobby.errands import Errands
from cardroom.lobby.store import Departure, EndedHand, SeatingStore, TableStore
from cardroom.lobby.top_up_store import TopUpStore

QUEUE: Final = "lobby.table-changed"
BINDINGS: Final = ("table.changed.#",)


class TableChanges:
    """Handles batches of TableChanged. Every write is keyed, so that a repeat changes nothing, in any order."""

    def __init__(
        self,
        tables: TableStore,
        seatings: SeatingStore,
        errands: Errands[Seating],
        top_ups: TopUpStore,
        top_up_errands: Errands[TopUp],
    ) -> None:
        self._tables = tables
        self._seatings = seatings
        self._errands = errands
        self._top_ups = top_ups
        self._top_up_errands = top_up_errands

    async def handle(self, messages: list[Message]) -> None:
        """Write down what the batch says; wake the stays that it ends."""
        hands: list[EndedHand] = []
        departures: list[Departure] = []
        # Whose top-up may be over: chips were added, they left, or there was no room for more.
        waited: set[tuple[str, str]] = set()
        first_hands: dict[str, datetime] = {}
        for message in messages:
            change = events_pb2.TableChanged.FromString(message.body)
            for event in change.events:
                kind = event.WhichOneof("event")
                if kind == "hand_ended" and not event.hand_ended.is_void:
                    ended = event.hand_ended
                    hands.append(EndedHand(change.table_id, ended.hand_number, ended.pot_total, _at(change)))
                elif kind == "hand_started" and event.hand_started.hand_number == 1:
                    first_hands[change.table_id] = _at(change)
                elif kind == "player_left":
                    departures.append(Departure(change.table_id, event.player_left.player_id, change.version))
                    waited.add((change.table_id, event.player_left.player_id))
                elif kind == "stack_changed":
                    waited |= {(change.table_id, one.player_id) for one in change.view.seats}
        await self._write(hands, first_hands, departures)
        if waited and await self._top_ups.wake_at(waited):
            self._top_up_errands.wake()

    async def _write(
        self, hands: list[EndedHand], first_hands: dict[str, datetime], departures: list[Departure]
    ) -> None:
        if first_hands:
            await self._tables.note_first_hands(first_hands)
        if hands:
            await self._tables.add_hands(hands)
        if departures and await self._seatings.note_departures(departures):
            self._errands.wake()


def _at(change: events_pb2.TableChanged) -> datetime:
    return change.occurred_at.ToDatetime(tzinfo=UTC)
