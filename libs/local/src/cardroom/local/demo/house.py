"""The demo's house: three tables at different stakes, bots in all seats but two. The lobby opens more as needed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from random import Random

from cardroom.client import CardroomError, Client, TableSession, Update
from cardroom.client.bots import BotPlayer, BotSettings
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.local.demo.screen import Screen
from cardroom.local.demo.totals import Totals

_STAKES = (("Larch", 1), ("Maple", 5), ("Cedar", 25))
_SEATS = 6
# When the last free seat is taken the lobby opens another table, and closes it when it is empty and not needed.
STAKES = tuple(
    {
        "name": name,
        "small_blind": small_blind,
        "seats": _SEATS,
        "min_buy_in": 40 * small_blind,
        "max_buy_in": 200 * small_blind,
        "open_seats_min": 1,
        "tables_max": 3,
    }
    for name, small_blind in _STAKES
)
"""What the lobby of a demo is told to have tables at, as its settings take it."""
_OPEN_SECONDS = 60.0
_FREE_SEATS = 2  # for whoever is watching, and for a bot of theirs
_NAMES = (
    *("Ada", "Bela", "Cleo", "Dario", "Edda", "Farid", "Greta", "Hugo"),
    *("Ines", "Jona", "Kaya", "Leif", "Mira", "Nils", "Olga", "Pavel"),
)
_STAND_UP_SECONDS = 90.0


class House:
    """Finds the tables, seats the bots, and sends them home."""

    def __init__(self, client: Client, totals: Totals, *, bot: BotSettings) -> None:
        """Every bot plays through `client`'s connection."""
        self.tables: list[Table] = []
        self._client = client
        self._totals = totals
        self._settings = bot
        self._bots: list[BotPlayer] = []
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def last_refusal(self) -> CardroomError | None:
        """The last thing that a bot was refused; a hint when nothing moves."""
        refusals = [bot.last_refusal for bot in self._bots if bot.last_refusal is not None]
        return refusals[-1] if refusals else None

    async def find_tables(self) -> None:
        """Wait until the lobby has opened the three tables."""
        guest = await self._client.sign_in_as_guest("House")
        async with asyncio.timeout(_OPEN_SECONDS), guest.watch_tables() as offer:
            async for _ in offer:
                by_name = {table.name: table for table in offer.in_order}
                if all(name in by_name for name, _ in _STAKES):
                    break
        self.tables = [by_name[name] for name, _ in _STAKES]

    def seat_bots(self, screen: Screen) -> None:
        """Let the bots come in; the second table is the one that `screen` shows."""
        names = itertools.cycle(_NAMES)
        for number, table in enumerate(self.tables):
            scribe = _Scribe(table.table_id, self._totals, screen if number == 1 else None)
            for _ in range(_SEATS - _FREE_SEATS):
                bot = BotPlayer(
                    self._client,
                    table.table_id,
                    next(names),
                    Random(len(self._bots)),  # noqa: S311  (how a bot plays is no secret)
                    self._settings,
                    observer=scribe,
                )
                self._bots.append(bot)
                self._tasks.append(asyncio.create_task(bot.run()))

    def failed(self) -> None:
        """Raise what made a bot give up, if one did."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    async def send_home(self) -> None:
        """Let every bot stop playing, leave its table and take its chips."""
        await self.stop()
        async with asyncio.timeout(_STAND_UP_SECONDS):
            await asyncio.gather(*(_stand_up(bot) for bot in self._bots))

    async def stop(self) -> None:
        """Let every bot stop where it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Scribe:
    """Counts one table's hands and actions for the totals, and shows it if it is the one that is shown."""

    def __init__(self, table_id: str, totals: Totals, screen: Screen | None) -> None:
        self._table_id = table_id
        self._totals = totals
        self._screen = screen
        self._version = 0

    def updated(self, table: TableSession, update: Update) -> None:
        """Every bot of the table tells the same; each version counts once."""
        if update.version <= self._version:
            return
        self._version = update.version
        for event in update.events:
            if event.HasField("hand_ended"):
                self._totals.hand_ended(self._table_id, event.hand_ended.hand_number)
        if self._screen is not None:
            self._screen.table(table.view, update.events)

    def acted(self, seconds: float) -> None:
        """An action was answered."""
        self._totals.acted(seconds)


async def _stand_up(bot: BotPlayer) -> None:
    with contextlib.suppress(CardroomError):  # it stood already; whether any chip is still out, the audit says
        await bot.stand_up()
