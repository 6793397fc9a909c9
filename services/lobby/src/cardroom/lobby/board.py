"""The tables on offer as this replica has read them, shared by all who ask: only what has changed is read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.sharing import Shared

# Rates of hands per hour fall with time alone, and whatever else went wrong is mended.
READ_ALL_SECONDS: Final = 60.0
# Before and after every transaction.
_START: Final = "0"
_END: Final = str(2**63)


class OfferSource(Protocol):
    """Where the offer is read."""

    async def changes(self, since: str) -> tuple[str, list[str]]:
        """Where to read on the next time, and which tables may have changed since."""

    async def offers(self, table_ids: list[str] | None = None) -> list[Offer]:
        """Those of these tables that are open; None: all that are."""


class Board:
    """What is on offer. An offer that reads the same as before stays the same object."""

    def __init__(self, source: OfferSource, now: Callable[[], float] = time.monotonic) -> None:
        """Reads nothing yet. `now` counts seconds."""
        self._source = source
        self._now = now
        self._offers: dict[str, Offer] = {}
        self._since = _START
        self._read_all_at: float | None = None
        self.freshen = Shared(self._look)
        """Reads until everything is here that was committed before the call."""

    @property
    def offers(self) -> Mapping[str, Offer]:
        """Every open table by its id, as last read."""
        return self._offers

    async def _look(self) -> None:
        now = self._now()
        is_due = self._read_all_at is None or now - self._read_all_at >= READ_ALL_SECONDS
        if is_due:
            # Nothing of the past matters: only where to read on, taken before the tables are read.
            since, _ = await self._source.changes(_END)
            read = {offer.table.table_id: offer for offer in await self._source.offers()}
            gone = self._offers.keys() - read.keys()
            self._read_all_at = now
        else:
            since, changed = await self._source.changes(self._since)
            read = {offer.table.table_id: offer for offer in await self._source.offers(changed)} if changed else {}
            gone = self._offers.keys() & (set(changed) - read.keys())
        self._since = since
        for table_id in gone:
            del self._offers[table_id]
        for table_id, offer in read.items():
            if self._offers.get(table_id) != offer:
                self._offers[table_id] = offer
