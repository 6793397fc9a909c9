"""Waiting for a seat at the terminal: the place in line, the seat that is kept and for how long, and taking it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from cardroom.cli.explain import explained
from cardroom.cli.play.commands import Wish
from cardroom.cli.play.terminal import EndOfInputError, Terminal
from cardroom.client import CardroomError, PlayerClient, WaitingSession
from cardroom.client.waiting import is_over
from cardroom.contracts.lobby.v1.lobby_pb2 import Seating, Table
from cardroom.contracts.lobby.v1.waiting_pb2 import (
    WAITING_STATE_EXPIRED,
    WAITING_STATE_LAPSED,
    WAITING_STATE_LEFT,
    WAITING_STATE_SEAT_RESERVED,
    WAITING_STATE_TABLE_CLOSED,
    WAITING_STATE_WAITING,
    WaitingEntry,
    WantedStakes,
)

_REDRAW_SECONDS: Final = 0.5
# Lines of text tell the time that is left only so often.
_TOLD_SECONDS: Final = (5, 15, 30, 60)
_ENDS: Final = {
    WAITING_STATE_LAPSED: "{} was not taken in time; it goes to the next in line.",
    WAITING_STATE_TABLE_CLOSED: "{} was closed.",
    WAITING_STATE_EXPIRED: "In 12 hours there was no seat for you at {}.",
    WAITING_STATE_LEFT: "You no longer wait for {}.",
}

ChipsFor = Callable[[int], Awaitable[int]]
"""How many Play Chips there are, after a refill if they are fewer than what is needed."""


class WaitingRoom:
    """One person who waits, at one terminal."""

    def __init__(self, player: PlayerClient, terminal: Terminal, chips_for: ChipsFor) -> None:
        """Does nothing yet; `run` does."""
        self._player = player
        self._terminal = terminal
        self._chips_for = chips_for
        self._tables: dict[str, Table] = {}
        self._available = 0
        self._told: set[tuple[str, int]] = set()

    async def run(self) -> Seating | None:
        """Wait until the player sits; None when there is nothing to wait for any more, or they wait no more."""
        async with self._player.watch_my_waiting() as session:
            step = asyncio.ensure_future(anext(session))
            typed = asyncio.ensure_future(self._terminal.read())
            try:
                while True:
                    done, _ = await asyncio.wait(
                        {step, typed}, timeout=_REDRAW_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    if step in done:
                        step.result()
                        step = asyncio.ensure_future(anext(session))
                        await self._take_in(session)
                    if typed in done:
                        line = typed.result()
                        typed = asyncio.ensure_future(self._terminal.read())
                        seating = await self._obey(line, session)
                        if seating is not None:
                            return seating
                    if session.is_connected and all(map(is_over, session.entries)):
                        # They may have ended while something else was awaited.
                        await self._take_in(session)
                        return None
                    if session.is_connected:
                        self._show(session)
            finally:
                self._terminal.hide()
                for task in (step, typed):
                    task.cancel()
                await asyncio.gather(step, typed, return_exceptions=True)

    async def _take_in(self, session: WaitingSession) -> None:
        """Say what has ended, and look at the table of a seat that is kept."""
        for entry in session.entries:
            table_id = entry.table_id or entry.reserved.table_id
            if table_id and table_id not in self._tables:
                await self._look_at(table_id)
            if (entry.entry_id, entry.state) in self._told:
                continue
            self._told.add((entry.entry_id, entry.state))
            if entry.state in _ENDS:
                self._terminal.say(_ENDS[entry.state].format(_what(entry, self._tables)))
            elif entry.state == WAITING_STATE_SEAT_RESERVED:
                await self._count_chips(entry)

    async def _count_chips(self, kept: WaitingEntry) -> None:
        table = self._tables.get(kept.reserved.table_id)
        if table is not None:
            self._available = await self._chips_for(table.stakes.min_buy_in)

    async def _look_at(self, table_id: str) -> None:
        try:
            self._tables[table_id] = await self._player.table(table_id)
        except CardroomError as error:
            if error.reason != "TABLE_UNKNOWN":
                raise

    async def _obey(self, line: str | None, session: WaitingSession) -> Seating | None:
        if line is None:
            self._terminal.say("You keep your place in line: run `cardroom play` again to go on waiting.")
            raise EndOfInputError
        text, kept = line.strip().lower().replace(",", ""), session.seat_kept()
        if text == Wish.LEAVE.value:
            for entry in session.entries:
                if not is_over(entry):
                    await self._player.leave_waiting_list(entry.entry_id)
        elif kept is None:
            self._terminal.say("You wait for a seat: q leaves the line.")
        elif not text:
            table = self._tables[kept.reserved.table_id]
            return await self._sit_down(kept, min(table.stakes.max_buy_in, self._available))
        elif text.isdecimal():
            return await self._sit_down(kept, int(text[:18]))
        else:
            self._terminal.say(f"{line!r} is not a number.")
        return None

    async def _sit_down(self, kept: WaitingEntry, buy_in: int) -> Seating | None:
        try:
            return await self._player.sit_down(kept.reserved.table_id, buy_in)
        except CardroomError as error:
            self._terminal.say(explained(error))
            await self._count_chips(kept)
            return None

    def _show(self, session: WaitingSession) -> None:
        entries = [entry for entry in session.entries if not is_over(entry)]
        tables, available = self._tables, self._available

        def draw(typed: str, log: list[str]) -> RenderableType:
            lines = sentences(entries, tables, available, session.seconds_left)
            parts = [Text("\n".join(log), style="dim"), Text("\n".join(lines), style="bold"), Text(f"> {typed}▏")]
            return Panel(Group(*parts), title="Waiting for a seat", box=box.ROUNDED)

        coarse = sentences(entries, tables, available, lambda entry: in_steps(session.seconds_left(entry)))
        self._terminal.show(draw, "\n".join(coarse))


def sentences(
    entries: Iterable[WaitingEntry],
    tables: dict[str, Table],
    available: int,
    seconds_left: Callable[[WaitingEntry], float],
) -> list[str]:
    """What the player waits for, one line each, and what they may type."""
    told, may = [], "q leaves the line."
    for entry in entries:
        what = _what(entry, tables)
        if entry.state == WAITING_STATE_WAITING:
            told.append(f"You are number {entry.position} in line for {what}.")
        elif entry.state == WAITING_STATE_SEAT_RESERVED:
            told.append(f"{what} is kept for you for {int(seconds_left(entry) + 0.999)} s.")
            table = tables.get(entry.reserved.table_id)
            if table is not None:
                least, most = table.stakes.min_buy_in, min(table.stakes.max_buy_in, available)
                may = f"How many chips do you bring, {least:,} to {most:,}? [{most:,}] (q gives it up)"
        else:
            told.append(f"{what} is yours; the chips are on their way.")
    return [*told, may]


def in_steps(seconds: float) -> float:
    """The time that is left, rounded up so that a line is worth telling."""
    return next((step for step in _TOLD_SECONDS if seconds <= step), seconds)


def stakes_in_words(stakes: WantedStakes) -> str:
    """`10/20`, `10/20 with 6 seats`."""
    seats = f" with {stakes.seats} seats" if stakes.seats else ""
    return f"{stakes.small_blind:,}/{stakes.big_blind:,}{seats}"


def _what(entry: WaitingEntry, tables: dict[str, Table]) -> str:
    """What is waited for: the kept seat, or else the list."""
    if entry.HasField("reserved"):
        table = tables.get(entry.reserved.table_id)
        return f"Seat {entry.reserved.seat} of {table.name if table else 'the table'}"
    if entry.HasField("stakes"):
        return f"any table at {stakes_in_words(entry.stakes)}"
    table = tables.get(entry.table_id)
    return table.name if table else "the table"
