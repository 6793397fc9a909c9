"""Tables by demand: opens tables at the stakes that the settings name, and closes empty ones that are too many.

Any number of replicas does this at once: the database lets one at a time decide about some stakes. What is decided is
written down and worked off by `TableSaga`, so that a crash costs time only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from prometheus_client import Counter, Gauge

from cardroom.chassis import logs
from cardroom.lobby.demand_store import Changed, DemandStore
from cardroom.lobby.domain.demand import Demand, Situation, names_to_open, tables_to_close

UNWANTED_SECONDS: Final = 30.0
# What a flood leaves over is found by the next look.
ROUNDS_MAX: Final = 20

OPENED: Final = Counter("cardroom_lobby_tables_opened_by_demand_total", "Tables opened by demand.", ["name"])
CLOSED: Final = Counter("cardroom_lobby_tables_closed_by_demand_total", "Empty tables closed by demand.", ["name"])
OPEN_SEATS: Final = Gauge("cardroom_lobby_open_seats", "Seats that are nobody's, at stakes by demand.", ["name"])
TABLES: Final = Gauge("cardroom_lobby_tables_by_demand", "Tables at stakes by demand.", ["name"])

log = logs.get("demand")


class TablesByDemand:
    """Keeps as many tables as there should be."""

    def __init__(
        self, store: DemandStore, demands: Sequence[Demand], *, look_seconds: float, patience_seconds: float
    ) -> None:
        """Look every `look_seconds`; close what has been empty and too many for `patience_seconds`."""
        self._store = store
        self._demands = demands
        self._look_seconds = look_seconds
        self._patience = timedelta(seconds=patience_seconds)
        self.changed: Callable[[], None] = lambda: None
        """Called when a table is to be opened or closed at the table service."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        next_unwanted = 0.0
        loop = asyncio.get_running_loop()
        while True:
            for demand in self._demands:
                await self.look(demand)
            if loop.time() >= next_unwanted:
                next_unwanted = loop.time() + UNWANTED_SECONDS
                await self.close_unwanted()
            await asyncio.sleep(self._look_seconds)

    async def look(self, demand: Demand) -> None:
        """Open and close what is due at some stakes."""
        for _ in range(ROUNDS_MAX):
            situation = await self._store.look(demand)
            OPEN_SEATS.labels(demand.name).set(situation.open_seats)
            TABLES.labels(demand.name).set(len(situation.tables))
            if not self._is_due(demand, situation):
                return
            changed = await self._store.settle(demand, self._patience)
            if not changed:
                return
            self._tell(changed, demand.name)

    def _is_due(self, demand: Demand, situation: Situation) -> bool:
        return bool(names_to_open(demand, situation) or tables_to_close(demand, situation, self._patience))

    async def close_unwanted(self) -> None:
        """Close what was opened for stakes that the settings do not name any more."""
        for _ in range(ROUNDS_MAX):
            changed = await self._store.close_unwanted(self._demands, self._patience)
            if not changed:
                return
            self._tell(changed, "unwanted")

    def _tell(self, changed: Changed, name: str) -> None:
        OPENED.labels(name).inc(changed.opened)
        CLOSED.labels(name).inc(changed.closed)
        log.info("tables by demand", stakes=name, opened=changed.opened, closed=changed.closed)
        self.changed()
