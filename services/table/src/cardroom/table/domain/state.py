"""A table as it is: what is committed, and never changed in place.

A command is decided on a copy; the copy becomes the table's state once it is committed. Seats, turns and protobuf
messages in here are shared between copies and are replaced, not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cardroom.contracts.table.v1.table_pb2 import ActResponse, OwnCards
from cardroom.contracts.table.v1.view_pb2 import (
    SEAT_STATUS_LEAVING,
    SEAT_STATUS_PLAYING,
    SEAT_STATUS_SITTING_OUT,
    SEAT_STATUS_WAITING_FOR_BIG_BLIND,
    HandView,
    SeatStatus,
    Stakes,
    TurnView,
)
from cardroom.engine import Hand, blinds
from cardroom.engine.blinds import Positions
from cardroom.engine.cards import text
from cardroom.table.domain.commands import Act, Pace, Token

__all__ = ["Answered", "Seat", "TableState", "Turn"]


@dataclass(frozen=True, slots=True)
class Seat:
    """An occupied seat. `stack` is the one after the last ended hand; during a hand the hand knows the chips behind."""

    number: int
    seating_id: str
    player_id: str
    display_name: str
    stack: int
    time_bank_ms: int
    time_bank_generation: int = 0
    is_sitting_out: bool = False
    is_leaving: bool = False
    timeouts: int = 0
    """In a row (9.4)."""
    is_played_at_once: bool = False
    """For the rest of the running hand the table acts for the player at once (9.4, 10.3)."""
    last_hand_number: int = 0
    connected: bool = True
    """Whether the player counts as present: a stream is alive, or might be in a moment."""
    unseen_since_ms: int = 0
    """Since when no stream is known to be alive; 0 while one is."""
    out_since_ms: int = 0
    """Since when the player sits out, or has no chips if that came later; 0 while they play."""
    absence_generation: int = 0
    """The version in which the clock was told last how long the table bears with the player's absence."""
    status_version: int = 0
    """The version in which the player last sat down, was sat out or came back, want of chips aside; 0: not known."""

    is_out_of_chips: bool = False
    """Sits out for want of chips, not by choice: plays again with new ones."""
    top_up_id: str = ""
    """The top-up that waits for the running hand's end (10.4), or none."""
    top_up: int = 0

    @property
    def is_out_by_word(self) -> bool:
        """Whether the player sits out for another reason than want of chips, and until they say that they are back."""
        return self.is_sitting_out and not self.is_out_of_chips

    @property
    def can_play(self) -> bool:
        """Whether the player could be dealt in, the blinds aside."""
        return self.stack > 0 and not self.is_sitting_out and not self.is_leaving


@dataclass(frozen=True, slots=True)
class Turn:
    """The running turn: who, since when, until when."""

    token: Token
    seat: int
    player_id: str
    started_ms: int
    base_deadline_ms: int
    bank_deadline_ms: int
    """0 until the bank runs."""
    view: TurnView


@dataclass(frozen=True, slots=True)
class Answered:
    """An action that was taken and the answer to it, for repeats."""

    act: Act
    answer: ActResponse


@dataclass(slots=True)
class TableState:
    """Everything about a table. Only a `Step` changes one, and only its own copy."""

    table_id: str
    name: str
    stakes: Stakes
    pace: Pace
    version: int = 0
    hand_number: int = 0
    is_closed: bool = False
    timing_generation: int = 0
    next_deal_ms: int = 0
    """When the next hand is due, or 0."""
    rest_until_ms: int = 0
    """When the pause after the last hand is over: no hand is dealt sooner (2.5)."""
    seats: dict[int, Seat] = field(default_factory=dict)
    positions: Positions = field(default_factory=Positions)
    positions_before: Positions | None = None
    """Those before the running hand, should it be void (14.4); None between hands."""
    hand: Hand | None = field(default=None, repr=False)
    edition: int = 0
    """The running hand's (`commands.EDITION`); 0 between hands."""
    turn: Turn | None = None
    last_hand: HandView | None = None
    """The last hand as it ended, until the next one is dealt."""
    answered: dict[int, Answered] = field(default_factory=dict)
    """The running or last hand's actions by their number."""

    def copy(self) -> TableState:
        """A state that can be changed without changing this one."""
        return TableState(
            self.table_id,
            self.name,
            self.stakes,
            self.pace,
            self.version,
            self.hand_number,
            self.is_closed,
            self.timing_generation,
            self.next_deal_ms,
            self.rest_until_ms,
            dict(self.seats),
            self.positions,
            self.positions_before,
            None if self.hand is None else self.hand.copy(),
            self.edition,
            self.turn,
            self.last_hand,
            dict(self.answered),
        )

    def seat_of(self, player_id: str) -> Seat | None:
        """Where a player sits, or None."""
        for seat in self.seats.values():
            if seat.player_id == player_id:
                return seat
        return None

    def seat_of_stay(self, seating_id: str) -> Seat | None:
        """The seat of a stay that has not ended, or None."""
        for seat in self.seats.values():
            if seat.seating_id == seating_id:
                return seat
        return None

    def forget_debts(self, number: int) -> None:
        """Whoever sits on this seat next is new there (3.4)."""
        self.positions = blinds.leave(self.positions, number)
        if self.positions_before is not None:
            self.positions_before = blinds.leave(self.positions_before, number)

    def is_in_hand(self, number: int) -> bool:
        """Whether the player on this seat is dealt into the running hand."""
        return self.hand is not None and number in self.hand.seats

    @property
    def waits_until_ms(self) -> int:
        """When the clock should have moved the table on at the latest; 0 while it waits for nothing."""
        turn = self.turn
        if turn is None:
            return self.next_deal_ms
        return turn.bank_deadline_ms or turn.base_deadline_ms + turn.view.time_bank_left_ms

    def chips(self) -> int:
        """Every chip at the table, those in the pots included. During a hand these are the stacks before it."""
        return sum([seat.stack for seat in self.seats.values()])

    def status_of(self, seat: Seat) -> SeatStatus.ValueType:
        """What everyone sees of a player's part."""
        if seat.is_leaving:
            return SEAT_STATUS_LEAVING
        if seat.is_sitting_out:
            return SEAT_STATUS_SITTING_OUT
        if self.positions.button is not None and self.positions.debt(seat.number):
            return SEAT_STATUS_WAITING_FOR_BIG_BLIND
        return SEAT_STATUS_PLAYING

    def own_cards(self, player_id: str) -> OwnCards:
        """The player's own cards of the running hand; empty when not dealt in. For that player only (2.6)."""
        seat = self.seat_of(player_id)
        if self.hand is None or seat is None or not self.is_in_hand(seat.number):
            return OwnCards(hand_number=self.hand_number)
        return OwnCards(hand_number=self.hand_number, cards=text(self.hand.hole_cards(seat.number)))
