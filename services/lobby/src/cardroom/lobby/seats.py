"""Sitting down, leaving, and where a player sits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.seating import Seating, Step
from cardroom.lobby.errands import Errands
from cardroom.lobby.errors import LineComesFirst, NotNow, Overtaken, Refused
from cardroom.lobby.store import SeatingStore, SitRequest

PATIENCE_SECONDS: Final = 5.0
# Who leaves need not wait for it: the answer says how far it is, and it goes on by itself.
LEAVING_SECONDS: Final = 2.0
# A settlement of the last hand is usually a few milliseconds behind.
SETTLEMENT_LOOKS: Final = 4
SETTLEMENT_LOOK_SECONDS: Final = 0.1
RESERVE_TRIES: Final = 3


async def _nobody_waits() -> None:
    return None


class Seats:
    """What players ask about their own seat."""

    def __init__(self, store: SeatingStore, errands: Errands[Seating]) -> None:
        self._store = store
        self._errands = errands
        self.serve_line: Callable[[], Awaitable[None]] = _nobody_waits
        """Gives those who wait what is theirs, before somebody else takes a free seat."""

    async def sit_down(self, ask: SitRequest) -> Seating:
        """Return the stay once the player sits. Raises Refused, or NotNow while it is neither begun nor undone."""
        seating, is_new = await self._reserve(ask)
        if is_new:
            await self._errands.wait(self._errands.begin(seating), PATIENCE_SECONDS)
            return _answer(await self._store.read(seating.seating_id))
        return await self.finish(seating)

    async def finish(self, seating: Seating) -> Seating:
        """Return a stay that was begun before, as `sit_down` does."""
        if not _is_answer(seating):
            await self._errands.run(seating.seating_id, PATIENCE_SECONDS)
            seating = await self._store.read(seating.seating_id)
        return _answer(seating)

    async def _reserve(self, ask: SitRequest) -> tuple[Seating, bool]:
        for tries_left in reversed(range(RESERVE_TRIES)):
            try:
                return await self._store.reserve(ask, line_is_served=tries_left == 0)
            except LineComesFirst:
                await self.serve_line()
            except Overtaken:
                continue
        raise NotNow(f"request {ask.request_id} is being answered elsewhere")

    async def leave(self, player_id: str, table_id: str, seating_id: str | None = None) -> Seating:
        """Return how far the player's leaving of this table is. Raises Refused when they do not sit there.

        With a stay named, only that one ends: a request that comes late leaves a later stay alone.
        """
        seating = await self._store.ask_to_leave(player_id, table_id, seating_id)
        if seating is None:
            past = await self._store.left_recently(player_id, table_id, seating_id)
            if past is None:
                raise Refused(refusals.not_seated(table_id))
            return past
        give_up = time.monotonic() + LEAVING_SECONDS
        for look in range(SETTLEMENT_LOOKS):
            await self._errands.run(seating.seating_id, give_up - time.monotonic())
            seating = await self._store.read(seating.seating_id)
            pause = SETTLEMENT_LOOK_SECONDS * (look + 1)
            if seating.step is not Step.CASHING_OUT or time.monotonic() + pause > give_up:
                break
            await asyncio.sleep(pause)
        return seating

    async def where(self, player_id: str) -> Seating | None:
        """Return the player's stay, or None when they sit nowhere."""
        return await self._store.active(player_id)


def _is_answer(seating: Seating) -> bool:
    """Whether the request to sit down has its outcome."""
    return seating.step in {Step.SEATED, Step.LEAVING, Step.CASHING_OUT, Step.OVER}


def _answer(seating: Seating) -> Seating:
    if seating.step is Step.OVER and seating.refusal is not None:
        raise Refused(seating.refusal)
    if not _is_answer(seating):
        raise NotNow(f"seat {seating.seat} of table {seating.table_id} is reserved, the chips are on their way")
    return seating
