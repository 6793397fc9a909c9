"""What an audit found, and whether an escrow that differs from its table's stack is explained by a buy-in."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Check:
    """One of the audit's questions, and the answer."""

    name: str
    rule: str
    checked: int
    first_failure: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.first_failure


@dataclass(frozen=True, slots=True)
class CurrencyBooks:
    """One currency's sums."""

    currency: str
    granted: int
    adjusted: int
    players: int
    escrow: int
    house: int

    @property
    def difference(self) -> int:
        """Chips too many (above 0) or missing (below 0)."""
        return self.players + self.escrow + self.house - self.granted - self.adjusted


@dataclass(slots=True)
class Report:
    """What the audit found."""

    checks: list[Check] = field(default_factory=list)
    currencies: list[CurrencyBooks] = field(default_factory=list)
    verified_position: str = ""
    waiting_hands: int = 0
    duration_ms: int = 0

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def first_failure(self) -> str:
        """The first thing wrong; empty when nothing is."""
        return next((f"{check.name}: {check.first_failure}" for check in self.checks if not check.passed), "")


def escrow_is_explained(stack: int, balance: int, before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a stated stack and the escrow after the same hand agree, buy-ins on their way included.

    A top-up may be on the table before it is posted (it is among the entries `after`) or posted before the table takes
    it (it is among those `before`, nearest first).
    """
    missing = stack - balance
    return missing == 0 or missing in accumulate(after) or -missing in accumulate(before)
