"""Players who wait for a seat, and full tables for which they wait."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

import grpc

from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc, waiting_pb2, waiting_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2
from tests.integration.lobby.conftest import Lobby, Player, token, until

STATE = waiting_pb2.WaitingState
WAITING, KEPT = STATE.WAITING_STATE_WAITING, STATE.WAITING_STATE_SEAT_RESERVED
SITTING_DOWN, SEATED = STATE.WAITING_STATE_SITTING_DOWN, STATE.WAITING_STATE_SEATED
LEFT, LAPSED = STATE.WAITING_STATE_LEFT, STATE.WAITING_STATE_LAPSED
TABLE_CLOSED, EXPIRED = STATE.WAITING_STATE_TABLE_CLOSED, STATE.WAITING_STATE_EXPIRED


def stakes(small_blind: int = 10, *, seats: int = 0, ante: int = 0, big_blind: int = 0) -> waiting_pb2.WantedStakes:
    """What a player wants to play for."""
    return waiting_pb2.WantedStakes(
        game=view_pb2.GAME_NO_LIMIT_HOLDEM,
        small_blind=small_blind,
        big_blind=big_blind or 2 * small_blind,
        ante=ante,
        seats=seats,
    )


class Waiter(Player):
    """A player who also waits, and takes any seat."""

    def __init__(self, channel: grpc.aio.Channel, player_id: str | None = None, name: str = "Ada") -> None:
        super().__init__(channel, player_id, name)
        self._waiting: Any = waiting_pb2_grpc.WaitingServiceStub(channel)
        self._lobby: Any = lobby_pb2_grpc.LobbyServiceStub(channel)
        self.who = token(self.id, name=name)

    async def join(self, where: str | waiting_pb2.WantedStakes, request_id: str = "") -> Any:
        """Join the list of a table or of stakes; returns the entry."""
        request = waiting_pb2.JoinWaitingListRequest(request_id=request_id or str(uuid4()))
        if isinstance(where, str):
            request.table_id = where
        else:
            request.stakes.CopyFrom(where)
        return (await self._waiting.JoinWaitingList(request, metadata=self.who)).entry

    async def quit(self, entry: Any) -> Any:
        """Leave a list; returns the entry."""
        request = waiting_pb2.LeaveWaitingListRequest(entry_id=entry if isinstance(entry, str) else entry.entry_id)
        return (await self._waiting.LeaveWaitingList(request, metadata=self.who)).entry

    async def entries(self) -> list[Any]:
        """What the player waits for."""
        answer = await self._waiting.GetMyWaiting(waiting_pb2.GetMyWaitingRequest(), metadata=self.who)
        return list(answer.waiting.entries)

    async def entry(self) -> Any:
        """The only entry."""
        (only,) = await self.entries()
        return only

    def watch(self) -> Any:
        """The stream of what the player waits for."""
        return self._waiting.WatchMyWaiting(waiting_pb2.WatchMyWaitingRequest(), metadata=self.who)

    async def quick(self, wanted: Any, buy_in: int = 1000, request_id: str = "") -> Any:
        """Sit down at some stakes; returns the Seating."""
        request = lobby_pb2.QuickSeatRequest(stakes=wanted, buy_in=buy_in, request_id=request_id or str(uuid4()))
        return (await self._lobby.QuickSeat(request, metadata=self.who)).seating

    async def until_state(self, state: int, seconds: float = 30.0) -> Any:
        """Wait until the only entry is in this state; returns it."""

        async def is_so() -> Any:
            entry = await self.entry()
            return entry if entry.state == state else None

        return await until(is_so, seconds)


def waiter(lobby: Lobby, player_id: str | None = None) -> Waiter:
    """Somebody who asks this lobby."""
    return Waiter(lobby.channel, player_id)


_BLINDS = itertools.count(21)


def fresh_blind() -> int:
    """A small blind that no other test has: tables of one database are for all of a module's tests."""
    return next(_BLINDS)


async def table_at(lobby: Lobby, blind: int, seats: int = 2, **changes: Any) -> str:
    """An open table with buy-ins of 800 to 2,000."""
    limits = {"min_buy_in": 800, "max_buy_in": 2000} | changes
    made = await lobby.create(seats=seats, small_blind=blind, big_blind=2 * blind, **limits)
    return str(made.table_id)


async def full_table(lobby: Lobby, blind: int = 0, *, seats: int = 2) -> tuple[str, list[Player]]:
    """A table without a free seat, at stakes of its own unless told, and who sits there."""
    table_id = await table_at(lobby, blind or fresh_blind(), seats)
    players = [lobby.player() for _ in range(seats)]
    for player in players:
        await player.sit(table_id)
    return table_id, players


async def let_the_kept_seat_lapse(lobby: Lobby, entry: Any, seconds: float = 0) -> None:
    """Let the time of a kept seat be over in so many seconds, by the database's clock."""
    done = await lobby.pool.execute(
        "UPDATE waiting SET reserved_until = now() + make_interval(secs => $2) "
        "WHERE entry_id = $1 AND reserved_until IS NOT NULL",
        entry.entry_id,
        seconds,
    )
    assert done == "UPDATE 1"
