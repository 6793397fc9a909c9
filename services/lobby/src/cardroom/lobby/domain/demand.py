"""How many tables there should be at some stakes: enough open seats for those who come and those who wait, not more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid5

from cardroom.lobby.domain.tables import Stakes, TableState

_REQUESTS: Final = UUID("6f3b7a52-5d0e-4c86-9d5e-1f8f4f0a7d21")


@dataclass(frozen=True, slots=True)
class Demand:
    """Stakes at which the lobby opens and closes tables by itself."""

    name: str
    """Of the first table; the others have a number behind it."""
    stakes: Stakes
    open_seats_min: int
    """So many seats are always open, as long as `tables_max` allows it."""
    tables_max: int

    @property
    def key(self) -> str:
        """Names these stakes and no others, for as long as their tables live."""
        s = self.stakes
        return f"{s.game}/{s.small_blind}/{s.big_blind}/{s.ante}/{s.min_buy_in}/{s.max_buy_in}/{s.seats}"

    def request_id(self, number: int) -> str:
        """What the opening of this demand's table of that number is known by: whoever opens it, it is one table."""
        return str(uuid5(_REQUESTS, f"{self.key}/{number}"))


@dataclass(frozen=True, slots=True)
class Standing:
    """A table at these stakes that is on offer, or is about to be, or was until now."""

    table_id: str
    name: str
    state: TableState
    seats: int
    kept: int
    """Seats that are somebody's: taken, claimed, or kept for who waits."""
    waiting: int
    """Players on the table's own waiting list."""
    is_by_demand: bool
    """Whether the lobby opened it by itself. It closes no other."""
    empty_for: timedelta
    """How long nobody has sat there."""

    @property
    def open_seats(self) -> int:
        """Seats that are nobody's."""
        return 0 if self.state is TableState.CLOSING else self.seats - self.kept

    def is_idle(self, patience: timedelta) -> bool:
        """Whether it may be closed: it is the lobby's own, and nobody sits, comes or waits, for that long."""
        is_free = self.state is TableState.OPEN and self.is_by_demand and not self.kept and not self.waiting
        return is_free and self.empty_for >= patience


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that decides whether there are too few tables, or too many."""

    tables: Sequence[Standing]
    waiting: int
    """Players who wait for a seat at any table with these stakes, and have none kept."""
    last_number: int = 0
    """The number of the last table that was opened by demand; 0 before the first."""
    was_refused: bool = False
    """Whether that one was refused by the table service a moment ago."""

    @property
    def open_seats(self) -> int:
        """Seats that are nobody's, at all tables."""
        return sum(table.open_seats for table in self.tables)


def names_to_open(demand: Demand, situation: Situation) -> list[str]:
    """Return the names of the tables that are missing."""
    live = [table for table in situation.tables if table.state is not TableState.CLOSING]
    missing_seats = demand.open_seats_min + situation.waiting - situation.open_seats
    missing = min(-(-missing_seats // demand.stakes.seats), demand.tables_max - len(live))
    if missing <= 0 or situation.was_refused:
        return []
    used = {table.name for table in situation.tables}
    names = (f"{demand.name} {number}" if number > 1 else demand.name for number in range(1, len(used) + missing + 1))
    return [name for name in names if name not in used][:missing]


def tables_to_close(demand: Demand | None, situation: Situation, patience: timedelta) -> list[str]:
    """Return the tables that are too many, the latest first. `demand` is None for stakes that are not wanted any more.

    An idle table is too many when the others have enough open seats without it.
    """
    needed = demand.open_seats_min + situation.waiting if demand is not None else 0
    spare = situation.open_seats - needed
    found = []
    for table in reversed(situation.tables):
        if table.is_idle(patience) and (demand is None or spare >= table.open_seats):
            found.append(table.table_id)
            spare -= table.open_seats
    return found
