"""A stream that has gone silent is taken for dead."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from cardroom.client import following
from cardroom.client.sessions import WatchSession
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchResponse
from cardroom.contracts.table.v1.view_pb2 import PublicView


class SilentStream:
    """One snapshot, then nothing; reading is cancelled with the call, as grpc.aio does it."""

    def __init__(self, version: int) -> None:
        self.first: WatchResponse | None = WatchResponse(version=version, snapshot=PublicView(version=version))
        self.cancelled = asyncio.Event()

    async def read(self) -> Any:
        if self.first is not None:
            first, self.first = self.first, None
            return first
        await self.cancelled.wait()
        raise asyncio.CancelledError

    def cancel(self) -> None:
        self.cancelled.set()


class Streams:
    """A connection whose streams all go silent."""

    def __init__(self) -> None:
        self.channel = grpc.aio.insecure_channel("127.0.0.1:1")
        self.policy = CallPolicy(backoff=Backoff(0.0, 0.0))
        self.opened = 0

    async def open_stream(self, method: Any, request: Any) -> SilentStream:
        self.opened += 1
        return SilentStream(self.opened)


async def test_a_silent_stream_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SILENCE_SECONDS_MAX", 0.01)
    streams = Streams()
    watch = WatchSession(streams, "t")  # type: ignore[arg-type]
    async with watch:
        assert [(await anext(watch)).version for _ in range(3)] == [1, 2, 3]
    assert streams.opened == 3
    assert not watch.is_connected
