"""What can be asked of a table. Each is decided alone, and logged when it changes something."""

from __future__ import annotations

from dataclasses import dataclass

from cardroom.contracts.table.v1.view_pb2 import ActionKind, Stakes

__all__ = [
    "Act",
    "CloseTable",
    "ComeBack",
    "Command",
    "DealHand",
    "EndSeating",
    "EndTurn",
    "OpenTable",
    "Pace",
    "RestartTurn",
    "SeatPlayer",
    "SetTimeBank",
    "SitOut",
    "StartTimeBank",
    "Token",
]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a table goes: the base time of a turn (9.1) and the pauses between hands (2.5)."""

    turn_ms: int = 20_000
    pause_ms: int = 2_000
    showdown_pause_ms: int = 5_000


@dataclass(frozen=True, slots=True)
class Token:
    """Names one decision: the hand's number at the table and the action's number in the hand, both from 1."""

    hand_number: int
    action_number: int


@dataclass(frozen=True, slots=True)
class OpenTable:
    """Make a table."""

    table_id: str
    name: str
    stakes: Stakes
    pace: Pace


@dataclass(frozen=True, slots=True)
class CloseTable:
    """Close an empty table for good."""


@dataclass(frozen=True, slots=True)
class SeatPlayer:
    """Put a player on a seat. `seating_id` names the stay."""

    seating_id: str
    player_id: str
    display_name: str
    seat: int
    stack: int
    time_bank_ms: int


@dataclass(frozen=True, slots=True)
class EndSeating:
    """End a stay: at once, or when the running hand ends (10.3)."""

    seating_id: str


@dataclass(frozen=True, slots=True)
class Act:
    """A player's action for the turn that `token` names. `amount` is a raise's total for the street, otherwise 0."""

    player_id: str
    token: Token
    kind: ActionKind.ValueType
    amount: int


@dataclass(frozen=True, slots=True)
class SitOut:
    """Sit out from the next hand on (10.1)."""

    player_id: str


@dataclass(frozen=True, slots=True)
class ComeBack:
    """Play again (10.1, 3.4)."""

    player_id: str


@dataclass(frozen=True, slots=True)
class StartTimeBank:
    """The actor's base time is over; the bank lasts until `bank_deadline_ms` (9.1)."""

    token: Token
    generation: int
    bank_deadline_ms: int


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The actor's time is up (9.3)."""

    token: Token
    generation: int


@dataclass(frozen=True, slots=True)
class DealHand:
    """The pause is over (2.5). `button_draw` is the chance in placing the first button (3.1)."""

    generation: int
    button_draw: int


@dataclass(frozen=True, slots=True)
class SetTimeBank:
    """A player's time bank has a new content."""

    player_id: str
    left_ms: int
    generation: int


@dataclass(frozen=True, slots=True)
class RestartTurn:
    """The table has a new owner, or its timer got lost: what it waits for begins anew (9.6)."""


Command = (
    OpenTable
    | CloseTable
    | SeatPlayer
    | EndSeating
    | Act
    | SitOut
    | ComeBack
    | StartTimeBank
    | EndTurn
    | DealHand
    | SetTimeBank
    | RestartTurn
)
