"""What the clock keeps: timers and banks, and how they are read and written in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from cardroom.clock import statements as sql
from cardroom.clock.domain import banks
from cardroom.clock.domain.absences import Absence
from cardroom.clock.domain.banks import Bank, Facts
from cardroom.clock.domain.timers import REPEAT_MS, REPEAT_MS_MAX, Kind, Phase, Timer

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]


class Acted(NamedTuple):
    """An action that ended a turn, and the last timing that the batch told of before it (0: none)."""

    table_id: str
    hand_number: int
    action_number: int
    at_ms: int
    after_generation: int


class Near(NamedTuple):
    """A timer that is due soon; sorts by time."""

    fire_at_ms: int
    table_id: str
    generation: int


@dataclass(slots=True)
class Batch:
    """What a batch of the tables' changes means to the clock. At most one timer per table, the highest generation."""

    timers: dict[str, Timer] = field(default_factory=dict)
    acted: list[Acted] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    absences: dict[tuple[str, str], Absence] = field(default_factory=dict)


Settle = Callable[[dict[str, Timer], dict[str, Bank]], list[Bank]]


class ClockStore:
    """The clock's database. Each method is one committed unit."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def write(self, batch: Batch) -> tuple[set[str], set[str]]:
        """Write the batch's timers, but for tables whose running bank was in use.

        Return those tables, and the players of the batch whose bank is not full: `settle` is for them.
        """
        players = {facts.player_id for facts in batch.facts}
        rows = await self._pool.fetch(
            sql.WRITE_TIMERS,
            *_columns(batch.timers.values()),
            [one.table_id for one in batch.acted],
            [one.hand_number for one in batch.acted],
            [one.action_number for one in batch.acted],
            list(players),
            banks.FULL_MS,
        )
        in_use = {str(row["table_id"]) for row in rows if row["table_id"] is not None}
        return in_use, {str(row["player_id"]) for row in rows if row["player_id"] is not None}

    async def settle(self, batch: Batch, in_use: set[str], players: set[str], decide: Settle) -> bool:
        """Charge and fill banks as `decide` says, and write the timers that had to wait for it, in one transaction.

        Return whether a table has to be told of a bank.
        """
        async with self._pool.acquire() as conn, conn.transaction():
            timers = {str(row["table_id"]): _timer(row) for row in await conn.fetch(sql.LOCK_TIMERS, sorted(in_use))}
            actors = {timer.player_id for timer in timers.values() if timer.player_id is not None}
            await conn.execute(sql.ADD_BANKS, sorted(actors), banks.FULL_MS)
            rows = await conn.fetch(sql.LOCK_BANKS, sorted(players | actors))
            before = {str(row["player_id"]): _bank(row) for row in rows}
            changed = decide(timers, dict(before))
            await conn.execute(sql.WRITE_BANKS, *_bank_columns(changed))
            waiting = [timer for table_id, timer in batch.timers.items() if table_id in in_use]
            await conn.execute(sql.REPLACE_TIMERS, *_columns(waiting))
        return any(bank.generation > before[bank.player_id].generation for bank in changed)

    async def near(self, until_ms: int, limit: int) -> list[Near]:
        """Return timers that are due by then, the earliest first."""
        rows = await self._pool.fetch(sql.NEAR_TIMERS, until_ms, limit)
        return [Near(row["fire_at_ms"], str(row["table_id"]), row["generation"]) for row in rows]

    async def claim(self, due: Sequence[Near], now_ms: int) -> list[tuple[Timer, int]]:
        """Take these firings for this process and set the time of the next; return the timers with their banks.

        What has a newer generation by now, or was taken by another replica, does not come back.
        """
        rows = await self._pool.fetch(
            sql.CLAIM_TIMERS,
            [one.table_id for one in due],
            [one.generation for one in due],
            [one.fire_at_ms for one in due],
            now_ms,
            REPEAT_MS,
            REPEAT_MS_MAX,
            banks.FULL_MS,
        )
        return [(_timer(row), row["bank_left_ms"]) for row in rows]

    async def keep(self, timers: Sequence[Timer]) -> None:
        """Write what the tables' answers made of these timers, unless a newer generation is there."""
        await self._pool.execute(
            sql.KEEP_TIMERS,
            [timer.table_id for timer in timers],
            [timer.generation for timer in timers],
            [timer.phase for timer in timers],
            [timer.fire_at_ms for timer in timers],
            [timer.deadline_ms for timer in timers],
        )

    async def count(self, overdue_before_ms: int) -> tuple[int, int]:
        """Return how many timers are pending, and how many of them should have fired by then."""
        row = await self._pool.fetchrow(sql.COUNT_TIMERS, overdue_before_ms)
        assert row is not None
        return row["pending"], row["overdue"]

    async def bank(self, player_id: str) -> Bank:
        """Return a player's bank; a full one for a player who never used it."""
        row = await self._pool.fetchrow(sql.READ_BANK, player_id)
        return _bank(row) if row else Bank(player_id)

    async def claim_banks_to_tell(self, now_ms: int, again_after_ms: int, limit: int) -> list[Bank]:
        """Take banks whose content their table has not been told; they come again after a while unless `told`."""
        return [_bank(row) for row in await self._pool.fetch(sql.CLAIM_BANKS_TO_TELL, now_ms, again_after_ms, limit)]

    async def told(self, bank: Bank) -> None:
        """Write down that the table knows this content."""
        await self._pool.execute(sql.BANK_TOLD, bank.player_id, bank.generation)


def _columns(timers: Any) -> tuple[list[Any], ...]:
    rows = [
        (
            timer.table_id,
            timer.generation,
            timer.kind,
            timer.fire_at_ms,
            timer.hand_number,
            timer.action_number,
            timer.player_id,
            timer.started_at_ms,
            timer.base_ms,
            timer.bank_allowed,
            timer.deadline_ms,
        )
        for timer in timers
    ]
    return tuple(map(list, zip(*rows, strict=True))) if rows else ([],) * 11


def _bank_columns(changed: Sequence[Bank]) -> tuple[list[Any], ...]:
    rows = [
        (
            bank.player_id,
            bank.left_ms,
            bank.hands,
            bank.is_out_of_chips,
            bank.away_since_ms,
            bank.table_id,
            bank.noted_at_us,
            bank.generation,
        )
        for bank in changed
    ]
    return tuple(map(list, zip(*rows, strict=True))) if rows else ([],) * 8


def _timer(row: Any) -> Timer:
    return Timer(
        table_id=str(row["table_id"]),
        generation=row["generation"],
        kind=Kind(row["kind"]),
        phase=Phase(row["phase"]),
        fire_at_ms=row["fire_at_ms"],
        hand_number=row["hand_number"],
        action_number=row["action_number"],
        player_id=str(row["player_id"]) if row["player_id"] else None,
        started_at_ms=row["started_at_ms"],
        base_ms=row["base_ms"],
        bank_allowed=row["bank_allowed"],
        deadline_ms=row["deadline_ms"],
        attempts=row["attempts"],
    )


def _bank(row: Any) -> Bank:
    return Bank(
        player_id=str(row["player_id"]),
        left_ms=row["left_ms"],
        hands=row["hands"],
        is_out_of_chips=row["is_out_of_chips"],
        away_since_ms=row["away_since_ms"],
        table_id=str(row["table_id"]) if row["table_id"] else None,
        noted_at_us=row["noted_at_us"],
        generation=row["generation"],
    )
