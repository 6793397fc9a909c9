"""A person's evening: sign in, choose a table, sit down, play, leave."""

from __future__ import annotations

import asyncio
import time

from rich.console import RenderableType

from cardroom.cli.explain import explained
from cardroom.cli.play.arriving import Arrival, Choices
from cardroom.cli.play.clock import seconds
from cardroom.cli.play.commands import HELP, Misunderstood, MoreChips, Move, Wish, understand
from cardroom.cli.play.guest_file import GuestFile
from cardroom.cli.play.narrator import Narrator, pretty
from cardroom.cli.play.picture import Prompt, Situation, picture
from cardroom.cli.play.terminal import EndOfInputError, Terminal
from cardroom.client import CardroomError, Client, PlayerClient, TableSession, UnauthenticatedError, Update
from cardroom.contracts.lobby.v1.lobby_pb2 import TOP_UP_STATE_WAITING

_REDRAW_SECONDS = 0.5
# A table that moves, or a stream that is opened anew, is no news yet.
_LOST_AFTER_SECONDS = 2.0


class Game:
    """Drives the client for one person at one terminal."""

    def __init__(self, client: Client, guest_file: GuestFile, choices: Choices, terminal: Terminal) -> None:
        """Does nothing yet; `run` does."""
        self._client = client
        self._guest_file = guest_file
        self._choices = choices
        self._terminal = terminal
        self._narrator = Narrator()
        self._prompt = Prompt()
        self._clock_ahead = 0.0
        self._heard_at = 0.0
        self._is_lost = False
        self._is_leaving = False
        self._has_seat = False

    async def run(self) -> None:
        """Plays until the person leaves or stops typing. The seat is kept unless they leave."""
        player = await self._sign_in()
        try:
            arrival = Arrival(player, self._choices, self._terminal)
            table_id = await arrival.find_seat()
            self._has_seat = True
            while await self._play(player, table_id):
                self._terminal.hide()
                if not await arrival.sit_down_again(table_id):
                    table_id = await arrival.find_seat()
                self._has_seat = True
        except EndOfInputError:
            self._say_what_is_kept()
        except asyncio.CancelledError:
            self._say_what_is_kept()
            raise

    def _say_what_is_kept(self) -> None:
        if self._has_seat:
            self._terminal.say("Your seat is kept for a while: run `cardroom play` again to come back to it.")

    async def _sign_in(self) -> PlayerClient:
        kept = self._guest_file.load()
        player = None
        if kept is not None:
            try:
                player = await self._client.resume(kept, on_change=self._guest_file.save)
            except UnauthenticatedError:
                self._terminal.say("The guest of last time is not known here any more; you get a new one.")
        if player is None:
            player = await self._client.sign_in_as_guest(self._choices.name, on_change=self._guest_file.save)
        balance = await player.balance()
        self._terminal.say(f"You are {player.display_name}, with {balance.balance.available:,} Play Chips.")
        return player

    async def _play(self, player: PlayerClient, table_id: str) -> bool:
        """Plays until the player has left the table. True when they left to buy in again."""
        self._heard_at, self._is_lost = 0.0, False
        async with player.play(table_id) as table:
            following = asyncio.ensure_future(self._follow(table))
            drawing = asyncio.ensure_future(self._redraw(table))
            typing = asyncio.ensure_future(self._obey(player, table))
            tasks = (following, drawing, typing)
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if following.done() and not typing.done() and not self._is_leaving:
                    following.result()
                    self._has_seat = False
                    self._terminal.say("You have left the table.")
                    return False
                if drawing.done():
                    drawing.result()
                return await typing
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, table: TableSession) -> None:
        told_hand = 0
        async for update in table:
            self._set_clock(update)
            for line in self._narrator.lines(table.view, update):
                self._terminal.say(line)
            if table.own_cards and told_hand != table.view.hand.hand_number:
                told_hand = table.view.hand.hand_number
                self._terminal.say(f"Your cards: {pretty(table.own_cards)}")
            self._show(table)

    async def _redraw(self, table: TableSession) -> None:
        """Lets the clock tick, and says when there is no connection any more."""
        while True:
            await asyncio.sleep(_REDRAW_SECONDS)
            self._look_at_connection(table)
            if table.view.version:
                self._show(table)

    def _look_at_connection(self, table: TableSession) -> None:
        now = time.monotonic()
        if table.is_connected or not self._heard_at:
            self._heard_at = now
        is_lost = now - self._heard_at > _LOST_AFTER_SECONDS
        if is_lost != self._is_lost:
            self._is_lost = is_lost
            self._terminal.say("The connection is lost; trying again." if is_lost else "The connection is back.")

    def _show(self, table: TableSession) -> None:
        def situation() -> Situation:
            now = time.time() + self._clock_ahead
            return Situation(table.view, table.own_cards, table.player_id, now, is_connected=not self._is_lost)

        def draw(typed: str, log: list[str]) -> RenderableType:
            return picture(situation(), typed, log)

        self._terminal.show(draw, self._prompt.line(situation(), is_asked=table.turn is not None))

    def _set_clock(self, update: Update) -> None:
        """The server's clock may differ from ours: a turn that has just begun tells by how much."""
        for event in update.events:
            if event.HasField("turn_started"):
                self._clock_ahead = seconds(event.turn_started.started_at) - time.time()

    async def _obey(self, player: PlayerClient, table: TableSession) -> bool:
        """Does what is typed. True when the player leaves to buy in again, False when they leave."""
        while True:
            typed = await self._terminal.read()
            if typed is None:
                raise EndOfInputError
            if not typed.strip():
                continue
            turn = table.turn
            wish = understand(typed, turn.legal if turn is not None else None)
            try:
                if isinstance(wish, Move):
                    if wish.note:
                        self._terminal.say(wish.note)
                    await table.act(wish.action)
                elif isinstance(wish, Misunderstood):
                    self._terminal.say(wish.sentence)
                elif isinstance(wish, MoreChips):
                    await self._top_up(player, table, wish.amount)
                elif wish in {Wish.LEAVE, Wish.NEW_BUY_IN}:
                    return await self._leave(player, table, buys_in_again=wish is Wish.NEW_BUY_IN)
                else:
                    await self._do(wish, table)
            except CardroomError as error:
                self._terminal.say(explained(error))

    async def _do(self, wish: Wish, table: TableSession) -> None:
        if wish is Wish.SIT_OUT:
            await table.sit_out()
        elif wish is Wish.BACK:
            await table.come_back()
        else:
            self._terminal.say(HELP)

    async def _top_up(self, player: PlayerClient, table: TableSession, amount: int) -> None:
        most = table.view.stakes.max_buy_in
        answer = await player.top_up(table.table_id, amount or min(most, (await player.balance()).balance.available))
        if answer.state == TOP_UP_STATE_WAITING:
            self._terminal.say(f"Up to {answer.amount:,} chips come when the hand is over.")
        elif answer.added:
            self._terminal.say(f"{answer.added:,} chips were added to your stack.")
        else:
            self._terminal.say(f"Nothing was added: a stack is topped up to {most:,}.")

    async def _leave(self, player: PlayerClient, table: TableSession, *, buys_in_again: bool) -> bool:
        self._terminal.say("You are leaving; your chips come back when the hand is over.")
        self._is_leaving = True
        try:
            chips = await player.leave_and_wait(table.table_id)
        finally:
            self._is_leaving = False
        self._has_seat = False
        self._terminal.say(f"You have left the table with {chips:,}.")
        return buys_in_again
