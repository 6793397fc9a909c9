"""Where PokerKit plays by other rules than ours, each with its reason.

Hands that none of these touches must agree to the chip. Beyond what shows in replays of our hands: PokerKit also lets a
limper or a checker raise over a short all-in, which 5.6 does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cardroom.engine import BlindKind, Game, Hand
from cardroom.engine.events import ActionTaken, BlindPosted, Event, HandMucked, HandStarted, PotAwarded

__all__ = ["DIFFERENCES", "Difference", "touching"]


@dataclass(frozen=True)
class Difference:
    """One rule that PokerKit has otherwise, and how to tell that a hand (its events) runs into it."""

    name: str
    reason: str
    touches: Callable[[Sequence[Event]], bool]


def _started(events: Sequence[Event]) -> HandStarted:
    assert isinstance(events[0], HandStarted)
    return events[0]


def _short(events: Sequence[Event], kind: BlindKind, nominal: int) -> bool:
    return nominal not in [event.amount for event in events if isinstance(event, BlindPosted) and event.kind is kind]


def _has_short_big_blind(events: Sequence[Event]) -> bool:
    return _short(events, BlindKind.BIG, _started(events).config.big_blind)


def _counts_blinds_otherwise(events: Sequence[Event]) -> bool:
    config = _started(events).config
    short = _has_short_big_blind(events) or _short(events, BlindKind.SMALL, config.small_blind)
    return config.game is Game.POT_LIMIT_OMAHA and short


def _raises_beyond_every_opponent(events: Sequence[Event]) -> bool:
    told = list(events)
    for place, event in enumerate(told):
        if isinstance(event, ActionTaken) and event.kind.value in ("bet", "raise"):
            before = Hand.from_events(told[:place])
            wager = max(before.street_contribution(seat) for seat in before.seats)
            wager = max(wager, before.to_call + before.street_contribution(event.seat))
            others = [seat for seat in before.seats if seat != event.seat and before.status(seat).value != "folded"]
            if all(before.stack(seat) + before.street_contribution(seat) <= wager for seat in others):
                return True
    return False


def _merges_pots(events: Sequence[Event]) -> bool:
    winners = [tuple(seat for seat, _ in event.wins) for event in events if isinstance(event, PotAwarded)]
    shared = [seats for seats in winners if len(seats) > 1]
    return len(set(shared)) < len(shared)


def _has_several_odd_chips(events: Sequence[Event]) -> bool:
    return any(event.amount % len(event.wins) > 1 for event in events if isinstance(event, PotAwarded))


def _wins_with_a_mucked_hand(events: Sequence[Event]) -> bool:
    mucked = {event.seat for event in events if isinstance(event, HandMucked)}
    return any(seat in mucked for event in events if isinstance(event, PotAwarded) for seat, _ in event.wins)


DIFFERENCES = (
    Difference(
        "short big blind",
        "PokerKit lets a big blind of 7 at 10/20 be called with 7; by 3.6 the call is 20",
        _has_short_big_blind,
    ),
    Difference(
        "pot-limit blinds",
        "PokerKit counts a short or dead blind as what was posted; by 6.1 both count in full before the flop",
        _counts_blinds_otherwise,
    ),
    Difference(
        "merged pots",
        "PokerKit drops beaten hands and then merges pots that the same hands win, so that odd chips of several pots "
        "become one; by 8.7 every pot is judged by itself",
        _merges_pots,
    ),
    Difference(
        "several odd chips",
        "PokerKit gives all odd chips of a pot to the first winner left of the button; by 8.7 they go one each",
        _has_several_odd_chips,
    ),
    Difference(
        "mucked hand wins",
        "PokerKit leaves a pot to nobody when the only one who can win it mucks; by 8.5 an uncontested side pot shows "
        "nothing, so who cannot beat the hand shown for the main pot mucks and has the side pot",
        _wins_with_a_mucked_hand,
    ),
    Difference(
        "raise beyond every opponent",
        "PokerKit refuses a raise that no opponent has chips to answer in part; by 5.7 only all-in opponents forbid it",
        _raises_beyond_every_opponent,
    ),
)


def touching(events: Sequence[Event]) -> list[str]:
    """Names of the differences that a hand runs into."""
    return [difference.name for difference in DIFFERENCES if difference.touches(events)]
