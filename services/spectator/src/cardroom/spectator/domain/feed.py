"""One table's public history as watchers see it: changes in order, and a fresh snapshot wherever one is missing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Change:
    """One committed change of a table, with the public view after it, as the table service published it."""

    table_id: str
    version: int
    happened_at: datetime
    body: bytes


class Kind(Enum):
    """How a change is shown."""

    SNAPSHOT = "snapshot"
    """The whole public view after it."""
    CHANGE = "change"
    """Only what it changed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to show."""

    kind: Kind
    change: Change


class Feed:
    """How far a table has been shown. Only changes that are due may be given to it."""

    def __init__(self, shown: Change | None) -> None:
        """Begin after `shown`; None: nothing is due yet."""
        self.shown = shown

    @property
    def version(self) -> int:
        """The version that watchers have seen; 0 before the first."""
        return 0 if self.shown is None else self.shown.version

    def follow(self, due: Iterable[Change]) -> list[Step]:
        """Return what to show next. `due` is in version order; what was shown already is passed over.

        A missing version will not come any more, half a minute after it happened: the view after the gap is shown.
        """
        steps = []
        for change in due:
            if change.version <= self.version:
                continue
            is_next = self.shown is not None and change.version == self.version + 1
            steps.append(Step(Kind.CHANGE if is_next else Kind.SNAPSHOT, change))
            self.shown = change
        return steps
