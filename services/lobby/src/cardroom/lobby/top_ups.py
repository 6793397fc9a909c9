"""Topping up: what players ask, and the steps that bring the chips to the table (rule 10.4)."""

from __future__ import annotations

from typing import Final

from cardroom.lobby.domain import topping_up
from cardroom.lobby.domain.topping_up import Call, TopUp
from cardroom.lobby.errands import Errands
from cardroom.lobby.errors import BrokenPromise, LobbyError, NotNow, Overtaken, Refused
from cardroom.lobby.neighbours import Tables, Wallet
from cardroom.lobby.saga import Wake, backoff, report
from cardroom.lobby.top_up_store import TopUpRequest, TopUpStore

PATIENCE_SECONDS: Final = 5.0
ADD_TRIES: Final = 3


class TopUpSaga:
    """Moves a claimed top-up on until it is over or must wait."""

    def __init__(self, store: TopUpStore, wallet: Wallet, tables: Tables) -> None:
        self._store = store
        self._wallet = wallet
        self._tables = tables
        self.wake_in: Wake = lambda seconds: None

    async def advance(self, top_up: TopUp) -> None:
        """Take every step that can be taken now; write down each before the next."""
        while (call := topping_up.due(top_up)) is not None:
            try:
                top_up = await self._store.save(await self._take(top_up, call))
            except (NotNow, BrokenPromise) as why:
                if await self._postponed(top_up, call, why):
                    return
                top_up = await self._store.read(top_up.top_up_id)
            except Overtaken:
                top_up = await self._store.read(top_up.top_up_id)

    async def _take(self, top_up: TopUp, call: Call) -> TopUp:
        try:
            return await self._ask(top_up, call)
        except Refused as no:
            return topping_up.refused(top_up, no.refusal)

    async def _ask(self, top_up: TopUp, call: Call) -> TopUp:
        match call:
            case Call.PLACE_HOLD:
                return topping_up.hold_placed(top_up, await self._wallet.hold_top_up(top_up))
            case Call.TELL_TABLE:
                return topping_up.table_told(top_up, await self._tables.top_up(top_up))
            case Call.POST_HOLD:
                await self._wallet.post_top_up(top_up)
                return topping_up.hold_posted(top_up)
            case Call.VOID_HOLD:
                await self._wallet.void_top_up(top_up)
                return topping_up.hold_voided(top_up)

    async def _postponed(self, top_up: TopUp, call: Call, why: LobbyError) -> bool:
        wait = backoff(top_up.attempts)
        report(why, call=call, top_up_id=top_up.top_up_id)
        try:
            await self._store.postpone(top_up, wait)
        except Overtaken:
            return False
        self.wake_in(wait.total_seconds())
        return True


class TopUps:
    """What players ask about more chips."""

    def __init__(self, store: TopUpStore, errands: Errands[TopUp]) -> None:
        self._store = store
        self._errands = errands

    async def top_up(self, ask: TopUpRequest) -> TopUp:
        """Return the top-up once the table knows of it. Raises Refused, or NotNow while it does not."""
        top_up, is_new = await self._add(ask)
        if is_new:
            await self._errands.wait(self._errands.begin(top_up), PATIENCE_SECONDS)
        elif not top_up.is_known_to_the_table:
            await self._errands.run(top_up.top_up_id, PATIENCE_SECONDS)
        top_up = await self._store.read(top_up.top_up_id)
        if top_up.refusal is not None:
            raise Refused(top_up.refusal)
        if not top_up.is_known_to_the_table:
            raise NotNow(f"{top_up.amount} chips are on their way to table {top_up.table_id}")
        return top_up

    async def _add(self, ask: TopUpRequest) -> tuple[TopUp, bool]:
        for _ in range(ADD_TRIES):
            try:
                return await self._store.add(ask)
            except Overtaken:
                continue
        raise NotNow(f"request {ask.request_id} is being answered elsewhere")

    async def finish(self, seating_id: str) -> bool:
        """Return whether a stay has no top-up left that is not over; what there is is looked at now."""
        unfinished = await self._store.wake_of_stay(seating_id)
        for top_up_id in unfinished:
            await self._errands.run(top_up_id, PATIENCE_SECONDS)
        return not unfinished or not await self._store.wake_of_stay(seating_id)
