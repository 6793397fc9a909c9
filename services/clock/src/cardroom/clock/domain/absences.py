"""How long tables bear with players who are away, sit out or have no chips (rules 9.5, 10.2): one register per player.

The table says when it must look at a seat, under a generation; a higher one replaces it. When due it is told, and told
again until it has said something new or answers that the time is stale. What follows from it is the table's decision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Absence:
    """One player's register at one table. `fire_at_ms` is None when nothing is timed."""

    table_id: str
    player_id: str
    generation: int
    fire_at_ms: int | None = None


def replaced(known: Absence | None, said: Absence) -> Absence:
    """Return what holds after the table said something, in whatever order that arrives."""
    return said if known is None or known.generation < said.generation else known


def answered(absence: Absence, *, stale: bool) -> Absence | None:
    """Return the register to keep after the table's answer, or None when it stands and is told again.

    A table that acted on it says when to come next, under a generation that is on its way.
    """
    return replace(absence, fire_at_ms=None) if stale else None
