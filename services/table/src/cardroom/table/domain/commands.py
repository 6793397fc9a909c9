"""What can be asked of a table. Each is decided alone, and logged when it changes something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cardroom.contracts.table.v1.view_pb2 import ActionKind, Stakes

__all__ = [
    "EDITION",
    "MOST_CHIPS",
    "Act",
    "CloseTable",
    "ComeBack",
    "Command",
    "DealHand",
    "EndSeating",
    "EndTurn",
    "JudgeAbsence",
    "OpenTable",
    "Pace",
    "RestartTurn",
    "SeatPlayer",
    "SetConnected",
    "SetTimeBank",
    "SitOut",
    "StartTimeBank",
    "TakeOver",
    "Token",
    "TopUp",
    "VoidHand",
]


MOST_CHIPS: Final = 1 << 50
"""Far above any stack; far below where 64-bit sums of a table's chips end."""


EDITION: Final = 1
"""Counts what releases have changed in how a hand is decided. 1: players who come and go do not shorten the pause after
the hand (2.5)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a table goes: the base time of a turn (9.1), the pauses between hands (2.5), and how long it bears with
    players who are away (9.5), sit out or have no chips (10.2)."""

    turn_ms: int = 20_000
    pause_ms: int = 2_000
    showdown_pause_ms: int = 5_000
    away_ms: int = 60_000
    sitting_out_ms: int = 15 * 60_000
    no_chips_ms: int = 2 * 60_000


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
    """Put a player on a seat. `seating_id` names the stay; `time_bank_generation` how new the bank's content is."""

    seating_id: str
    player_id: str
    display_name: str
    seat: int
    stack: int
    time_bank_ms: int
    time_bank_generation: int = 0


@dataclass(frozen=True, slots=True)
class EndSeating:
    """End a stay: at once, or when the running hand ends (10.3)."""

    seating_id: str


@dataclass(frozen=True, slots=True)
class TopUp:
    """Bring up to `amount` chips to a stay, between hands (10.4). `top_up_id` names it."""

    seating_id: str
    top_up_id: str
    amount: int


@dataclass(frozen=True, slots=True)
class Act:
    """A player's action for the turn that `token` names. `amount` is a raise's total for the street, otherwise 0."""

    player_id: str
    token: Token
    kind: ActionKind.ValueType
    amount: int


@dataclass(frozen=True, slots=True)
class SitOut:
    """Sit out from the next hand on (10.1). `seen_version` is what the player knew of the table, 0 if nobody says."""

    player_id: str
    seen_version: int = 0


@dataclass(frozen=True, slots=True)
class ComeBack:
    """Play again (10.1, 3.4). `seen_version` is what the player knew of the table, 0 if nobody says."""

    player_id: str
    seen_version: int = 0


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
    edition: int = EDITION
    """How the hand is played to its end, and decided again from the log, also by later releases."""


@dataclass(frozen=True, slots=True)
class SetTimeBank:
    """A player's time bank has a new content."""

    player_id: str
    left_ms: int
    generation: int


@dataclass(frozen=True, slots=True)
class SetConnected:
    """The first of a player's streams opened, or the last one closed (9.5)."""

    player_id: str
    connected: bool


@dataclass(frozen=True, slots=True)
class JudgeAbsence:
    """A player's absence has lasted as long as the table bears with it (9.5, 10.2). `is_present`: a stream is alive."""

    player_id: str
    generation: int
    is_present: bool


@dataclass(frozen=True, slots=True)
class TakeOver:
    """The table has a new owner: the running turn begins anew (9.6), and nobody is away who was not for 60 s (9.5)."""


@dataclass(frozen=True, slots=True)
class RestartTurn:
    """The clock has forgotten what the table waits for: the turn, or the pause before a deal, begins anew."""


@dataclass(frozen=True, slots=True)
class VoidHand:
    """The running hand cannot be completed, and recovery could not mend it: every chip put in goes back (14.4)."""


Command = (
    OpenTable
    | CloseTable
    | SeatPlayer
    | EndSeating
    | TopUp
    | Act
    | SitOut
    | ComeBack
    | StartTimeBank
    | EndTurn
    | DealHand
    | SetTimeBank
    | SetConnected
    | JudgeAbsence
    | TakeOver
    | RestartTurn
    | VoidHand
)
