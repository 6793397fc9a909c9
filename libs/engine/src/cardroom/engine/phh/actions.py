"""The words of PHH actions: `d dh p1 AhKd`, `d db 2c3c4c`, `p3 cbr 250`, `p1 sm`."""

from __future__ import annotations

from functools import lru_cache
from math import inf, isfinite
from typing import Final, NamedTuple

from cardroom.engine import cards
from cardroom.engine.actions import FOLD, Fold, RaiseTo
from cardroom.engine.errors import PhhError, PhhHalfChips, PhhUnsupported

__all__ = ["Step", "Verb", "parse"]


class Verb:
    """What a step does. Plain numbers, because a replay compares one for every action."""

    ACT: Final = 0
    CHECK_OR_CALL: Final = 1
    DEAL_HOLE: Final = 2
    DEAL_BOARD: Final = 3
    SHOW: Final = 4
    MUCK: Final = 5
    NOTHING: Final = 6


class Step(NamedTuple):
    """One action of a record; `seat` is the player's number, 1 for p1."""

    verb: int
    seat: int = 0
    action: Fold | RaiseTo | None = None
    cards: tuple[int, ...] = ()


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Step:
    """A PHH action. Raises PhhError for what is none, PhhUnsupported for those of games not played here."""
    match text.partition("#")[0].split():
        case []:
            step = Step(Verb.NOTHING)
        case ["d", "db", dealt]:
            step = Step(Verb.DEAL_BOARD, cards=cards.parse(dealt))
        case ["d", "dh", player, dealt]:
            step = Step(Verb.DEAL_HOLE, _seat(player), cards=cards.parse(dealt))
        case [player, "f"]:
            step = Step(Verb.ACT, _seat(player), FOLD)
        case [player, "cc"]:
            step = Step(Verb.CHECK_OR_CALL, _seat(player))
        case [player, "cbr", amount]:
            step = Step(Verb.ACT, _seat(player), RaiseTo(_amount(amount)))
        case [player, "sm"]:
            step = Step(Verb.MUCK, _seat(player))
        case [player, "sm", "-"]:
            step = Step(Verb.SHOW, _seat(player))
        case [player, "sm", shown]:
            step = Step(Verb.SHOW, _seat(player), cards=cards.parse(shown))
        case [_, "pb" | "sd", *_]:
            raise PhhUnsupported(f"{text!r} belongs to a game that is not played here")
        case _:
            raise PhhError(f"{text!r} is not a PHH action")
    return step


def _seat(player: str) -> int:
    if player[:1] != "p" or not player[1:].isdecimal() or player[1] == "0":
        raise PhhError(f"{player!r} is not a player; players are p1 to pN")
    return int(player[1:])


def _amount(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        amount = float(text)
    except ValueError:
        amount = inf
    if not isfinite(amount):
        raise PhhError(f"{text!r} is not an amount of chips")
    if amount != int(amount):
        raise PhhHalfChips(f"{text!r} holds a part of a chip; chips are whole here")
    return int(amount)
