"""One scripted guest: sits down, plays, tops up, sits out, dozes, loses the connection, goes broke, leaves, returns."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cardroom.client import PlayerClient, call, check, fold, raise_to
from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import (
    SEAT_STATUS_PLAYING,
    SEAT_STATUS_SITTING_OUT,
    TableEvent,
    TurnToken,
    TurnView,
)
from cardroom.contracts.wallet.v1.wallet_pb2 import GetBalanceRequest, GetBalanceResponse
from tests.bench._line import TABLE, Caller, GaveUp, Line
from tests.bench._seat import PlayerStream
from tests.bench._wire import CallFailed

if TYPE_CHECKING:
    from tests.soak.crowd import Crowd

_LOBBY: Final = "/cardroom.lobby.v1.LobbyService"
_WALLET: Final = "/cardroom.wallet.v1.WalletService"
HOME_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Manners:
    """How a crowd plays. Chances are per hand, times in seconds, from least to most."""

    think: tuple[float, float] = (0.5, 4.0)
    all_in: float = 0.05
    """Chance that a turn is answered with everything."""
    leave: float = 0.015
    sit_out: float = 0.02
    top_up: float = 0.06
    doze: float = 0.02
    vanish: float = 0.04
    second_stream: float = 0.02
    buy_back: float = 0.6
    """Chance that who went broke tops up, instead of being sent away when the time is over."""
    away: tuple[float, float] = (0.1, 12.0)
    dozing: tuple[float, float] = (6.0, 60.0)
    out: tuple[float, float] = (2.0, 20.0)


class Guest:
    """A signed-in guest. `live` goes on until the crowd goes home; then `go_home`."""

    def __init__(self, crowd: Crowd, player: PlayerClient, line: Line, rng: random.Random) -> None:
        self.player_id = player.player_id
        self.changed_at = time.monotonic()
        """When the table last told of a change."""
        self.stream: PlayerStream | None = None
        """While seated."""
        self.is_broke = False
        self.is_home = False
        self.where = "nowhere"
        """What the guest waits for, for the report on who is stuck."""
        self.chips = 0
        """At the end, back in the wallet."""
        self._crowd = crowd
        self._manners = crowd.manners
        self._caller = Caller(line, player._connection._credentials.token, crowd.failures)
        self._rng = rng
        self._moved = asyncio.Event()
        self._hand_ended = False
        self._answered = TurnToken()

    @property
    def is_playing(self) -> bool:
        """Whether the guest is there, with chips and a mind to play."""
        seat = self.stream.seat if self.stream is not None and self.stream.is_up else None
        return seat is not None and seat.status == SEAT_STATUS_PLAYING

    async def live(self) -> None:
        """Sit down somewhere, stay for a while, again and again."""
        while not self._crowd.is_closing and not self.is_broke:
            table_id = self._crowd.choose(self._rng)
            try:
                if await self._sit_down(table_id):
                    await self._stay(table_id)
                    await self._until_home()
            except (CallFailed, GaveUp) as failure:
                self._crowd.note(failure)
            await self._pause(self._rng.uniform(0.2, 2.0))

    async def go_home(self) -> None:
        """Leave, and wait until every chip is back."""
        has_asked = False
        while not self.is_home:
            try:
                seating = await self._my_seat()
                if seating is not None:
                    self.where = f"table {seating.table_id}, seat {seating.seat}, state {seating.state}"
                    if seating.state == lobby.SEATING_STATE_SEATED or not has_asked:
                        await self._leave(seating)
                        has_asked = True
                else:
                    self.is_home = await self._all_is_back()
            except (CallFailed, GaveUp) as failure:
                self._crowd.note(failure)
            if not self.is_home:
                await asyncio.sleep(HOME_POLL_SECONDS)

    async def _sit_down(self, table_id: str) -> bool:
        request = lobby.SitDownRequest(table_id=table_id, buy_in=self._crowd.buy_in, request_id=str(uuid.uuid4()))
        try:
            async with self._crowd.door:
                await self._caller.ask(f"{_LOBBY}/SitDown", request, lobby.SitDownResponse)
        except CallFailed as refusal:
            self.is_broke = refusal.reason == "TOO_FEW_CHIPS"
            if refusal.reason == "ALREADY_SEATED":
                await self._until_home()
            return False
        return True

    async def _stay(self, table_id: str) -> None:
        """Play until the guest leaves, or has been sent away."""
        self._caller.owner = ""
        stream = self.stream = PlayerStream(self._caller, self.player_id, table_id, self._hears)
        self.changed_at = time.monotonic()
        self._crowd.arrived(self, table_id)
        stream.open()
        try:
            while not stream.is_over and not self._crowd.is_closing:
                self._moved.clear()
                if await self._do_what_is_due(stream):
                    return
                await self._wait(self._moved, 1.0)
                stream.look_after()
        finally:
            stream.close()
            self.stream = None
            self._crowd.went(self, table_id)

    async def _do_what_is_due(self, stream: PlayerStream) -> bool:
        """React to the table; whether the guest has asked to leave."""
        seat, turn = stream.seat, stream.turn
        if turn is not None and turn.token != self._answered:
            await self._answer(stream, turn)
        elif self._hand_ended:
            self._hand_ended = False
            return await self._after_hand(stream)
        elif seat is not None and seat.status == SEAT_STATUS_SITTING_OUT:
            await (self._go_on(stream) if seat.stack else self._go_broke(stream))
        return False

    def _hears(self, stream: PlayerStream, events: list[TableEvent]) -> None:
        self.changed_at = time.monotonic()
        if any(event.HasField("hand_ended") for event in events):
            self._hand_ended = True
        self._moved.set()

    async def _answer(self, stream: PlayerStream, turn: TurnView) -> None:
        asked = TurnView()
        asked.CopyFrom(turn)
        await self._pause(self._rng.uniform(*self._manners.think))
        if not stream.is_over and stream.turn is not None and stream.turn.token == asked.token:
            self._answered = asked.token
            await self._tolerate(stream.act(asked, self._choose(asked)))

    def _choose(self, turn: TurnView) -> Action:
        legal, chance = turn.legal, self._rng.random()
        if chance < self._manners.all_in and legal.HasField("raise_max"):
            return raise_to(legal.raise_max)
        if legal.can_check:
            return raise_to(legal.raise_min) if chance > 0.85 and legal.HasField("raise_min") else check()
        is_dear = legal.call_amount > self._crowd.buy_in // 4
        return fold() if chance < (0.6 if is_dear else 0.3) else call()

    async def _after_hand(self, stream: PlayerStream) -> bool:
        """Between hands a guest may do something; whether it is to leave."""
        manners, chance = self._manners, self._rng.random()
        moods: list[tuple[float, Callable[[PlayerStream], Awaitable[bool]]]] = [
            (manners.leave, self._get_up),
            (manners.sit_out, self._sit_out),
            (manners.top_up, self._top_up),
            (manners.doze, self._doze),
            (manners.vanish, self._vanish),
            (manners.second_stream, self._look_twice),
        ]
        for odds, mood in moods:
            if chance < odds:
                return await mood(stream)
            chance -= odds
        return False

    async def _get_up(self, _: PlayerStream) -> bool:
        seating = await self._my_seat()
        if seating is not None:
            await self._leave(seating)
        return True

    async def _sit_out(self, stream: PlayerStream) -> bool:
        request = pb.SitOutRequest(table_id=stream.table_id, seen_version=stream.view.version)
        await self._tolerate(self._caller.ask(f"/{TABLE}/SitOut", request, pb.SitOutResponse))
        await self._pause(self._rng.uniform(*self._manners.out))
        return False

    async def _top_up(self, stream: PlayerStream) -> bool:
        await self._bring(stream.table_id, self._rng.randint(1, self._crowd.buy_in))
        return False

    async def _doze(self, _: PlayerStream) -> bool:
        await self._pause(self._rng.uniform(*self._manners.dozing))
        return False

    async def _vanish(self, stream: PlayerStream) -> bool:
        stream.close()
        least, most = self._manners.away
        # Mostly short: a lift, a tunnel.
        await self._pause(least + (most - least) * self._rng.random() ** 2)
        if not self._crowd.is_closing:
            stream.open()
        return False

    async def _look_twice(self, stream: PlayerStream) -> bool:
        """A second device, whose stream outlives the first."""
        second = PlayerStream(self._caller, self.player_id, stream.table_id, lambda *_: None)
        second.open()
        await self._pause(1.0)
        stream.close()
        await self._pause(1.0)
        stream.open()
        await self._pause(1.0)
        second.close()
        return False

    async def _go_on(self, stream: PlayerStream) -> None:
        """Back from sitting out, after a while."""
        await self._pause(self._rng.uniform(0.5, 4.0))
        request = pb.ComeBackRequest(table_id=stream.table_id, seen_version=stream.view.version)
        await self._tolerate(self._caller.ask(f"/{TABLE}/ComeBack", request, pb.ComeBackResponse))

    async def _go_broke(self, stream: PlayerStream) -> None:
        """Without chips: bring more within the time, or be sent away."""
        if self._rng.random() < self._manners.buy_back:
            await self._pause(self._rng.uniform(0.5, 3.0))
            await self._bring(stream.table_id, self._crowd.buy_in)
        else:
            give_up = time.monotonic() + self._crowd.patience_seconds
            while not stream.is_over and not self._crowd.is_closing and time.monotonic() < give_up:
                await self._pause(0.5)

    async def _bring(self, table_id: str, amount: int) -> None:
        request = lobby.TopUpRequest(table_id=table_id, amount=amount, request_id=str(uuid.uuid4()))
        await self._tolerate(self._caller.ask(f"{_LOBBY}/TopUp", request, lobby.TopUpResponse))

    async def _leave(self, seating: lobby.Seating) -> None:
        request = lobby.LeaveTableRequest(table_id=seating.table_id, seating_id=seating.seating_id)
        await self._tolerate(self._caller.ask(f"{_LOBBY}/LeaveTable", request, lobby.LeaveTableResponse))

    async def _my_seat(self) -> lobby.Seating | None:
        answer = await self._caller.ask(f"{_LOBBY}/GetMySeat", lobby.GetMySeatRequest(), lobby.GetMySeatResponse)
        return answer.seating if answer.HasField("seating") else None

    async def _until_home(self) -> None:
        """The stay is over; wait until the lobby has brought the chips back."""
        while not self._crowd.is_closing and (seating := await self._my_seat()) is not None:
            self.where = f"table {seating.table_id}, on the way home, state {seating.state}"
            if seating.state == lobby.SEATING_STATE_SEATED:
                await self._leave(seating)
            await self._pause(HOME_POLL_SECONDS)

    async def _all_is_back(self) -> bool:
        path = f"{_WALLET}/GetBalance"
        answer = await self._caller.ask(path, GetBalanceRequest(), GetBalanceResponse)
        self.chips = answer.balance.posted
        self.where = f"the wallet: {answer.balance.held} held, {answer.at_tables} at tables"
        return not answer.balance.held and not answer.at_tables

    async def _tolerate(self, asked: Awaitable[object]) -> None:
        """Refusals are a part of life: they are counted where they are met."""
        try:
            await asked
        except CallFailed:
            return
        except GaveUp as failure:
            self._crowd.note(failure)

    async def _pause(self, seconds: float) -> None:
        """Wait; the end of the soak ends it early."""
        await self._wait(self._crowd.closing, seconds)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
