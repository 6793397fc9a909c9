"""What the actor may do (7.2): one value for the server, bots and clients."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LegalActions", "Presets"]


@dataclass(frozen=True, slots=True)
class Presets:
    """Totals of the three preset buttons."""

    half_pot: int
    three_quarter_pot: int
    pot: int


@dataclass(frozen=True, slots=True)
class LegalActions:
    """The actor's choices. A fold is always among them (5.9)."""

    seat: int
    call_amount: int | None
    """Chips that a call adds now (all-in for less included); None when there is nothing to call: check is legal."""
    raise_min: int | None
    """Smallest total of a bet or raise; None when neither is legal."""
    raise_max: int | None
    """Largest total of a bet or raise."""
    is_bet: bool
    """A raise would open the betting of this street: call it a bet."""
    unit: int
    """The betting unit (7.1)."""
    presets: Presets | None
    """None when no raise is legal."""
    all_in: int
    """The actor's total for the street with every chip in."""

    @property
    def can_fold(self) -> bool:
        """Always: a fold is accepted at any turn (5.9)."""
        return True

    @property
    def can_check(self) -> bool:
        """There is no wager to match."""
        return self.call_amount is None

    @property
    def can_call(self) -> bool:
        """There is a wager to match."""
        return self.call_amount is not None

    @property
    def can_raise(self) -> bool:
        """A bet or raise of some amount is legal."""
        return self.raise_min is not None

    def allows(self, amount: int) -> bool:
        """Whether a bet or raise to `amount` is legal (7.1)."""
        low, high = self.raise_min, self.raise_max
        if low is None or high is None or not low <= amount <= high:
            return False
        return amount in (low, high) or amount % self.unit == 0

    def around(self, amount: int) -> tuple[int, ...]:
        """The legal totals below and above `amount`: one or two, `amount` itself if legal, none without a raise."""
        low, high = self.raise_min, self.raise_max
        if low is None or high is None:
            return ()
        if amount <= low:
            return (low,)
        if amount >= high:
            return (high,)
        if self.allows(amount):
            return (amount,)
        below = amount // self.unit * self.unit
        return max(low, below), min(high, below + self.unit)

    def nearest(self, amount: int) -> int | None:
        """The legal total that a typed `amount` moves to (7.2); halfway goes down. None when no raise is legal."""
        choices = self.around(amount)
        return min(choices, key=lambda total: abs(total - amount)) if choices else None
