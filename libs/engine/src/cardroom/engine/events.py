"""What happens in a hand, as small immutable facts.

Everything but HoleCardsGiven is public, and no public type has a field that could hold a hidden card (2.6). Seats are
seat numbers, amounts are chips. A hand's events, in order, are enough to rebuild it: `Hand.from_events`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cardroom.engine.actions import ActionKind
from cardroom.engine.cards import Card
from cardroom.engine.config import BlindKind, HandConfig
from cardroom.engine.games import Street

__all__ = [
    "ActionTaken",
    "AntePosted",
    "BlindPosted",
    "Event",
    "HandEnded",
    "HandMucked",
    "HandShown",
    "HandStarted",
    "HandsTabled",
    "HoleCardsDealt",
    "HoleCardsGiven",
    "PotAwarded",
    "PublicEvent",
    "StreetDealt",
    "UncalledReturned",
]


@dataclass(frozen=True, slots=True)
class HandStarted:
    """A hand begins; the configuration holds no card."""

    config: HandConfig


@dataclass(frozen=True, slots=True)
class AntePosted:
    """An ante went in (3.7)."""

    seat: int
    amount: int
    all_in: bool


@dataclass(frozen=True, slots=True)
class BlindPosted:
    """A blind or a missed blind went in; `amount` may be short (3.6)."""

    seat: int
    kind: BlindKind
    amount: int
    all_in: bool


@dataclass(frozen=True, slots=True)
class HoleCardsDealt:
    """A seat has got so many cards, face down."""

    seat: int
    count: int


@dataclass(frozen=True, slots=True)
class HoleCardsGiven:
    """The one private event: what a seat was dealt, for its owner only."""

    seat: int
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class ActionTaken:
    """A player acted: `total` is theirs for the street afterwards, `added` what the action put in."""

    seat: int
    kind: ActionKind
    total: int
    added: int
    all_in: bool


@dataclass(frozen=True, slots=True)
class UncalledReturned:
    """The part that nobody matched went back (8.2)."""

    seat: int
    amount: int


@dataclass(frozen=True, slots=True)
class HandsTabled:
    """Betting is over because players are all-in: every hand still in is face up (8.3)."""

    hands: tuple[tuple[int, tuple[Card, ...]], ...]


@dataclass(frozen=True, slots=True)
class StreetDealt:
    """Cards came to the board, after a burn (2.3)."""

    street: Street
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class HandShown:
    """A player showed at the showdown (8.5)."""

    seat: int
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class HandMucked:
    """A player gave the hand up unseen at the showdown (8.5)."""

    seat: int


@dataclass(frozen=True, slots=True)
class PotAwarded:
    """A pot was won. Pot 0 is the main pot; `wins` are (seat, chips)."""

    pot: int
    amount: int
    eligible: tuple[int, ...]
    wins: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class HandEnded:
    """The hand is over; `stacks` are (seat, chips) in seat order."""

    stacks: tuple[tuple[int, int], ...]


PublicEvent = (
    HandStarted
    | AntePosted
    | BlindPosted
    | HoleCardsDealt
    | ActionTaken
    | UncalledReturned
    | HandsTabled
    | StreetDealt
    | HandShown
    | HandMucked
    | PotAwarded
    | HandEnded
)
Event = PublicEvent | HoleCardsGiven
