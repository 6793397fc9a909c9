"""PHH hands through the engine: the outside world's word against ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cardroom.engine.cards import UNKNOWN, Card, text
from cardroom.engine.config import BlindKind, HandConfig, Post
from cardroom.engine.deal import Deal
from cardroom.engine.errors import CardsError, EngineError, PhhUnsupported, ShowdownError
from cardroom.engine.games import Game
from cardroom.engine.hand import Hand, Status
from cardroom.engine.legal import LegalActions
from cardroom.engine.phh.actions import Step, Verb, parse
from cardroom.engine.phh.documents import PhhHand

__all__ = ["Decision", "ReplayResult", "config_of", "replay"]

_GAMES = {"NT": Game.NO_LIMIT_HOLDEM, "PO": Game.POT_LIMIT_OMAHA}


@dataclass(frozen=True, slots=True)
class Decision:
    """A turn: what the engine offered before the action at index `at` of the record."""

    at: int
    legal: LegalActions

    def as_json(self) -> dict[str, Any]:
        """In the shape of `cardroom replay --json`."""
        legal = self.legal
        return {
            "at": self.at,
            "player": f"p{legal.seat}",
            "fold": legal.can_fold,
            "check": legal.can_check,
            "call": legal.call_amount,
            "raise_min": legal.raise_min,
            "raise_max": legal.raise_max,
        }


@dataclass(slots=True)
class ReplayResult:
    """What came of a recorded hand."""

    label: str | int | None
    expected: tuple[int, ...] | None = None
    """The finishing stacks that the record gives, p1 first."""
    finishing_stacks: tuple[int, ...] | None = None
    """The engine's; None when the hand did not come to its end."""
    error: str | None = None
    at: int | None = None
    """Index of the action that was refused."""
    complete: bool = False
    decisions: list[Decision] = field(default_factory=list)
    """Every turn, the one that an unfinished record stops at included."""
    hand: Hand | None = None
    shown_after: list[int] = field(default_factory=list)
    """Seats that showed of their own accord when the hand was over."""

    @property
    def ok(self) -> bool:
        """Nothing was refused."""
        return self.error is None

    @property
    def matches(self) -> bool | None:
        """Whether the stacks agree; None when there are no two to compare."""
        if self.expected is None or self.finishing_stacks is None:
            return None
        return self.expected == self.finishing_stacks

    def as_json(self) -> dict[str, Any]:
        """One object as `cardroom replay --json` prints it."""
        result = self.hand.result if self.hand is not None else None
        finishing, expected = self.finishing_stacks, self.expected
        return {
            "hand": self.label,
            "ok": self.ok,
            "complete": self.complete,
            "error": self.error,
            "at": self.at,
            "finishing_stacks": None if finishing is None else list(finishing),
            "expected": None if expected is None else list(expected),
            "matches": self.matches,
            "pots": [
                {
                    "amount": pot.amount,
                    "eligible": [f"p{seat}" for seat in pot.eligible],
                    "wins": {f"p{seat}": chips for seat, chips in pot.wins.items()},
                }
                for pot in (result.pots if result else ())
            ],
            "returned": {f"p{seat}": chips for seat, chips in (result.returned if result else {}).items()},
            "shown": [f"p{seat}" for seat in (*(result.shown if result else ()), *self.shown_after)],
            "mucked": [f"p{seat}" for seat in (result.mucked if result else ())],
            "decisions": [decision.as_json() for decision in self.decisions],
        }


def replay(record: PhhHand, *, decisions: bool = True) -> ReplayResult:
    """Play a record through the engine. What is wrong with it is told in the result, not raised."""
    result = ReplayResult(record.label, record.finishing_stacks)
    try:
        _play(record, result, decisions=decisions)
    except EngineError as error:
        result.error = f"{error.reason}: {error}"
        return result
    result.at = None
    hand = result.hand
    if hand is not None and hand.is_over:
        result.complete = True
        result.finishing_stacks = hand.chips
    return result


def _play(record: PhhHand, result: ReplayResult, *, decisions: bool) -> None:
    config = config_of(record)
    start = _deal_hole_cards(record, config, result)
    hand = result.hand
    assert hand is not None
    actions = record.actions
    for at in range(start, len(actions)):
        result.at = at
        step = verb, seat, action, _ = parse(actions[at])
        if decisions and verb <= Verb.CHECK_OR_CALL:
            _note_turn(result, hand, at)
        if verb == Verb.ACT:
            assert action is not None
            hand.advance(seat, action)
        elif verb == Verb.CHECK_OR_CALL:
            hand.check_or_call(seat)
        else:
            _follow(hand, step, result)
    result.at = None
    if hand.at_showdown:
        hand.finish_showdown(record=False)
    elif decisions:
        _note_turn(result, hand, len(actions))


