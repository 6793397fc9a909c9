"""What a person types at the table, understood. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from cardroom.client import call, check, fold, raise_to
from cardroom.client.amounts import nearest_total
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import LegalActions


class Wish(Enum):
    """What is asked for, beside actions of the hand."""

    SIT_OUT = "s"
    BACK = "b"
    NEW_BUY_IN = "n"
    LEAVE = "q"
    HELP = "?"


@dataclass(frozen=True, slots=True)
class Move:
    """An action for the turn, with what is to be said about it ("" for nothing)."""

    action: Action
    note: str = ""


@dataclass(frozen=True, slots=True)
class MoreChips:
    """A top-up of so many chips; 0 for as many as the table takes."""

    amount: int


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """Typed text that means nothing here, with the sentence that says so."""

    sentence: str


HELP: Final = (
    "f fold · c check or call · r 120 bet or raise to 120 · 1/2, 3/4, p: ½, ¾ or the whole pot · a all-in · "
    "s sit out · b back · t 500 top up by 500 · n new buy-in · q leave · ? this"
)
_WISHES: Final = {wish.value: wish for wish in Wish}
_AMOUNT: Final = re.compile(r"(?:r|raise|bet)?\s*(?:to\s+)?([\d,_]+)")
_MORE_CHIPS: Final = re.compile(r"t(?:op)?(?:\s*up)?\s*([\d,_]*)")
_PRESETS: Final = {
    "1/2": "preset_half_pot",
    "½": "preset_half_pot",
    "3/4": "preset_three_quarter_pot",
    "¾": "preset_three_quarter_pot",
    "p": "preset_pot",
    "pot": "preset_pot",
}


def understand(typed: str, legal: LegalActions | None) -> Move | Wish | MoreChips | Misunderstood:
    """What the typed line means while `legal` is what the player may do; None when it is not their turn."""
    text = typed.strip().lower()
    if text in _WISHES:
        return _WISHES[text]
    more = _MORE_CHIPS.fullmatch(text)
    return MoreChips(_number(more[1])) if more else _move(text, legal)


def _move(text: str, legal: LegalActions | None) -> Move | Misunderstood:
    is_known = text in _PRESETS or text in {"f", "fold", "c", "check", "call", "a", "all-in", "r"}
    if not is_known and not _AMOUNT.fullmatch(text):
        return Misunderstood(f"{text!r} means nothing here. {HELP}")
    if legal is None:
        return Misunderstood("It is not your turn.")
    if text in {"f", "fold"}:
        return Move(fold())
    if text in {"c", "check", "call"}:
        return Move(check() if legal.can_check else call())
    return _wager(text, legal)


def _wager(text: str, legal: LegalActions) -> Move | Misunderstood:
    if text in {"a", "all-in"}:
        return _all_in(legal)
    if not legal.HasField("raise_min"):
        return Misunderstood("You cannot raise now.")
    if text == "r":
        low, high = legal.raise_min, legal.raise_max
        return Misunderstood(f"Raise to how much? {low:,} to {high:,}, for example: r {low}")
    if text in _PRESETS:
        return Move(raise_to(getattr(legal, _PRESETS[text])))
    return _typed_amount(_number(text), legal)


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text)[:18] or "0")


def _typed_amount(typed: int, legal: LegalActions) -> Move | Misunderstood:
    total = nearest_total(legal, typed)
    if total is None:
        return Misunderstood("You cannot raise now.")
    return Move(raise_to(total), "" if total == typed else f"{typed:,} is not legal here; the nearest is {total:,}.")


def _all_in(legal: LegalActions) -> Move | Misunderstood:
    if legal.HasField("raise_max") and legal.raise_max == legal.all_in_total:
        return Move(raise_to(legal.all_in_total))
    if legal.HasField("call_amount") and not legal.HasField("raise_max"):
        return Move(call(), "You can only call.")
    if legal.HasField("raise_max"):
        return Misunderstood(f"The most you may raise to is {legal.raise_max:,}.")
    return Misunderstood("You cannot raise now; c checks.")


def offer(legal: LegalActions) -> str:
    """What the player may type now, with amounts, in one line."""
    parts = ["f fold"]
    if legal.can_check:
        parts.append("c check")
    elif legal.HasField("call_amount"):
        parts.append(f"c call {legal.call_amount:,}")
    if legal.HasField("raise_min"):
        low, high = legal.raise_min, legal.raise_max
        span = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        parts.append(f"r {span} {'bet' if legal.is_bet else 'raise to'}")
        parts.append(f"½ {legal.preset_half_pot:,}")
        parts.append(f"¾ {legal.preset_three_quarter_pot:,}")
        parts.append(f"p {legal.preset_pot:,}")
        if high == legal.all_in_total:
            parts.append(f"a all-in {high:,}")
    return " · ".join(parts)
