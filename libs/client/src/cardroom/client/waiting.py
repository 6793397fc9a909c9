"""Waiting for a seat, live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import grpc

from cardroom.client.connection import Connection
from cardroom.client.following import FollowedStream
from cardroom.contracts.lobby.v1.waiting_pb2 import (
    WAITING_STATE_SEAT_RESERVED,
    WAITING_STATE_SITTING_DOWN,
    WAITING_STATE_WAITING,
    Waiting,
    WaitingEntry,
    WantedStakes,
    WatchMyWaitingRequest,
    WatchMyWaitingResponse,
)
from cardroom.contracts.lobby.v1.waiting_pb2_grpc import WaitingServiceStub
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Game

_LIVE: Final = frozenset({WAITING_STATE_WAITING, WAITING_STATE_SEAT_RESERVED, WAITING_STATE_SITTING_DOWN})


def wanted_stakes(
    small_blind: int,
    big_blind: int,
    *,
    ante: int = 0,
    seats: int = 0,
    game: Game.ValueType = GAME_NO_LIMIT_HOLDEM,
) -> WantedStakes:
    """Stakes to ask for a seat at: `wanted_stakes(10, 20)`. `seats` 0: tables of any size."""
    return WantedStakes(game=game, small_blind=small_blind, big_blind=big_blind, ante=ante, seats=seats)


def is_over(entry: WaitingEntry) -> bool:
    """Whether this wait has come to its end, one way or another."""
    return entry.state not in _LIVE


class WaitingSession(FollowedStream[WatchMyWaitingResponse, Waiting]):
    """Everything that the player waits for, within a second of each change: iterate over it for updates.

    Each update is all of it, as it is then.
    """

    def __init__(self, connection: Connection) -> None:
        """Opens nothing yet; iterating does."""
        super().__init__(connection)
        self._waiting = WaitingServiceStub(connection.channel)
        self._told_at = 0.0
        self.entries: Sequence[WaitingEntry] = ()
        """The player's entries as last heard, those that ended in the last 2 minutes included."""

    def seat_kept(self) -> WaitingEntry | None:
        """The entry that has a seat kept for the player now; there is at most one."""
        return next((entry for entry in self.entries if entry.state == WAITING_STATE_SEAT_RESERVED), None)

    def seconds_left(self, entry: WaitingEntry) -> float:
        """How long the entry's seat is still kept, whatever the clocks say; 0 when it is not."""
        return max(0.0, entry.reserved.left_ms / 1000 - (asyncio.get_running_loop().time() - self._told_at))

    async def _open_stream(self) -> grpc.aio.UnaryStreamCall[Any, WatchMyWaitingResponse]:
        return await self._connection.open_stream(self._waiting.WatchMyWaiting, WatchMyWaitingRequest())

    def _take(self, message: WatchMyWaitingResponse) -> Waiting | None:
        if message.WhichOneof("content") != "waiting":
            return None
        # Each message is all of it: there is nothing that could be missing.
        self._told_at = asyncio.get_running_loop().time()
        self.entries = message.waiting.entries
        if not self.is_connected:
            self._has_snapshot()
        return message.waiting
