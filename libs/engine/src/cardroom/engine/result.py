"""How a hand came out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HandResult", "PotResult"]


@dataclass(frozen=True, slots=True)
class PotResult:
    """A pot: its chips, the seats that could win it, and the chips that each winner took from it."""

    amount: int
    eligible: tuple[int, ...]
    wins: dict[int, int]


@dataclass(frozen=True, slots=True)
class HandResult:
    """Everything by seat number. `deltas` sum to zero; `shown` and `mucked` are in the order it happened."""

    stacks: dict[int, int]
    deltas: dict[int, int]
    pots: tuple[PotResult, ...]
    returned: dict[int, int]
    shown: tuple[int, ...]
    mucked: tuple[int, ...]
