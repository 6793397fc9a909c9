"""What must happen without anyone asking: due holds end, waiting hands are tried again, the books are audited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from cardroom.wallet.domain.books import WALLET_ACTOR
from cardroom.wallet.domain.commands import ExpireHolds
from cardroom.wallet.posting import Request
from cardroom.wallet.store import statements

if TYPE_CHECKING:
    import asyncpg

    from cardroom.wallet.auditing import Auditor
    from cardroom.wallet.events import Settler
    from cardroom.wallet.posting import Poster

ACCOUNTS_PER_SWEEP: Final = 200


class Sweeper:
    """Runs every second, and at once when chips came into an escrow that a hand may wait for."""

    def __init__(self, pool: asyncpg.Pool[Any], poster: Poster, settler: Settler, seconds: float) -> None:
        self._pool = pool
        self._poster = poster
        self._settler = settler
        self._seconds = seconds
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Sweep now."""
        self._woken.set()

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await self.sweep()
            try:
                async with asyncio.timeout(self._seconds):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()

    async def sweep(self) -> None:
        """End the holds that are due, settle the hands that need not wait any more, and measure what still waits."""
        await self._settler.settle_waiting()
        await self.expire_holds()
        await self._settler.measure()

    async def expire_holds(self) -> int:
        """End the holds that are due; return how many accounts had some."""
        due = [row[0] for row in await self._pool.fetch(statements.DUE_ACCOUNTS, ACCOUNTS_PER_SWEEP)]
        await asyncio.gather(*(self._poster.post(Request(ExpireHolds(WALLET_ACTOR, name))) for name in due))
        return len(due)


async def audit_regularly(auditor: Auditor, seconds: float) -> None:
    """Audit for ever, for the metric."""
    while True:
        await asyncio.sleep(seconds)
        await auditor.run()
