"""A bot's life around its decisions: sitting down, buying in again, coming back as somebody new."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from types import SimpleNamespace
from typing import Any

from cardroom.client import FailedPreconditionError, Update
from cardroom.client.bots import BotPlayer, BotSettings
from cardroom.contracts.lobby.v1.lobby_pb2 import Seating, Table
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.wallet.v1.types_pb2 import Balance

STAKES = pb.Stakes(small_blind=5, big_blind=10, min_buy_in=400, max_buy_in=1000, seats=6)


class FakeSession:
    """A table that shows the given views, one by one, and then never anything again."""

    def __init__(self, views: list[pb.PublicView], log: list[str]) -> None:
        self.views = views
        self.log = log
        self.view = pb.PublicView()
        self.own_cards = ""

    @property
    def seat(self) -> pb.SeatView | None:
        return next((seat for seat in self.view.seats if seat.player_id == "me"), None)

    @property
    def turn(self) -> pb.TurnView | None:
        return self.view.hand.turn if self.view.hand.turn.player_id == "me" else None

    async def act(self, action: Action) -> None:
        self.log.append(f"act {pb.ActionKind.Name(action.kind)}")

    async def come_back(self) -> None:
        self.log.append("come back")

    async def __aenter__(self) -> FakeSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def __aiter__(self) -> AsyncIterator[Update]:
        for view in self.views:
            self.view = view
            yield Update(view.version, (), is_snapshot=True)
        self.log.append("waits")
        await asyncio.Event().wait()


class FakePlayer:
    """A player with so many chips, who may refill to so many."""

    def __init__(self, chips: int, refill_to: int, sessions: list[list[pb.PublicView]], log: list[str]) -> None:
        self.player_id = "me"
        self.chips = chips
        self.refill_to = refill_to
        self.sessions = sessions
        self.log = log
        self.seated = ""

    async def my_seat(self) -> Seating | None:
        return Seating(table_id=self.seated) if self.seated else None

    async def table(self, table_id: str) -> Table:
        return Table(table_id=table_id, stakes=STAKES)

    async def balance(self) -> Any:
        return SimpleNamespace(balance=Balance(available=self.chips))

    async def refill(self) -> Any:
        if self.refill_to <= self.chips:
            raise FailedPreconditionError("REFILL_TOO_SOON", "not yet")
        self.log.append("refill")
        self.chips = self.refill_to
        return await self.balance()

    async def sit_down(self, table_id: str, buy_in: int) -> None:
        self.log.append(f"sit down with {buy_in}")
        self.chips -= buy_in
        self.seated = table_id

    async def leave_and_wait(self, table_id: str) -> int:
        self.log.append(f"leave {table_id}")
        self.seated = ""
        return 0

    def play(self, table_id: str) -> FakeSession:
        return FakeSession(self.sessions.pop(0) if self.sessions else [], self.log)


def seen(stack: int, status: pb.SeatStatus.ValueType = pb.SEAT_STATUS_PLAYING) -> pb.PublicView:
    view = pb.PublicView(stakes=STAKES, seats=[pb.SeatView(seat=1, player_id="me", stack=stack, status=status)])
    view.hand.is_over = True
    return view


def to_act(*, can_check: bool) -> pb.PublicView:
    view = seen(500)
    legal = pb.LegalActions(can_fold=True, can_check=can_check, all_in_total=500)
    view.hand.CopyFrom(pb.HandView(hand_number=1, turn=pb.TurnView(player_id="me", seat=1, legal=legal)))
    return view


async def life(players: list[FakePlayer], log: list[str], until: str) -> list[str]:
    """Runs a bot until the log says that something has happened for the last time."""

    async def sign_in(name: str) -> FakePlayer:
        log.append(f"sign in {name}")
        return players.pop(0)

    client: Any = SimpleNamespace(sign_in_as_guest=sign_in)
    settings = BotSettings(think_seconds=(0, 0), retry_seconds=0)
    task = asyncio.ensure_future(BotPlayer(client, "t", "Rock", Random(1), settings).run())
    async with asyncio.timeout(5):
        while until not in log:  # noqa: ASYNC110 - the log is a list
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return log


async def test_it_signs_in_sits_down_and_answers_its_turns() -> None:
    log: list[str] = []
    views = [to_act(can_check=True), to_act(can_check=False)]
    await life([FakePlayer(10_000, 0, [views], log)], log, "waits")
    turns = ["act ACTION_KIND_CHECK", "act ACTION_KIND_FOLD"]
    assert log == ["sign in Rock", "sit down with 1000", *turns, "waits"]


async def test_out_of_chips_it_leaves_and_buys_in_again() -> None:
    log: list[str] = []
    await life([FakePlayer(10_000, 0, [[seen(1000), seen(0)]], log)], log, "waits")
    assert log == ["sign in Rock", "sit down with 1000", "leave t", "sit down with 1000", "waits"]


async def test_too_poor_for_the_table_it_refills() -> None:
    log: list[str] = []
    await life([FakePlayer(100, 2000, [], log)], log, "waits")
    assert log == ["sign in Rock", "refill", "sit down with 1000", "waits"]


async def test_with_less_than_it_would_like_it_brings_what_it_has() -> None:
    log: list[str] = []
    await life([FakePlayer(700, 0, [], log)], log, "waits")
    assert log == ["sign in Rock", "sit down with 700", "waits"]


async def test_refused_a_refill_it_comes_back_as_somebody_new() -> None:
    log: list[str] = []
    await life([FakePlayer(100, 0, [], log), FakePlayer(10_000, 0, [], log)], log, "waits")
    assert log == ["sign in Rock", "sign in Rock", "sit down with 1000", "waits"]


async def test_seated_elsewhere_it_leaves_there_first() -> None:
    log: list[str] = []
    player = FakePlayer(10_000, 0, [], log)
    player.seated = "other"
    await life([player], log, "waits")
    assert log == ["sign in Rock", "leave other", "sit down with 1000", "waits"]


async def test_sat_out_it_comes_back() -> None:
    log: list[str] = []
    await life([FakePlayer(10_000, 0, [[seen(500, pb.SEAT_STATUS_SITTING_OUT)]], log)], log, "waits")
    assert log[-2:] == ["come back", "waits"]
