"""Tells tables what players' banks hold: the latest content of each, until the table has taken it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from cardroom.chassis import logs
from cardroom.clock.domain.banks import Bank
from cardroom.clock.errors import TableAway
from cardroom.clock.neighbours import Tables
from cardroom.clock.store import ClockStore

IDLE_SECONDS: Final = 1.0
AT_ONCE_MAX: Final = 50
AGAIN_AFTER_MS: Final = 3_000

log = logs.get("telling")


class BankNews:
    """Sends SetTimeBank. A part of an `App`; `wake` it when a bank was written."""

    def __init__(self, store: ClockStore, tables: Tables, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._tables = tables
        self._now_ms = now_ms
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to tell."""
        self._task = asyncio.create_task(self._run(), name="bank-news")

    async def stop(self) -> None:
        """Tell no more; what is left is told by another replica or later."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def wake(self) -> None:
        """A bank was written: do not wait for the next round."""
        self._woken.set()

    async def _run(self) -> None:
        while True:
            try:
                told = await self._round()
            except Exception:
                log.exception("cannot tell of banks; trying again")
                told = 0
            if told < AT_ONCE_MAX:
                await self._until_woken()

    async def _until_woken(self) -> None:
        try:
            await asyncio.wait_for(self._woken.wait(), IDLE_SECONDS)
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    async def _round(self) -> int:
        banks = await self._store.claim_banks_to_tell(self._now_ms(), AGAIN_AFTER_MS, AT_ONCE_MAX)
        await asyncio.gather(*(self._tell(bank) for bank in banks))
        return len(banks)

    async def _tell(self, bank: Bank) -> None:
        try:
            # Stale means that the player has gone or that the table knows better; either way it needs no repeat.
            await self._tables.set_bank(bank)
        except TableAway as why:
            log.warning("a table does not answer; it is told again", table=bank.table_id, why=str(why))
            return
        await self._store.told(bank)
