"""A player's stream of a table over a cheap connection, kept up as the client library keeps it up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from cardroom.client.owner import OWNER, PASSED_ON
from cardroom.client.transport import SILENCE_SECONDS_MAX, Backoff
from cardroom.client.view import VersionGapError, apply_change, seat_of_player
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest, ActResponse, PlayRequest, PlayResponse
from cardroom.contracts.table.v1.view_pb2 import PublicView, SeatView, TableEvent, TurnView
from tests.bench._line import TABLE, Caller
from tests.bench._wire import CallFailed, Headers, Wire

__all__ = ["PlayerStream"]

_PLAY: Final = f"/{TABLE}/Play"
_ACT: Final = f"/{TABLE}/Act"
_MOVED: Final = "TABLE_MOVING"
# Opening the stream again would hear the same: the player sits here no more.
_FINAL: Final = frozenset({"NOT_SEATED", "TABLE_UNKNOWN"})

Hears = Callable[["PlayerStream", list[TableEvent]], None]


class PlayerStream:
    """A seated player's table. It opens its stream anew whenever that ends, until the player has left."""

    def __init__(self, caller: Caller, player_id: str, table_id: str, hears: Hears) -> None:
        self.caller = caller
        self.player_id = player_id
        self.table_id = table_id
        self.view = PublicView()
        """The table as last heard; empty before the first snapshot."""
        self.is_up = False
        """Whether the stream is open and what it has told is current."""
        self.is_over = False
        """Whether the player sits here no more."""
        self.heard_at = time.monotonic()
        self.opened_at = 0.0
        """When the stream was asked for that is open, or being opened."""
        self.resync_seconds: list[float] = []
        """From asking for a stream to its snapshot, for each that came up."""
        self.outages: list[float] = []
        """How long the player was without a stream, each time that one ended which was up."""
        self._hears = hears
        self.lost_at = 0.0
        """When the last stream ended that was up; 0 once there is another."""
        self._wanted = False
        self._wire: Wire | None = None
        self._number = 0
        self._round = 0
        self._failures = 0
        self._opening: asyncio.Task[None] | None = None

    @property
    def seat(self) -> SeatView | None:
        """The player's seat."""
        return seat_of_player(self.view, self.player_id)

    @property
    def turn(self) -> TurnView | None:
        """The turn that waits for this player."""
        if not self.is_up or not self.view.hand.HasField("turn"):
            return None
        turn = self.view.hand.turn
        return turn if turn.player_id == self.player_id else None

    def open(self) -> None:
        """Open the stream, and keep it up from now on."""
        self._wanted = True
        self._open_after(0.0)

    def close(self) -> None:
        """Close the stream, as a player does who has lost the connection."""
        self._wanted = False
        self._drop()

    def look_after(self) -> None:
        """Open a stream anew on which nothing was heard for too long; to be called every second or so."""
        if self.is_up and time.monotonic() - self.heard_at > SILENCE_SECONDS_MAX:
            self.caller.failures.add("Play", "silent for 15 s")
            self._reopen()

    async def act(self, turn: TurnView, action: Action) -> ActResponse:
        """Answer a turn. Raises CallFailed, GaveUp."""
        request = ActRequest(table_id=self.table_id, turn=turn.token, action=action)
        return await self.caller.ask(_ACT, request, ActResponse)

    def _drop(self) -> None:
        self._round += 1
        self.is_up = False
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None
        if self._wire is not None:
            self._wire.cancel(self._number)
            self._wire = None

    def _reopen(self) -> None:
        self._drop()
        if self._wanted and not self.is_over:
            self._failures += 1
            self._open_after(Backoff().pause_seconds(self._failures - 1))

    def _open_after(self, seconds: float) -> None:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(seconds))

    async def _open(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        try:
            wire, headers = await self.caller.line.wire(), await self.caller.headers(_PLAY)
        except OSError as error:
            self.caller.failures.add("Play", type(error).__name__)
            self._opening = None
            self._reopen()
            return
        self._opening = None
        self._round += 1
        now = self._round

        def on_headers(headers: Headers) -> None:
            if now == self._round:
                self._learn(headers)

        def on_message(message: bytes) -> None:
            if now == self._round:
                self._take(PlayResponse.FromString(message))

        def on_end(failure: CallFailed | None) -> None:
            if now == self._round:
                self._end(failure)

        self._wire = wire
        self.opened_at = self.heard_at = time.monotonic()
        request = PlayRequest(table_id=self.table_id).SerializeToString()
        self._number = wire.call(headers, request, on_message, on_end, on_headers)

    def _learn(self, headers: Headers) -> None:
        """Go straight to the owner, now if this stream takes a detour that a new one would not take."""
        owner, before = headers.get(OWNER, ""), self.caller.owner
        self.caller.owner = owner
        if PASSED_ON in headers and owner not in {"", before}:
            self._drop()
            self._open_after(0.0)

    def _take(self, message: PlayResponse) -> None:
        self.heard_at = time.monotonic()
        content = message.WhichOneof("content")
        if content == "snapshot":
            self.view.CopyFrom(message.snapshot.view)
            self.view.version = message.version
            self.is_up = True
            self._failures = 0
            self.resync_seconds.append(self.heard_at - self.opened_at)
            if self.lost_at:
                self.outages.append(self.heard_at - self.lost_at)
            self._hears(self, [])
            self.lost_at = 0.0
        elif content == "change":
            events = list(message.change.events)
            try:
                apply_change(self.view, message.version, events)
            except VersionGapError:
                self.caller.failures.add("Play", "a gap between versions")
                self._reopen()
                return
            self._hears(self, events)

    def _end(self, failure: CallFailed | None) -> None:
        reason = failure.reason if failure is not None else "ended"
        if reason in _FINAL:
            self.is_over = True
            self._drop()
            self._hears(self, [])
            return
        if self.is_up and reason == _MOVED:
            self.caller.failures.moves += 1
            self.caller.owner = ""
        else:
            self.caller.failures.add("Play", reason)
        if self.is_up:
            self.lost_at = time.monotonic()
        self._reopen()
