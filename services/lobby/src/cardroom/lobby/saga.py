"""Drives stays and tables: asks the domain what is due, asks the neighbour, writes the answer down, and again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from prometheus_client import Counter

from cardroom.chassis import logs
from cardroom.lobby.domain import seating as stays
from cardroom.lobby.domain.seating import Call, Seating, Step
from cardroom.lobby.domain.tables import Table, TableState
from cardroom.lobby.errors import BrokenPromise, LobbyError, NotNow, Overtaken, Refused
from cardroom.lobby.neighbours import Tables, TimeBanks, Wallet
from cardroom.lobby.store import SeatingStore, TableStore

FIRST_WAIT: Final = timedelta(milliseconds=100)
LONGEST_WAIT: Final = timedelta(seconds=10)

SEATINGS_ENDED: Final = Counter(
    "cardroom_lobby_seatings_ended_total", "Stays that are over, by how: left, or the refusal's reason.", ["how"]
)
SEATINGS_BEGUN: Final = Counter("cardroom_lobby_seatings_begun_total", "Players who were seated.")
ERRANDS_POSTPONED: Final = Counter(
    "cardroom_lobby_errands_postponed_total", "Steps that could not be taken yet, by call and why.", ["call", "why"]
)

log = logs.get("saga")

Wake = Callable[[float], None]
TopUpsAreOver = Callable[[str], Awaitable[bool]]


async def _no_top_ups(_: str) -> bool:
    return True


def backoff(attempts: int) -> timedelta:
    """Return how long to wait after this many attempts in a row."""
    doublings = min(attempts, 16)
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)


class SeatingSaga:
    """Moves a claimed stay on until it rests or must wait."""

    def __init__(
        self, store: SeatingStore, wallet: Wallet, tables: Tables, banks: TimeBanks, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._wallet = wallet
        self._tables = tables
        self._banks = banks
        self._now = now
        self.wake_in: Wake = lambda seconds: None
        self.rests: Callable[[], None] = lambda: None
        """Called when a stay rests: its player sits, or its seat is free."""
        self.top_ups_are_over: TopUpsAreOver = _no_top_ups

    async def advance(self, seating: Seating) -> None:
        """Take every step that can be taken now; write down each before the next."""
        while True:
            seating = stays.turned(seating, self._now())
            call = stays.due(seating)
            if call is None:
                return
            try:
                seating = await self._take(seating, call)
            except (NotNow, BrokenPromise) as why:
                if await self._postponed(seating, call, why):
                    return
                seating = await self._store.read(seating.seating_id)
            except Overtaken:
                seating = await self._store.read(seating.seating_id)

    async def _take(self, seating: Seating, call: Call) -> Seating:
        try:
            moved = await self._ask(seating, call)
        except Refused as no:
            moved = stays.refused(seating, no.refusal)
        at_rest = stays.due(stays.turned(moved, self._now())) is None
        saved = await self._store.save(moved, at_rest=at_rest)
        _count(saved)
        if at_rest:
            self.rests()
        return saved

    async def _ask(self, seating: Seating, call: Call) -> Seating:
        match call:
            case Call.PLACE_HOLD:
                return stays.hold_placed(seating, await self._wallet.place_hold(seating))
            case Call.SEAT_PLAYER:
                bank = await self._banks.bank(seating.player_id)
                return stays.seat_given(seating, await self._tables.seat_player(seating, bank))
            case Call.POST_HOLD:
                await self._wallet.post_hold(seating)
                return stays.hold_posted(seating)
            case Call.END_SEATING:
                return stays.end_told(seating, await self._tables.end_seating(seating))
            case Call.VOID_HOLD:
                await self._wallet.void_hold(seating)
                return stays.hold_voided(seating)
            case Call.CASH_OUT:
                if not await self.top_ups_are_over(seating.seating_id):
                    raise NotNow(f"a top-up of seating {seating.seating_id} is not over")
                return stays.chips_returned(seating, await self._wallet.cash_out(seating))

    async def _postponed(self, seating: Seating, call: Call, why: LobbyError) -> bool:
        wait = backoff(seating.attempts)
        report(why, call=call, seating_id=seating.seating_id)
        try:
            await self._store.postpone(seating, wait)
        except Overtaken:
            return False
        self.wake_in(wait.total_seconds())
        return True


class TableSaga:
    """Opens and closes a claimed table at the table service."""

    def __init__(self, store: TableStore, tables: Tables) -> None:
        self._store = store
        self._tables = tables
        self.wake_in: Wake = lambda seconds: None

    async def advance(self, table: Table) -> None:
        """Ask the table service for what the table's state wants, once; write down the answer."""
        try:
            await self._store.save(await self._ask(table))
        except NotNow as why:
            wait = backoff(table.attempts)
            report(why, call=table.state, table_id=table.table_id)
            await self._store.postpone(table, wait)
            self.wake_in(wait.total_seconds())

    async def _ask(self, table: Table) -> Table:
        try:
            if table.state is TableState.OPENING:
                await self._tables.open_table(table)
                return replace(table, state=TableState.OPEN)
            assert table.state is TableState.CLOSING
            await self._tables.close_table(table)
            return replace(table, state=TableState.CLOSED)
        except Refused as no:
            return _after_refusal(table, no)


def _after_refusal(table: Table, no: Refused) -> Table:
    if table.state is TableState.OPENING:
        return replace(table, state=TableState.REFUSED, refusal=no.refusal)
    # Unknown there means that it is closed for good; anything else, such as players, keeps it open.
    gone = no.refusal.reason == "TABLE_UNKNOWN"
    return replace(table, state=TableState.CLOSED if gone else TableState.OPEN)


def _count(seating: Seating) -> None:
    if seating.step is Step.SEATED:
        SEATINGS_BEGUN.inc()
    elif seating.step is Step.OVER:
        SEATINGS_ENDED.labels(seating.refusal.reason if seating.refusal else "left").inc()


def report(why: LobbyError, *, call: str, **about: str) -> None:
    """Count and log why a step was not taken."""
    ERRANDS_POSTPONED.labels(call, type(why).__name__).inc()
    if isinstance(why, BrokenPromise):
        log.error("a neighbour broke its contract; trying again", call=call, why=str(why), **about)
    else:
        log.debug("not now; trying again", call=call, why=str(why), **about)
