"""One command being decided: a copy of the table to change, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.contracts.events.v1.events_pb2 import AbsenceTiming, DealTiming, HandSettled, Timing, TurnTiming
from cardroom.contracts.table.v1.table_pb2 import OwnCards
from cardroom.contracts.table.v1.view_pb2 import (
    NextDealScheduled,
    SeatStatusChanged,
    StatusReason,
    TableEvent,
)
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.state import Seat, TableState

__all__ = ["Decision", "EndedSeating", "Step", "ToppedUp", "timestamp"]


def timestamp(ms: int) -> Timestamp:
    """A protobuf time from milliseconds since 1970."""
    return Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


@dataclass(frozen=True, slots=True)
class EndedSeating:
    """A stay that is over: the chips it ended with and the last hand that changed them."""

    seating_id: str
    had_begun: bool
    final_stack: int
    last_hand_number: int


@dataclass(frozen=True, slots=True)
class ToppedUp:
    """A top-up that is over: how many chips it added, none when the player was leaving."""

    top_up_id: str
    added: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What a command comes to. It counts once it is committed."""

    state: TableState
    events: tuple[TableEvent, ...]
    answer: Any
    """What the caller is told; its type belongs to the command."""
    own_cards: dict[str, OwnCards] = field(repr=False)
    """Hole cards dealt by this command, by player. For that player's streams only."""
    timing: Timing | None
    absences: tuple[AbsenceTiming, ...]
    """What the clock must know of players who are not there."""
    settlement: HandSettled | None
    ended: tuple[EndedSeating, ...]
    topped_up: tuple[ToppedUp, ...]
    deck: Deck | None
    """The deck of a hand that this command began."""
    changes: bool
    """Whether the table has a new version."""

    @property
    def ends_hand(self) -> bool:
        """Whether this command ended a hand."""
        return self.settlement is not None

    @property
    def voids_hand(self) -> bool:
        """Whether it ended one that could not be completed (14.4)."""
        return self.ends_hand and self.state.last_hand is not None and self.state.last_hand.is_void


class Step:
    """A copy of a table's state that a command may change, with the events that tell of it."""

    def __init__(self, state: TableState, now_ms: int, deck: Deck | None) -> None:
        self.state = state
        self.now_ms = now_ms
        self.deck = deck
        self.events: list[TableEvent] = []
        self.own_cards: dict[str, OwnCards] = {}
        self.settlement: HandSettled | None = None
        self.ended: list[EndedSeating] = []
        self.topped_up: list[ToppedUp] = []
        self.brought = 0
        """Chips that came to the table, less those that left."""
        self.dealt: Deck | None = None
        self.is_retimed = False

    def tell(self, **event: Message) -> None:
        """Add a public event: its field in TableEvent and the message."""
        self.events.append(TableEvent(**event))  # type: ignore[arg-type]

    def change_seat(self, seat: Seat, **changes: Any) -> Seat:
        """Replace a seat by one with changes; answers the new one."""
        changed = replace(seat, **changes)
        self.state.seats[seat.number] = changed
        return changed

    def sit_out(self, seat: Seat, reason: StatusReason.ValueType, **changes: Any) -> Seat:
        """The player sits out from now on; a running hand goes on with them."""
        seat = self.change_seat(seat, is_sitting_out=True, out_since_ms=self.now_ms, **changes)
        self.tell_status(seat, reason)
        return seat

    def tell_status(self, seat: Seat, reason: StatusReason.ValueType) -> None:
        """Tell everyone what part the player on `seat` now takes."""
        self.tell(
            seat_status_changed=SeatStatusChanged(seat=seat.number, status=self.state.status_of(seat), reason=reason)
        )

    def retime(self) -> None:
        """What the table waits for has changed: all timers set before are void."""
        if not self.is_retimed:
            self.is_retimed = True
            self.state.timing_generation += 1

    def schedule_deal(self, *, is_new: bool = False) -> None:
        """The next hand is due after a pause, and not before the one after the last hand is over (2.5).

        `is_new` says that the latter begins now, and that there is no other.
        """
        pause_ms = 0 if is_new else self.state.pace.pause_ms
        self.state.next_deal_ms = max(self.now_ms + pause_ms, self.state.rest_until_ms)
        self.retime()
        self.tell(next_deal_scheduled=NextDealScheduled(at=timestamp(self.state.next_deal_ms)))

    def cancel_deal(self) -> None:
        """Too few can play: no hand is due."""
        self.state.next_deal_ms = 0
        self.retime()
        self.tell(next_deal_scheduled=NextDealScheduled())

    def timing(self) -> Timing | None:
        """What the clock must know, or None when it knows."""
        if not self.is_retimed:
            return None
        state = self.state
        timing = Timing(generation=state.timing_generation)
        if state.turn is not None:
            turn = state.turn
            timing.turn.CopyFrom(
                TurnTiming(
                    token=turn.view.token,
                    player_id=turn.player_id,
                    started_at=timestamp(turn.started_ms),
                    base_ms=state.pace.turn_ms,
                    bank_allowed=state.seats[turn.seat].connected,
                )
            )
        elif state.next_deal_ms:
            timing.deal.CopyFrom(DealTiming(due_at=timestamp(state.next_deal_ms)))
        return timing
