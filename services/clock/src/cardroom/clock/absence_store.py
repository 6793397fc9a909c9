"""What the clock keeps of absent players. Each method is one committed unit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cardroom.clock import statements as sql
from cardroom.clock.domain.absences import Absence

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]


class AbsenceStore:
    """The registers of absent players."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, said: Iterable[Absence], now_ms: int) -> None:
        """Write what tables said, at most one for each player at a table, where it is newer than what is known."""
        rows = list(said)
        await self._pool.execute(
            sql.WRITE_ABSENCES,
            [one.table_id for one in rows],
            [one.player_id for one in rows],
            [one.generation for one in rows],
            [one.fire_at_ms for one in rows],
            now_ms,
        )

    async def claim_due(self, now_ms: int, again_after_ms: int, limit: int) -> list[Absence]:
        """Take absences that are due; they come again after a while unless they are replaced, or kept otherwise."""
        rows = await self._pool.fetch(sql.CLAIM_ABSENCES, now_ms, again_after_ms, limit)
        return [Absence(row["table_id"], row["player_id"], row["generation"], row["fire_at_ms"]) for row in rows]

    async def keep(self, absence: Absence) -> None:
        """Write what the table's answer made of it, unless the table has said something newer."""
        await self._pool.execute(
            sql.KEEP_ABSENCE, absence.table_id, absence.player_id, absence.generation, absence.fire_at_ms
        )

    async def forget(self, before_ms: int) -> None:
        """Drop rows without a time that are older than that."""
        await self._pool.execute(sql.FORGET_ABSENCES, before_ms)
