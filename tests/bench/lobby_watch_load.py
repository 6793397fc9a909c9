"""Many watchers in a process of their own: each a stream, over a few connections; it notes when each message comes.

Orders come as lines on standard input: the first says what to watch, each later one asks for what has come since.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import grpc
import uvloop

LINE_BYTES_MAX = 256 * 1024 * 1024
OPENING_AT_ONCE = 100


class Watchers:
    """All streams, and when what came on them."""

    def __init__(self, order: dict[str, Any]) -> None:
        """`order` has the address, the method, the requests and tokens to take turns with, and how many of what."""
        self._order = order
        self._came: dict[bytes, list[float]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._gate = asyncio.Semaphore(OPENING_AT_ONCE)

    async def open(self) -> None:
        """Open every stream; return when each has brought its first message."""
        order = self._order
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        channels = [grpc.aio.insecure_channel(order["address"], options=options) for _ in range(order["connections"])]
        methods: list[Any] = [channel.unary_stream(order["method"], None, None) for channel in channels]
        requests = [bytes.fromhex(request) for request in order["requests"]]
        opened = [asyncio.get_running_loop().create_future() for _ in range(order["watchers"])]
        for number, is_open in enumerate(opened):
            metadata = (("authorization", f"Bearer {order['tokens'][number % len(order['tokens'])]}"),)
            call = (methods[number % len(methods)], requests[number % len(requests)], metadata)
            self._tasks.append(asyncio.create_task(self._watch(*call, is_open)))
        await asyncio.gather(*opened)

    async def _watch(self, method: Any, request: bytes, metadata: Any, is_open: asyncio.Future[None]) -> None:
        came = self._came
        try:
            async with self._gate:
                stream = method(request, metadata=metadata)
                await stream.read()
            is_open.set_result(None)
            while True:
                message = await stream.read()
                came.setdefault(message, []).append(time.monotonic())
        except grpc.aio.AioRpcError as error:
            sys.exit(f"a stream ended: {error.code()} {error.details()}")

    def take(self) -> list[tuple[str, list[float]]]:
        """Each message that came since the last time, in hex, with the moments when."""
        taken = [(message.hex(), moments) for message, moments in self._came.items()]
        self._came.clear()
        return taken


async def main() -> None:
    """Obey until the orders end."""
    reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    watchers = Watchers(json.loads(await reader.readline()))
    await watchers.open()
    print(json.dumps("open"), flush=True)
    while await reader.readline():
        print(json.dumps(watchers.take()), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