def config_of(record: PhhHand) -> HandConfig:
    """The record's stakes and players, p1 at seat 1, the button at the last seat. The betting unit is 1 (7.1)."""
    return _config(
        record.variant,
        record.ante_trimming,
        (record.antes, record.blinds, record.stacks),
        record.min_bet,
        record.small_blind,
    )


@lru_cache(maxsize=256)  # hands of one session tend to start alike
def _config(
    variant: str,
    trimming: bool,
    chips: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    min_bet: int,
    small_blind: int | None,
) -> HandConfig:
    phh_antes, phh_blinds, stacks = chips
    blinds, antes = _by_place(phh_blinds), _by_place(phh_antes)
    posted = [place for place in range(len(blinds)) if blinds[place] > 0]
    if len(posted) < 2 and (not posted or len(blinds) == 2):
        raise PhhUnsupported(f"blinds {list(phh_blinds)}: a big blind is needed, and a small one between two players")
    if len(blinds) == 2:
        posted.reverse()
    small = posted[0] if len(posted) > 1 else None
    big, *straddlers = posted[1:] if len(posted) > 1 else posted
    posts = [Post(place + 1, BlindKind.STRADDLE, blinds[place]) for place in straddlers]
    posts += [Post(place + 1, BlindKind.LIVE, -blind) for place, blind in enumerate(blinds) if blind < 0]
    ante = 0
    if any(antes):
        if not trimming:
            posts += [Post(place + 1, BlindKind.DEAD_ANTE, paid) for place, paid in enumerate(antes) if paid]
        elif len(set(antes)) > 1:
            raise PhhUnsupported(f"antes {list(antes)}: uneven antes that are trimmed against each other")
        else:
            ante = antes[0]
    nominal = small_blind if small_blind is not None else blinds[big] // 2
    return HandConfig(
        game=_GAMES[variant],
        small_blind=nominal if small is None else blinds[small],
        big_blind=blinds[big],
        button=len(blinds),
        small_blind_seat=None if small is None else small + 1,
        big_blind_seat=big + 1,
        seats=tuple(enumerate(stacks, 1)),
        ante=ante,
        unit=1,
        posts=tuple(posts),
        min_bet=min_bet,
    )


def _by_place(chips: tuple[int, ...]) -> tuple[int, ...]:
    """PHH lists the small blind first, also between two players, where it is the second player's."""
    return chips[::-1] if len(chips) == 2 else chips


def _deal_hole_cards(record: PhhHand, config: HandConfig, result: ReplayResult) -> int:
    """Start the hand with the hole cards of the record, unknown where it deals none. Answers where play begins."""
    count, size = len(config.seats), config.rules.hole_cards
    holes: list[tuple[Card, ...]] = [()] * count
    start = 0
    for action in record.actions:
        result.at = start
        verb, seat, _, dealt = parse(action)
        if verb == Verb.DEAL_HOLE:
            if seat > count or (holes[seat - 1] and len(holes[seat - 1]) + len(dealt) > size):
                raise CardsError(f"{action!r}: {count} players get {size} hole cards each in {config.game.value}")
            holes[seat - 1] += dealt
        elif verb != Verb.NOTHING:
            break
        start += 1
    holes = [hole or (UNKNOWN,) * size for hole in holes]
    out = [card for hole in holes for card in hole]
    if len(out) != count * size or len({*out} - {UNKNOWN}) + out.count(UNKNOWN) != len(out):
        dealt_texts = ", ".join([text(hole) for hole in holes])
        raise CardsError(f"hole cards {dealt_texts}: each player gets {size}, and no card is dealt twice")
    result.hand, _ = Hand.start_dealt(config, Deal(tuple(holes)), declared_showdown=True, record=False)
    return start


def _note_turn(result: ReplayResult, hand: Hand, at: int) -> None:
    legal = hand.legal()
    if legal is not None:
        result.decisions.append(Decision(at, legal))


def _follow(hand: Hand, step: Step, result: ReplayResult) -> None:
    verb, seat, _, dealt = step
    if verb == Verb.DEAL_BOARD:
        hand.deal_board(dealt, record=False)
    elif verb == Verb.DEAL_HOLE:
        raise CardsError(f"p{seat} is dealt {text(dealt)!r} in the middle of the hand")
    elif verb != Verb.NOTHING:
        _show_or_muck(hand, step, result)


def _show_or_muck(hand: Hand, step: Step, result: ReplayResult) -> None:
    seat, cards = step.seat, step.cards
    if hand.is_over:
        # Nothing is at stake any more: a winner may show what nobody called.
        if seat not in hand.seats or hand.status(seat) is Status.FOLDED:
            raise ShowdownError(f"p{seat} has no hand to show")
        if step.verb == Verb.SHOW:
            result.shown_after.append(seat)
    elif step.verb == Verb.SHOW:
        hand.show(seat, cards, record=False)
    else:
        hand.muck(seat, record=False)
