"""Plays a hand that a floor manager wrote down, and checks every line of it against the engine.

A hand scenario is a YAML mapping (docs/reference/scenarios.md tells the whole format):

    rules: ["5.6"]
    title: several short all-ins that add up reopen the betting
    blinds: 50/100
    button: 5
    stacks: {1: 5000, 2: 125, 3: 5000}
    play:
      - 1 raises to 300
      - 2 may fold, call 200, raise 500 to 5000
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cardroom.engine import (
    CALL,
    CHECK,
    FOLD,
    BlindKind,
    Card,
    Deal,
    Game,
    Hand,
    HandConfig,
    HandResult,
    IllegalAction,
    LegalActions,
    Post,
    RaiseTo,
    cards,
    events,
)

__all__ = ["HandScenario"]

GAMES = {game.value: game for game in Game}
POSTS = {"live": BlindKind.LIVE, "dead": BlindKind.DEAD}
KEYS = {
    *("rules", "title", "game", "blinds", "ante", "unit", "button", "small blind", "big blind", "stacks", "posts"),
    *("cards", "board", "deck", "play", "ends"),
}
ENDS = {"stacks", "pots", "returned", "shown", "mucked", "changes", "board"}


class HandScenario:
    """One hand scenario, ready to run."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        unknown = set(told) - KEYS
        assert not unknown, f"unknown keys {sorted(unknown)}: a hand scenario has {sorted(KEYS)}"
        unknown = set(told.get("ends", {})) - ENDS
        assert not unknown, f"unknown keys {sorted(unknown)} under `ends`: it has {sorted(ENDS)}"
        self.told = told
        self.config = _config(told)
        self.events: list[events.Event] = []
        self.hand: Hand

    def run(self) -> None:
        """Play every line; an AssertionError says which one the engine does not agree with."""
        if "deck" in self.told:
            self.hand, self.events = Hand.start(self.config, _whole_deck(self.told["deck"]))
        else:
            self.hand, self.events = Hand.start_dealt(self.config, _deal(self.told, self.config))
        for number, line in enumerate(self.told.get("play", []), 1):
            try:
                self._line(str(line))
            except (AssertionError, IllegalAction) as problem:
                raise AssertionError(f"line {number}, {line!r}: {problem}") from problem
        if "ends" in self.told:
            self._check_end(self.told["ends"])

    def _line(self, line: str) -> None:
        for pattern, step in STEPS:
            match = pattern.fullmatch(line)
            if match:
                step(self, *match.groups())
                return
        raise AssertionError(f"not understood; a line is one of: {', '.join(pattern.pattern for pattern, _ in STEPS)}")

    # Steps

    def acts(self, seat: str, verb: str, amount: str | None) -> None:
        """'3 folds', '3 checks', '3 calls', '3 bets 40', '3 raises to 120', '3 is all-in'."""
        self.events += self.hand.act(int(seat), self._action(verb, amount))

    def is_refused(self, seat: str, verb: str, amount: str | None, nearest: str | None) -> None:
        """'3 cannot raise to 250 (200 or 300)': refused, nothing changes, the nearest legal totals are named."""
        before = self.hand.copy()
        refusal = None
        try:
            self.hand.act(int(seat), self._action(verb, amount))
        except IllegalAction as caught:
            refusal = caught
        assert refusal is not None, "was accepted"
        assert self.hand == before, "a refused action changed the hand"
        named = tuple(int(total) for total in re.findall(r"\d+", nearest or ""))
        assert nearest is None or refusal.nearest == named, f"the nearest named are {refusal.nearest}"

    def prompted(self, seat: str, choices: str) -> None:
        """'3 may fold, call 50, raise 300 to 5000': it is 3's turn and this is all they may do."""
        legal = self.hand.legal()
        assert legal is not None, "nobody is asked"
        assert legal.seat == int(seat), f"it is the turn of {legal.seat}"
        assert _choices(legal) == choices, f"they may {_choices(legal)}"

    def presets(self, half: str, three_quarters: str, pot: str) -> None:
        """'presets 50, 60, 70': the buttons ½ pot, ¾ pot and Pot."""
        legal = self.hand.legal()
        assert legal is not None, "nobody is asked"
        assert legal.presets is not None, "no raise is legal"
        given = (legal.presets.half_pot, legal.presets.three_quarter_pot, legal.presets.pot)
        assert given == (int(half), int(three_quarters), int(pot)), f"they are {given}"

    def moves_to(self, typed: str, legal_total: str) -> None:
        """'a typed 57 moves to 60'."""
        legal = self.hand.legal()
        assert legal is not None, "nobody is asked"
        assert legal.nearest(int(typed)) == int(legal_total), f"it moves to {legal.nearest(int(typed))}"

    def board_is(self, text: str) -> None:
        """'board Ah Kd 2c' or 'board empty'."""
        expected = "" if text == "empty" else text.replace(" ", "")
        assert cards.text(self.hand.board) == expected, f"it is {cards.text(self.hand.board)!r}"

    def pots_are(self, text: str) -> None:
        """'pots 300 (1 2 3), 150 (1 2)': as they stand, and who can win each."""
        standing = ", ".join(f"{pot.amount} ({' '.join(map(str, sorted(pot.eligible)))})" for pot in self.hand.pots())
        assert standing == text, f"they are {standing}"

    def posted(self, seat: str, amount: str, kind: str) -> None:
        """'2 posted 7 (big blind)'."""
        wanted = (int(seat), int(amount), kind)
        posts = [(e.seat, e.amount, e.kind.value) for e in self.events if isinstance(e, events.BlindPosted)]
        posts += [(e.seat, e.amount, "ante") for e in self.events if isinstance(e, events.AntePosted)]
        assert wanted in posts, f"posted were {posts}"

    def has_cards(self, seat: str, text: str) -> None:
        """'2 has Ah Kd': what was dealt to the seat."""
        dealt = cards.text(self.hand.hole_cards(int(seat)))
        assert dealt == text.replace(" ", ""), f"has {dealt}"

    def face_up(self, seats: str) -> None:
        """'face up 1 3' or 'face up nobody': whose cards everyone has seen."""
        expected = [] if seats == "nobody" else [int(seat) for seat in seats.split()]
        assert sorted(self.hand.face_up) == expected, f"face up are {sorted(self.hand.face_up)}"

    def nobody_asked(self) -> None:
        """'nobody is asked'."""
        assert self.hand.legal() is None, f"it is the turn of {self.hand.actor}"

    def over(self) -> None:
        """'the hand is over'."""
        assert self.hand.is_over, f"it is the turn of {self.hand.actor}"

    def _action(self, verb: str, amount: str | None) -> Any:
        if verb in ("is all-in", "go all-in"):
            legal = self.hand.legal()
            assert legal is not None, "nobody is asked"
            if legal.raise_max is not None and legal.all_in <= legal.raise_max:
                return RaiseTo(legal.all_in)
            return CALL
        plain = {"folds": FOLD, "fold": FOLD, "checks": CHECK, "check": CHECK, "calls": CALL, "call": CALL}
        return plain[verb] if verb in plain else RaiseTo(int(amount or 0))

    def _check_end(self, ends: Mapping[str, Any]) -> None:
        result = self.hand.result
        assert result is not None, f"the hand is not over: it is the turn of {self.hand.actor}"
        for key, expected in ends.items():
            found = _found(result, key, self.hand)
            if isinstance(expected, dict) and isinstance(found, dict) and key in ("stacks", "changes"):
                found = {seat: found[seat] for seat in expected}
            assert found == expected, f"{key}: expected {expected}, the engine says {found}"


