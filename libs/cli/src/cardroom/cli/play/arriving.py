"""From the door to a seat: choosing a table or stakes, bringing chips, sitting down, or waiting for a seat."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from cardroom.cli.play.commands import Wish
from cardroom.cli.play.terminal import EndOfInputError, Terminal
from cardroom.cli.play.waiting import WaitingRoom, stakes_in_words
from cardroom.client import CardroomError, PlayerClient, wanted_stakes
from cardroom.client.waiting import is_over
from cardroom.contracts.lobby.v1.lobby_pb2 import Seating, Table
from cardroom.contracts.lobby.v1.waiting_pb2 import WantedStakes

_STAKES: Final = re.compile(r"(\d{1,15})/(\d{1,15})")
_FULL: Final = frozenset({"TABLE_FULL", "STAKES_FULL"})
_ANOTHER_BUY_IN: Final = frozenset({"BUY_IN_OUT_OF_RANGE", "TOO_FEW_CHIPS"})


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen on the command line; empty means: ask."""

    name: str
    table: str
    buy_in: int | None
    seat: int


class Arrival:
    """One person on the way to a seat."""

    def __init__(self, player: PlayerClient, choices: Choices, terminal: Terminal) -> None:
        """Does nothing yet; `find_seat` does."""
        self._player = player
        self._choices = choices
        self._terminal = terminal

    async def find_seat(self) -> str:
        """The table where the player sits, or sits down now. Raises EndOfInputError."""
        seating = await self._player.my_seat()
        if seating is not None:
            self._terminal.say(f"You are back on seat {seating.seat}.")
            return seating.table_id
        table_id = "" if all(map(is_over, await self._player.my_waiting())) else await self._wait()
        while not table_id:
            choice = await self._choose()
            if isinstance(choice, Table):
                table_id = await self._sit_down_or_wait(choice)
            else:
                table_id = await self._sit_down_anywhere(choice)
        return table_id

    async def sit_down_again(self, table_id: str) -> bool:
        """Asks for a buy-in and sits down at the same table. False when the table refuses for good."""
        return await self._sit_down(await self._player.table(table_id)) == ""

    async def _choose(self) -> Table | WantedStakes:
        while True:
            tables = await self._player.tables()
            if not tables:
                raise CardroomError("NO_TABLES", "No table is open here.")
            wanted = self._choices.table
            if not wanted:
                for number, table in enumerate(tables, start=1):
                    self._terminal.say(_offer_of(number, table))
                stakes = stakes_in_words(_stakes_of(tables[0]))
                question = (
                    f"Which table, 1 to {len(tables)}? Or stakes, such as {stakes}, for the fullest one. (q quits)"
                )
                wanted = await self._ask(question)
            for number, table in enumerate(tables, start=1):
                if wanted.strip().lower() in {str(number), table.name.lower(), table.table_id}:
                    return table
                blinds = _STAKES.fullmatch(wanted.strip())
                if blinds and (int(blinds[1]), int(blinds[2])) == (table.stakes.small_blind, table.stakes.big_blind):
                    return _stakes_of(table)
            self._terminal.say(f"There is no table {wanted!r}.")
            self._choices = replace(self._choices, table="")

    async def _sit_down_or_wait(self, table: Table) -> str:
        refused = await self._sit_down(table)
        if not refused:
            return table.table_id
        if refused not in _FULL:
            return ""
        stakes = _stakes_of(table)
        answer = await self._ask(
            f"w waits for a seat at {table.name}, s for one at any table at {stakes_in_words(stakes)}; "
            "Enter shows the tables."
        )
        where: dict[str, str | WantedStakes] = {"w": table.table_id, "s": stakes}
        choice = where.get(answer.strip().lower())
        return await self._join(choice) if choice else ""

    async def _sit_down(self, table: Table) -> str:
        """Asks for a buy-in and sits down: nothing, or the reason why the table refuses for good."""
        stakes = table.stakes
        while True:
            buy_in = await self._chips(table.name, stakes.min_buy_in, stakes.max_buy_in)
            if buy_in is None:
                return "TOO_FEW_CHIPS"
            try:
                seating = await self._player.sit_down(table.table_id, buy_in, seat=self._choices.seat)
            except CardroomError as error:
                self._refused(error)
                if error.reason in _ANOTHER_BUY_IN | {"SEAT_TAKEN"}:
                    continue
                return error.reason
            self._seated(seating, table.name)
            return ""

    async def _sit_down_anywhere(self, stakes: WantedStakes) -> str:
        """At the fullest table with these stakes; or in line for one."""
        tables = [table for table in await self._player.tables() if _stakes_of(table) == stakes]
        least = min((table.stakes.min_buy_in for table in tables), default=0)
        most = max((table.stakes.max_buy_in for table in tables), default=0)
        while True:
            buy_in = await self._chips(stakes_in_words(stakes), least, most)
            if buy_in is None:
                return ""
            try:
                seating = await self._player.quick_seat(stakes, buy_in)
            except CardroomError as error:
                self._refused(error)
                if error.reason in _ANOTHER_BUY_IN:
                    continue
                if error.reason not in _FULL:
                    return ""
                break
            return self._seated(seating, (await self._player.table(seating.table_id)).name)
        answer = await self._ask(f"w waits for a seat at {stakes_in_words(stakes)}; Enter shows the tables.")
        return await self._join(stakes) if answer.strip().lower() == "w" else ""

    async def _join(self, where: str | WantedStakes) -> str:
        try:
            await self._player.join_waiting_list(where)
        except CardroomError as error:
            self._refused(error)
            return ""
        return await self._wait()

    async def _wait(self) -> str:
        """The table where the wait has brought the player to a seat, or nothing."""
        seating = await WaitingRoom(self._player, self._terminal, self._available).run()
        # A seat may also have been taken from elsewhere.
        seating = seating or await self._player.my_seat()
        if seating is None:
            return ""
        return self._seated(seating, (await self._player.table(seating.table_id)).name)

    def _seated(self, seating: Seating, name: str) -> str:
        self._terminal.say(f"You sit on seat {seating.seat} of {name} with {seating.buy_in:,}.")
        return seating.table_id

    def _refused(self, error: CardroomError) -> None:
        self._terminal.say(error.message)
        self._choices = Choices(self._choices.name, "", None, 0)

    async def _chips(self, where: str, least: int, most: int) -> int | None:
        """How many the player brings; None when they have too few."""
        available = await self._available(least)
        if available < least:
            self._terminal.say(f"{where} takes {least:,} Play Chips or more, and you have {available:,}.")
            self._choices = Choices(self._choices.name, "", None, 0)
            return None
        return self._choices.buy_in or await self._ask_buy_in(least, min(most, available), available)

    async def _available(self, least: int) -> int:
        """The player's chips, after a refill if they are fewer than `least`."""
        available = (await self._player.balance()).balance.available
        return available if available >= least else await self._refill()

    async def _refill(self) -> int:
        try:
            balance = (await self._player.refill()).balance.available
            self._terminal.say(f"Your Play Chips were refilled to {balance:,}.")
        except CardroomError as error:
            self._terminal.say(error.message)
            balance = (await self._player.balance()).balance.available
        return balance

    async def _ask_buy_in(self, least: int, most: int, available: int) -> int:
        while True:
            answer = await self._ask(
                f"How many chips do you bring, {least:,} to {most:,}? You have {available:,}. [{most:,}]"
            )
            digits = answer.replace(",", "").strip()
            if not digits:
                return most
            if digits.isdecimal():
                return int(digits)
            self._terminal.say(f"{answer!r} is not a number.")

    async def _ask(self, question: str) -> str:
        self._terminal.say(question)
        line = await self._terminal.read()
        if line is None or line.strip().lower() == Wish.LEAVE.value:
            raise EndOfInputError
        return line


def _stakes_of(table: Table) -> WantedStakes:
    stakes = table.stakes
    return wanted_stakes(stakes.small_blind, stakes.big_blind, ante=stakes.ante, game=stakes.game)


def _offer_of(number: int, table: Table) -> str:
    stakes = table.stakes
    waiting = f"  {table.waiting} waiting" if table.waiting else ""
    return (
        f"{number:>2}  {table.name}  {stakes.small_blind:,}/{stakes.big_blind:,}  "
        f"{table.seats_taken} of {stakes.seats} seated{waiting}  buy-in {stakes.min_buy_in:,}-{stakes.max_buy_in:,}  "
        f"avg pot {table.average_pot:,}  {table.hands_per_hour} hands/h"
    )
