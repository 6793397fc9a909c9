"""A bot at a table: a real client that signs in, sits down, plays, and buys in again when it is broke."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

from cardroom.client.bots.decide import Style, decide
from cardroom.client.client import Client
from cardroom.client.errors import CardroomError
from cardroom.client.following import Update
from cardroom.client.player import PlayerClient
from cardroom.client.sessions import TableSession, check, fold
from cardroom.client.view import hand_player
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import PLAYER_STATUS_FOLDED, SEAT_STATUS_SITTING_OUT, TurnView

# The answers to an action that only say that the turn has moved on.
_OVERTAKEN: Final = frozenset({"LATE_TURN", "NOT_YOUR_TURN"})


@dataclass(frozen=True, slots=True)
class BotSettings:
    """How a bot behaves around its decisions."""

    think_seconds: tuple[float, float] = (0.4, 2.5)
    """The shortest and the longest pause before an action; (0, 0) for none."""
    buy_in_big_blinds: int = 100
    """What it sits down with, kept within the table's limits and its own chips."""
    retry_seconds: float = 2.0
    """About how long it waits after a refusal."""
    style: Style = field(default_factory=Style)
    """How it plays."""


class BotObserver(Protocol):
    """Sees what a bot sees and how fast it is served, for those who show or measure a table."""

    def updated(self, table: TableSession, update: Update) -> None:
        """The bot's view of its table has moved on."""
        ...

    def acted(self, seconds: float) -> None:
        """An action was answered, after so long."""
        ...


class BotPlayer:
    """Plays at one table until it is cancelled. `hands`, `actions` and `refusals` count what it did."""

    def __init__(
        self,
        client: Client,
        table_id: str,
        name: str,
        rng: Random,
        settings: BotSettings | None = None,
        *,
        observer: BotObserver | None = None,
    ) -> None:
        """Does nothing yet; `run` does. Give each bot its own seeded `rng`. Bots may share a client's connection."""
        self._client = client
        self._table_id = table_id
        self._name = name
        self._rng = rng
        self._settings = settings or BotSettings()
        self._observer = observer
        self._player: PlayerClient | None = None
        self.hands = 0
        self.actions = 0
        self.refusals = 0
        self.last_refusal: CardroomError | None = None

    @property
    def player_id(self) -> str | None:
        """Who it is now; None before it has signed in."""
        return self._player.player_id if self._player else None

    async def run(self) -> None:
        """Sits down and plays, again and again, until it is cancelled. Waits and tries again after any refusal."""
        while True:
            try:
                player = self._player = self._player or await self._client.sign_in_as_guest(self._name)
                if await self._sit_down(player):
                    await self._play(player)
                    continue
            except CardroomError as refusal:
                self.refusals += 1
                self.last_refusal = refusal
            # Also before coming back as somebody new: a table may be too dear for everyone.
            await asyncio.sleep(self._settings.retry_seconds * (0.5 + self._rng.random()))

    async def stand_up(self) -> None:
        """Leaves the table and waits until the chips are back. Call it after `run` was cancelled."""
        if self._player is not None:
            await self._player.leave_and_wait(self._table_id)

    async def _sit_down(self, player: PlayerClient) -> bool:
        """Takes any seat. A bot that cannot pay refills; one that may not refill comes back as somebody new."""
        seating = await player.my_seat()
        if seating is not None:
            if seating.table_id == self._table_id:
                return True
            await player.leave_and_wait(seating.table_id)
        table = await player.table(self._table_id)
        balance = (await player.balance()).balance.available
        if balance < table.stakes.min_buy_in:
            balance = await self._refill(player)
        if balance < table.stakes.min_buy_in:
            self._player = None
            return False
        await player.sit_down(self._table_id, self._buy_in(table, balance))
        return True

    async def _refill(self, player: PlayerClient) -> int:
        try:
            return (await player.refill()).balance.available
        except CardroomError:
            return 0

    def _buy_in(self, table: Table, balance: int) -> int:
        wanted = self._settings.buy_in_big_blinds * table.stakes.big_blind
        return min(balance, max(table.stakes.min_buy_in, min(table.stakes.max_buy_in, wanted)))

    async def _play(self, player: PlayerClient) -> None:
        async with player.play(self._table_id) as table:
            async for update in table:
                if self._observer is not None:
                    self._observer.updated(table, update)
                self.hands += sum(1 for event in update.events if event.HasField("hand_ended"))
                if table.turn is not None:
                    await self._take_turn(table, table.turn)
                elif _is_broke(table):
                    break
                elif table.seat is not None and table.seat.status == SEAT_STATUS_SITTING_OUT:
                    await table.come_back()
            else:
                return
        await player.leave_and_wait(self._table_id)

    async def _take_turn(self, table: TableSession, turn: TurnView) -> None:
        action = self._choose(table, turn)
        shortest, longest = self._settings.think_seconds
        if longest > 0:
            await asyncio.sleep(self._rng.uniform(shortest, longest))
        began = time.perf_counter()
        try:
            await table.act(action)
            self.actions += 1
            if self._observer is not None:
                self._observer.acted(time.perf_counter() - began)
        except CardroomError as refusal:
            if refusal.reason not in _OVERTAKEN:
                raise

    def _choose(self, table: TableSession, turn: TurnView) -> Action:
        if not table.own_cards:
            return check() if turn.legal.can_check else fold()
        return decide(table.view, table.own_cards, turn.legal, self._rng, self._settings.style)


def _is_broke(table: TableSession) -> bool:
    """No chips, and none in a pot that could still be won."""
    seat = table.seat
    if seat is None or seat.stack > 0:
        return False
    player = hand_player(table.view, seat.seat)
    return table.view.hand.is_over or player is None or player.status == PLAYER_STATUS_FOLDED