VERB = r"(folds|checks|calls|bets|raises to|is all-in)(?: (\d+))?"
REFUSED = r"(fold|check|call|bet|raise to|go all-in)(?: (\d+))?"
STEPS: list[tuple[re.Pattern[str], Callable[..., None]]] = [
    (re.compile(rf"(\d+) {VERB}"), HandScenario.acts),
    (re.compile(rf"(\d+) cannot {REFUSED}(?: \((.*)\))?"), HandScenario.is_refused),
    (re.compile(r"(\d+) may (.+)"), HandScenario.prompted),
    (re.compile(r"presets (\d+), (\d+), (\d+)"), HandScenario.presets),
    (re.compile(r"a typed (\d+) moves to (\d+)"), HandScenario.moves_to),
    (re.compile(r"board (.+)"), HandScenario.board_is),
    (re.compile(r"pots (.+)"), HandScenario.pots_are),
    (re.compile(r"(\d+) posted (\d+) \((.+)\)"), HandScenario.posted),
    (re.compile(r"(\d+) has (.+)"), HandScenario.has_cards),
    (re.compile(r"face up (nobody|[\d ]+)"), HandScenario.face_up),
    (re.compile(r"nobody is asked"), HandScenario.nobody_asked),
    (re.compile(r"the hand is over"), HandScenario.over),
]


