"""Tells tables that a player's absence has lasted long enough, until the table has looked at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from cardroom.chassis import logs
from cardroom.clock.absence_store import AbsenceStore
from cardroom.clock.domain import absences
from cardroom.clock.domain.absences import Absence
from cardroom.clock.errors import TableAway
from cardroom.clock.neighbours import Tables

LOOK_SECONDS: Final = 0.5
AT_ONCE_MAX: Final = 200
AGAIN_AFTER_MS: Final = 3_000

log = logs.get("absences")


class AbsenceCalls:
    """Looks for absences that are due, in the database, and sends JudgeAbsence. A part of an `App`."""

    def __init__(self, store: AbsenceStore, tables: Tables, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._tables = tables
        self._now_ms = now_ms
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="absences")

    async def stop(self) -> None:
        """Look no more; what is left is told by another replica or later."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                told = await self._round()
            except Exception:
                log.exception("cannot tell of absences; trying again")
                told = 0
            if told < AT_ONCE_MAX:
                await asyncio.sleep(LOOK_SECONDS)

    async def _round(self) -> int:
        due = await self._store.claim_due(self._now_ms(), AGAIN_AFTER_MS, AT_ONCE_MAX)
        await asyncio.gather(*(self._tell(absence) for absence in due))
        return len(due)

    async def _tell(self, absence: Absence) -> None:
        try:
            stale = await self._tables.judge_absence(absence)
        except TableAway as why:
            log.warning("a table does not answer; it is told again", table=absence.table_id, why=str(why))
            return
        kept = absences.answered(absence, stale=stale)
        if kept is not None:
            await self._store.keep(kept)
