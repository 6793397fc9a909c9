"""Follows button and blinds over several hands, as players come and go.

rules: ["3.1"]
title: the small blind leaves
button: dead
players: [1, 2, 3, 4, 5, 6]
first button: 2
hands:
  - then: 3 leaves
    button: 3
    small blind: 4
    big blind: 5
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cardroom.engine import blinds

__all__ = ["ButtonScenario"]

KEYS = {"rules", "title", "button", "players", "first button", "hands", "missed blinds"}
HAND_KEYS = {"then", "button", "small blind", "big blind", "dealt in", "waiting", "posts", "no hand"}
CHANGE = re.compile(r"(\d+) (sits down|leaves|sits out|is back|posts)|(\d+) moves to (\d+)")


class ButtonScenario:
    """One scenario of a button's way, ready to run."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        unknown = set(told) - KEYS
        assert not unknown, f"unknown keys {sorted(unknown)}: a button scenario has {sorted(KEYS)}"
        self.told = told
        self.able: dict[int, bool] = dict.fromkeys(told["players"], True)
        self.posting: set[int] = set()
        self.positions = blinds.Positions()

    def run(self) -> None:
        """Deal hand after hand; an AssertionError says which one comes out otherwise."""
        for number, hand in enumerate(self.told["hands"], 1):
            unknown = set(hand) - HAND_KEYS
            assert not unknown, f"hand {number}: unknown keys {sorted(unknown)}: a hand has {sorted(HAND_KEYS)}"
            changes = hand.get("then", [])
            for change in [changes] if isinstance(changes, str) else changes:
                self._change(change)
            try:
                self._deal(hand)
            except AssertionError as problem:
                raise AssertionError(f"hand {number}: {problem}") from problem

    def _change(self, change: str) -> None:
        match = CHANGE.fullmatch(change)
        assert match, f"{change!r} is not understood; write like: {CHANGE.pattern}"
        who, what, old, new = match.groups()
        if old:
            self.able[int(new)] = self.able.pop(int(old))
            self.positions = blinds.move(self.positions, int(old), int(new))
            return
        seat = int(who)
        if what == "leaves":
            del self.able[seat]
            self.positions = blinds.leave(self.positions, seat)
        elif what == "posts":
            self.posting.add(seat)
        else:
            self.able[seat] = what != "sits out"

    def _deal(self, hand: Mapping[str, Any]) -> None:
        first = self.told.get("first button")
        able = sorted(seat for seat, plays in self.able.items() if plays)
        plan = blinds.next_positions(
            self.positions,
            self.able,
            draw=lambda _: able.index(first) if first in able else 0,
            button=blinds.Button(self.told.get("button", "dead")),
            posting=self.posting,
        )
        if hand.get("no hand"):
            assert plan is None, f"a hand is dealt: {plan}"
            return
        assert plan is not None, "no hand is dealt"
        found = {
            "button": plan.button,
            "small blind": plan.small_blind_seat or "none",
            "big blind": plan.big_blind_seat,
            "dealt in": list(plan.dealt_in),
            "waiting": list(plan.waiting),
            "posts": {seat: [k.value for s, k in plan.posts if s == seat] for seat, _ in plan.posts},
        }
        for key in set(hand) - {"then"}:
            assert found[key] == hand[key], f"{key}: expected {hand[key]}, the engine says {found[key]} (all: {found})"
        self.positions = plan.positions
        self.posting -= set(plan.dealt_in)