def _config(told: Mapping[str, Any]) -> HandConfig:
    small, big = (int(part) for part in str(told["blinds"]).split("/"))
    stacks: dict[int, int] = told["stacks"]
    order = [seat for seat in sorted(stacks) if seat > told["button"]] + [
        s for s in sorted(stacks) if s <= told["button"]
    ]
    heads_up = len(order) == 2
    small_seat = told.get("small blind", order[1] if heads_up else order[0])
    big_seat = told.get("big blind", order[0] if heads_up else order[1])
    return HandConfig(
        game=GAMES[told.get("game", "no-limit hold'em")],
        small_blind=small,
        big_blind=big,
        button=told["button"],
        small_blind_seat=None if small_seat == "none" else small_seat,
        big_blind_seat=big_seat,
        seats=tuple(sorted(stacks.items())),
        ante=told.get("ante", 0),
        unit=told.get("unit", 0),
        posts=tuple(Post(seat, POSTS[kind], big if kind == "live" else small) for seat, kind in told.get("posts", [])),
    )


def _deal(told: Mapping[str, Any], config: HandConfig) -> Deal:
    """The cards that the scenario names; every other card is the lowest that is left."""
    named = {seat: cards.parse(str(text).replace(" ", "")) for seat, text in told.get("cards", {}).items()}
    board = cards.parse(str(told.get("board", "")).replace(" ", ""))
    used = {card for hole in named.values() for card in hole} | set(board)
    left = iter([Card(card) for card in range(52) if card not in used])
    count = config.game.rules.hole_cards
    holes = tuple(tuple(named[s]) if s in named else tuple(next(left) for _ in range(count)) for s in config.order)
    return Deal(holes, (*board, *(next(left) for _ in range(5 - len(board)))))


def _whole_deck(top: str) -> list[Card]:
    first = list(cards.parse(top.replace(" ", "")))
    return first + [Card(card) for card in range(52) if card not in first]


def _choices(legal: LegalActions) -> str:
    choices = ["fold", "check" if legal.can_check else f"call {legal.call_amount}"]
    if legal.can_raise:
        word = "bet" if legal.is_bet else "raise"
        one = legal.raise_min == legal.raise_max
        choices.append(f"{word} {legal.raise_min}" if one else f"{word} {legal.raise_min} to {legal.raise_max}")
    return ", ".join(choices)


def _found(result: HandResult, key: str, hand: Hand) -> Any:
    if key == "pots":
        return [{"amount": pot.amount, "wins": pot.wins} for pot in result.pots]
    if key == "board":
        return cards.text(hand.board)
    if key == "changes":
        return result.deltas
    value = getattr(result, key)
    return list(value) if isinstance(value, tuple) else value
