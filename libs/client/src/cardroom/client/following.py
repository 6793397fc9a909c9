"""Following a stream: a snapshot, then numbered changes, whatever happens to the connection in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, cast

import grpc

from cardroom.client import errors
from cardroom.client.connection import Connection
from cardroom.client.transport import SILENCE_SECONDS_MAX
from cardroom.client.view import VersionGapError, apply_change
from cardroom.contracts.table.v1.view_pb2 import PublicView, TableEvent

_Message = TypeVar("_Message")
_Step = TypeVar("_Step")

# The type stubs leave this name out.
_EOF: Final[object] = vars(grpc.aio)["EOF"]

# The server has said a definite no; opening the stream again would hear the same.
_FINAL_CODES: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


@dataclass(frozen=True, slots=True)
class Update:
    """One step of a followed table. The session's `view` is already at `version` when you get it."""

    version: int
    """The table's version now."""
    events: Sequence[TableEvent]
    """What happened, in order; empty in a snapshot."""
    is_snapshot: bool
    """Whether the view was replaced as a whole: at the start, and after anything was missed."""


class FollowedStream(Generic[_Message, _Step]):
    """An asynchronous iterator over a stream of snapshots and numbered changes, which keeps what it tells current.

    A gap in the versions, a broken or silent stream and a server that moves it elsewhere lead to a new stream with a
    new snapshot, after pauses that grow and are spread at random. A definite refusal raises CardroomError. What is told
    moves only while you iterate. Use it with `async with`, or call `close()`.
    """

    def __init__(self, connection: Connection) -> None:
        """Opens nothing yet; iterating does."""
        self._connection = connection
        self._call: grpc.aio.UnaryStreamCall[Any, _Message] | None = None
        self._was_connected = False
        self._is_over = False
        self._failures = 0
        self._has_renewed = False
        self._is_first = True
        self._last_heard = 0.0
        self._is_silent = False
        self._watchdog: asyncio.TimerHandle | None = None
        self.is_connected = False
        """Whether the stream is up and what it has told is current."""
        self.resyncs = 0
        """How often a new snapshot had to be fetched after the first."""

    async def _open_stream(self) -> grpc.aio.UnaryStreamCall[Any, _Message]:
        raise NotImplementedError

    def _take(self, message: _Message) -> _Step | None:
        """Applies one message; None for a heartbeat. Raises VersionGapError when one is missing before it."""
        raise NotImplementedError

    async def _takes_a_detour(self, call: grpc.aio.UnaryStreamCall[Any, _Message]) -> bool:
        """Whether a stream that has brought its first message had better be opened anew at once."""
        return False

    def _sent_away(self) -> None:
        """The server that had the stream has it no more: it stops, or the table has moved."""

    def _is_the_end(self, error: errors.CardroomError) -> bool:
        """Whether a definite refusal only says that the session has come to its end."""
        return False

    def __aiter__(self) -> Self:
        """The session is its own iterator."""
        return self

    async def __anext__(self) -> _Step:
        """The next update, however many streams that takes. Ends when the session is over."""
        while not self._is_over:
            message = await self._next_message()
            if message is None:
                continue
            try:
                update = self._take(message)
            except VersionGapError:
                await self._lose(None)
                continue
            if update is not None:
                return update
        self._drop()
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        """Nothing to do; the stream opens with the first iteration."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream."""
        await self.close()

    async def close(self) -> None:
        """Closes the stream. Iterating ends."""
        self._is_over = True
        self._drop()

    def _has_snapshot(self) -> None:
        """Everything is told anew: the stream is up."""
        self.resyncs += self._was_connected
        self._was_connected = self.is_connected = True
        self._failures = 0
        self._has_renewed = False

    async def _next_message(self) -> _Message | None:
        """One message, or None after the stream broke and the pause before the next try is over."""
        if self._call is None:
            self._call = await self._open_stream()
            self._is_first = True
            self._hear()
            self._watch_silence()
        try:
            message = await self._call.read()
        except grpc.aio.AioRpcError as error:
            await self._lose(error)
            return None
        except asyncio.CancelledError:
            # Reading a call that was cancelled raises this too; only a silent one is ours to open again.
            task = asyncio.current_task()
            if not self._is_silent or (task is not None and task.cancelling()):
                self._drop()
                raise
            await self._lose(None)
            return None
        if message is _EOF:
            await self._lose(None)
            return None
        self._hear()
        if self._is_first:
            self._is_first = False
            if await self._takes_a_detour(self._call):
                self._drop()
                return None
        return cast("_Message", message)

    async def _lose(self, error: grpc.aio.AioRpcError | None) -> None:
        self._drop()
        if error is not None:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED and not self._has_renewed:
                self._has_renewed = True
                if await self._connection.renew():
                    return
            is_final = error.code() in _FINAL_CODES or (
                error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and not self._was_connected
            )
            if is_final:
                self._is_over = True
                refusal = errors.from_rpc_error(error)
                if self._is_the_end(refusal):
                    return
                raise refusal from error
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                self._sent_away()
        self._failures += 1
        await asyncio.sleep(self._connection.policy.backoff.pause_seconds(self._failures - 1))

    def _drop(self) -> None:
        self.is_connected = False
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _hear(self) -> None:
        self._last_heard = asyncio.get_running_loop().time()
        self._is_silent = False

    def _watch_silence(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._last_heard + SILENCE_SECONDS_MAX - loop.time()
        if left > 0:
            # One timer per stream, not one per message.
            self._watchdog = loop.call_later(left, self._watch_silence)
        elif self._call is not None:
            self._is_silent = True
            self._call.cancel()


class FollowedTable(FollowedStream[_Message, Update]):
    """One table's stream; it keeps `view` current."""

    def __init__(self, connection: Connection) -> None:
        """Opens nothing yet; iterating does."""
        super().__init__(connection)
        self.view = PublicView()
        """The table as last heard; empty before the first snapshot. Read it, do not change it."""

    def _snapshot(self, version: int, view: PublicView) -> Update:
        self.view.CopyFrom(view)
        self.view.version = version
        self._has_snapshot()
        return Update(version, (), is_snapshot=True)

    def _change(self, version: int, events: Sequence[TableEvent]) -> Update:
        apply_change(self.view, version, events)
        return Update(version, events, is_snapshot=False)
