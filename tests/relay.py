"""A TCP relay before the edge whose connections can fall silent, as when a network swallows every packet."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Relay:
    """Forwards to `target` (host:port) in both directions, until it is cut.

    A connection that is cut stays open on both sides and carries nothing any more: no byte, no end, no reset.
    """

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Listen."""
        self._flowing.set()
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Break every connection and stop."""
        assert self._server is not None
        self._server.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        """host:port to connect to."""
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Let every connection fall silent for good, and those that are made later as well, until `mend`."""
        self._flowing.clear()
        self._flowing = asyncio.Event()

    def mend(self) -> None:
        """Forward what is connected since the cut, and from now on."""
        self._flowing.set()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        flowing = self._flowing
        self._writers.append(writer)
        there = await asyncio.open_connection(self._host, self._port)
        self._writers.append(there[1])
        for source, sink in ((reader, there[1]), (there[0], writer)):
            pump = asyncio.create_task(_pump(source, sink, flowing))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
    """Forward until the source ends; while nothing flows, neither bytes nor the end are passed on."""
    try:
        while data := await source.read(65536):
            await flowing.wait()
            sink.write(data)
            await sink.drain()
        await flowing.wait()
    except OSError:
        await flowing.wait()
    sink.close()
