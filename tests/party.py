"""A table full of players who do as a test says: they play through the edge, each with a client's own stream.

A party holds its players' hands at a gate, so that a fault can strike in the middle of a hand, and remembers what each
of them saw: their own cards by hand, every public event, every refusal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cardroom.client import CardroomError, Client, PlayerClient, TableSession, call, check
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.wallet.v1.ledger_pb2 import RunAuditResponse
from cardroom.local import Stack

OVERTAKEN = {"LATE_TURN", "NOT_YOUR_TURN"}
QUICK = {"CARDROOM_TABLE_PAUSE_MS": "150", "CARDROOM_TABLE_SHOWDOWN_PAUSE_MS": "250"}
"""Settings of the table service for short pauses between hands (rule 2.5 has 2 s and 5 s)."""


@dataclass(eq=False)
class Guest:
    """One player and what they have seen."""

    player: PlayerClient
    session: TableSession
    cards: dict[int, str] = field(default_factory=dict)
    """Their own hole cards, by hand number."""
    events: dict[int, list[pb.TableEvent]] = field(default_factory=dict)
    """What happened, by version."""
    refusals: list[CardroomError] = field(default_factory=list)

    @property
    def hands_ended(self) -> set[int]:
        """The hands whose end they saw."""
        return {e.hand_ended.hand_number for events in self.events.values() for e in events if e.HasField("hand_ended")}


Policy = Callable[[pb.PublicView, pb.TurnView], Action]
"""What is done at a turn, as the view stands."""


def check_or_call(_view: pb.PublicView, turn: pb.TurnView) -> Action:
    """Stay in for nothing, or for what it costs."""
    return check() if turn.legal.can_check else call()


class Party:
    """The players of one table. They follow their policy whenever the gate is open: check and call, if not told so."""

    def __init__(self, table: Table, guests: list[Guest], policy: Policy = check_or_call) -> None:
        self.table = table
        self.guests = guests
        self.policy = policy
        self.gate = asyncio.Event()
        self._acting = 0
        self._moved = asyncio.Condition()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def view(self) -> pb.PublicView:
        """The table as the first guest sees it."""
        return self.guests[0].session.view

    @property
    def actor(self) -> Guest | None:
        """Whose turn it is, as they themselves see it."""
        return next((guest for guest in self.guests if guest.session.turn is not None), None)

    def start(self) -> None:
        """Let everyone follow the table, and play while the gate is open."""
        self._tasks = [asyncio.create_task(self._follow(guest)) for guest in self.guests]
        self._tasks += [asyncio.create_task(self._play(guest)) for guest in self.guests]

    async def stop(self) -> None:
        """Let everyone stop where they are."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, what: str, holds: Callable[[], object], seconds: float = 30) -> None:
        """Wait until `holds()`, asked after every update of any guest."""
        self._check()
        try:
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: bool(holds()))
        except TimeoutError:
            self._check()
            raise AssertionError(f"not within {seconds:g} s: {what}; the table is\n{self.view}") from None

    async def until_hands(self, count: int, seconds: float = 60) -> None:
        """Wait until everyone has seen that many more hands end."""
        target = max(guest.session.view.hand.hand_number for guest in self.guests) + count
        await self.until(
            f"{count} more hands",
            lambda: all(g.session.view.hand.hand_number >= target for g in self.guests),
            seconds,
        )

    async def hold_in_the_middle_of_a_hand(self) -> Guest:
        """Close the gate once a flop lies on the board; return whose turn it is. Everyone sees the same turn."""
        self.gate.set()
        await self.until("a flop", lambda: self.view.hand.street == pb.STREET_FLOP and not self.view.hand.is_over)
        self.gate.clear()
        await self.until("everyone at the same turn", self._is_at_rest)
        actor = self.actor
        assert actor is not None
        return actor

    def _is_at_rest(self) -> bool:
        versions = {guest.session.view.version for guest in self.guests}
        return not self._acting and len(versions) == 1 and self.actor is not None and not self.view.hand.is_over

    async def leave(self) -> dict[str, int]:
        """Everyone leaves; the chips that went back, by player."""
        self.gate.set()
        chips = await asyncio.gather(
            *(g.player.leave_and_wait(self.table.table_id, poll_seconds=0.1) for g in self.guests)
        )
        await self.stop()
        return {guest.player.player_id: back for guest, back in zip(self.guests, chips, strict=True)}

    async def _follow(self, guest: Guest) -> None:
        async for update in guest.session:
            if guest.session.own_cards:
                guest.cards[guest.session.view.hand.hand_number] = guest.session.own_cards
            guest.events.setdefault(update.version, []).extend(update.events)
            async with self._moved:
                self._moved.notify_all()

    async def _play(self, guest: Guest) -> None:
        while True:
            await self.gate.wait()
            async with self._moved:
                await self._moved.wait_for(lambda: guest.session.turn is not None)
            turn = guest.session.turn
            if turn is None or not self.gate.is_set():
                continue
            self._acting += 1
            try:
                await guest.session.act(self.policy(guest.session.view, turn))
            except CardroomError as refusal:
                guest.refusals.append(refusal)
                if refusal.reason not in OVERTAKEN:
                    await asyncio.sleep(0.1)
            finally:
                self._acting -= 1
            async with self._moved:
                self._moved.notify_all()

    def _check(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled() and task.exception() is not None:
                raise AssertionError("a guest has given up") from task.exception()


@asynccontextmanager
async def party(
    stack: Stack,
    guests: int = 3,
    *,
    buy_in: int = 400,
    big_blind: int = 10,
    players: Sequence[PlayerClient] = (),
    policy: Policy = check_or_call,
) -> AsyncIterator[Party]:
    """Open a table through the lobby and seat guests at it, or these `players`; the gate is closed."""
    async with Client.connect(stack.edge_grpc) as client:
        table = await open_table(client, stack, big_blind)
        if not players:
            players = [await client.sign_in_as_guest(f"Guest {number + 1}") for number in range(guests)]
        seated = []
        for player in players:
            await player.sit_down(table.table_id, buy_in)
            seated.append(Guest(player, player.play(table.table_id)))
        made = Party(table, seated, policy)
        made.start()
        try:
            yield made
        finally:
            await made.stop()


async def open_table(
    client: Client, stack: Stack, big_blind: int = 10, *, seats: int = 6, name: str = "Party"
) -> Table:
    """A table of its own for a test."""
    operator = client.service(*stack.client_credentials("operator"))
    stakes = pb.Stakes(
        game=pb.GAME_NO_LIMIT_HOLDEM,
        small_blind=big_blind // 2,
        big_blind=big_blind,
        min_buy_in=20 * big_blind,
        max_buy_in=200 * big_blind,
        seats=seats,
    )
    return await operator.create_table(name, stakes)


async def eventually(what: str, holds: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    """Ask again and again until `holds()`; for facts that no event tells a test."""
    give_up = asyncio.get_running_loop().time() + seconds
    while not await holds():
        assert asyncio.get_running_loop().time() < give_up, f"not within {seconds:g} s: {what}"
        await asyncio.sleep(0.1)


async def audit(stack: Stack, *, seconds: float = 20) -> RunAuditResponse:
    """Prove the wallet's books, tables at rest included, once its queue is empty."""
    async with Client.connect(stack.edge_grpc) as client:
        operator = client.service(*stack.client_credentials("operator"))
        give_up = asyncio.get_running_loop().time() + seconds
        while True:
            answer = await operator.audit(from_start=True)
            if answer.passed or asyncio.get_running_loop().time() > give_up:
                return answer
            await asyncio.sleep(0.25)


async def assert_books_hold(stack: Stack) -> None:
    """The audit passes; its own words otherwise."""
    answer = await audit(stack)
    assert answer.passed, "\n".join(f"{c.name}: {c.first_failure}" for c in answer.checks if not c.passed)
