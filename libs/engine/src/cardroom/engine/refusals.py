"""Why an action is refused, in words (7.1)."""

from __future__ import annotations

from typing import NoReturn

from cardroom.engine.actions import Action, Call, Check, RaiseTo
from cardroom.engine.errors import (
    AmountTooLarge,
    AmountTooSmall,
    CannotCheck,
    CannotRaise,
    NotAWholeUnit,
    NothingToCall,
)
from cardroom.engine.legal import LegalActions

__all__ = ["refuse"]


def refuse(legal: LegalActions, kind: type[Action], amount: int = 0) -> NoReturn:
    """Raise what is wrong with an action of this kind, given what would have been legal."""
    who = f"seat {legal.seat}"
    if kind is Check:
        raise CannotCheck(f"{who} cannot check: calling adds {legal.call_amount}", legal)
    if kind is Call:
        raise NothingToCall(f"{who} has nothing to call: check instead", legal)
    if kind is not RaiseTo:
        raise TypeError(f"{kind.__name__} is not an action: use Fold, Check, Call or RaiseTo")
    word = "bet" if legal.is_bet else "raise"
    low, high = legal.raise_min, legal.raise_max
    if low is None or high is None:
        raise CannotRaise(f"{who} cannot {word} to {amount}: {_why_no_raise(legal)}", legal)
    nearest = legal.around(amount)
    named = " or ".join(str(total) for total in nearest)
    if amount < low:
        raise AmountTooSmall(f"{who} cannot {word} to {amount}: the smallest is to {low}", legal, nearest)
    if amount > high:
        raise AmountTooLarge(f"{who} cannot {word} to {amount}: the largest is to {high}", legal, nearest)
    unit = legal.unit
    raise NotAWholeUnit(f"{who} cannot {word} to {amount}: the unit is {unit}, {word} to {named}", legal, nearest)


def _why_no_raise(legal: LegalActions) -> str:
    return f"only call (adds {legal.call_amount}) or fold" if legal.can_call else "only check or fold"
