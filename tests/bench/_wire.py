"""gRPC over HTTP/2 with as little work as a player can cause: whole machines of clients stand behind a real card room,
here they share its two cores with it.

It speaks only what the load needs: unencrypted, requests of one frame, answers of any size. Headers are compressed
without tables (RFC 7541 allows it, and it is told so), so that equal blocks mean equal headers and are decoded once.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import struct
from collections.abc import Callable
from typing import Final, cast

import grpc
from google.rpc import error_details_pb2, status_pb2
from hpack import Decoder, Encoder, NeverIndexedHeaderTuple

__all__ = ["CallFailed", "Headers", "Wire", "block"]

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 1, 1, 4, 8, 32
_WINDOW_MAX: Final = 2**31 - 1
_WINDOW_GIVEN_BACK: Final = 2**24
_HEAD: Final = struct.Struct(">HBBBL")  # length (3 bytes), type, flags, stream
_PREFIX: Final = struct.Struct(">BL")  # compressed?, length

Headers = dict[str, str]


class CallFailed(Exception):
    """A call ended with another status than OK. `details` are the status's details as they were sent."""

    def __init__(self, status: str, message: str, details: str = "") -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self._details = details

    @property
    def reason(self) -> str:
        """Why, by the stable name that the server gave; the status's own name where it gave none."""
        if not self._details:
            return _STATUS_NAMES.get(self.status, self.status)
        padded = self._details + "=" * (-len(self._details) % 4)
        info = error_details_pb2.ErrorInfo()
        for detail in status_pb2.Status.FromString(base64.b64decode(padded)).details:
            if detail.Unpack(info):
                return str(info.reason)
        return _STATUS_NAMES.get(self.status, self.status)


_STATUS_NAMES: Final = {str(code.value[0]): code.name for code in grpc.StatusCode}


class _Call:
    """What is heard of one call."""

    __slots__ = ("buffer", "on_end", "on_headers", "on_message")

    def __init__(
        self,
        on_message: Callable[[bytes], None],
        on_end: Callable[[CallFailed | None], None],
        on_headers: Callable[[Headers], None] | None,
    ) -> None:
        self.on_message = on_message
        self.on_end = on_end
        self.on_headers = on_headers
        self.buffer = b""


def block(path: str, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The headers of a call, ready to be sent any number of times."""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "edge"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        *headers,
    ]
    return Encoder().encode([NeverIndexedHeaderTuple(name, value) for name, value in fields])


@functools.lru_cache(maxsize=4096)
def _decoded(fragment: bytes) -> Headers:
    return {str(name): str(value) for name, value in Decoder().decode(fragment)}


class Wire(asyncio.Protocol):
    """One connection. Callbacks are called as the bytes arrive."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._input = b""
        self._calls: dict[int, _Call] = {}
        self._next = 1
        self._unacknowledged = 0

    @classmethod
    async def connect(cls, address: str) -> Wire:
        """Connect to `host:port`."""
        host, _, port = address.rpartition(":")
        _, protocol = await asyncio.get_running_loop().create_connection(cls, host, int(port))
        return protocol

    def call(
        self,
        headers: bytes,
        request: bytes,
        on_message: Callable[[bytes], None],
        on_end: Callable[[CallFailed | None], None],
        on_headers: Callable[[Headers], None] | None = None,
    ) -> int:
        """Send a request; `headers` come from `block`. The call's number is for `cancel`."""
        if self._transport is None:
            raise ConnectionError("the connection is closed")
        number, self._next = self._next, self._next + 2
        self._calls[number] = _Call(on_message, on_end, on_headers)
        body = _PREFIX.pack(0, len(request)) + request
        self._transport.write(
            _frame(_HEADERS, _END_HEADERS, number, headers) + _frame(_DATA, _END_STREAM, number, body)
        )
        return number

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._transport is not None

    def cancel(self, number: int) -> None:
        """Forget a call."""
        if self._calls.pop(number, None) is not None and self._transport is not None:
            self._transport.write(_frame(_RESET, 0, number, b"\0\0\0\x08"))

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Drop the connection, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello: no table for headers, no pushes, and as much data as comes."""
        self._transport = cast("asyncio.Transport", transport)
        settings = struct.pack(">HLHLHL", 1, 0, 2, 0, 4, _WINDOW_MAX)
        window = struct.pack(">L", _WINDOW_MAX - 65_535)
        self._transport.write(_PREFACE + _frame(_SETTINGS, 0, 0, settings) + _frame(_WINDOW, 0, 0, window))

    def connection_lost(self, exc: Exception | None) -> None:
        """Every open call has failed."""
        self._transport = None
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.on_end(CallFailed("UNAVAILABLE", f"the connection was closed: {exc!r}"))

    def data_received(self, data: bytes) -> None:
        """Take apart what has come."""
        data = self._input + data if self._input else data
        place, end = 0, len(data)
        while end - place >= 9:
            high, low, kind, flags, number = _HEAD.unpack_from(data, place)
            stop = place + 9 + (high << 8 | low)
            if stop > end:
                break
            if kind == _DATA:
                self._data(number, flags, data[place + 9 : stop])
            else:
                self._other(kind, flags, number, data[place + 9 : stop])
            place = stop
        self._input = data[place:]

    def _data(self, number: int, flags: int, payload: bytes) -> None:
        self._unacknowledged += len(payload)
        if self._unacknowledged > _WINDOW_GIVEN_BACK:
            self._write(_frame(_WINDOW, 0, 0, struct.pack(">L", self._unacknowledged)))
            self._unacknowledged = 0
        call = self._calls.get(number)
        if call is None:
            return
        if call.buffer:
            payload = call.buffer + payload
        while len(payload) >= 5:
            _, size = _PREFIX.unpack_from(payload)
            if len(payload) < 5 + size:
                break
            call.on_message(payload[5 : 5 + size])
            payload = payload[5 + size :]
        call.buffer = payload
        if flags & _END_STREAM:
            self._end(number, {})

    def _other(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind == _HEADERS:
            assert flags & (_END_HEADERS | _PADDED | _PRIORITY) == _END_HEADERS, "the edge sends headers in one frame"
            self._headers(number, flags, payload)
        elif kind == _SETTINGS and not flags & _ACK:
            self._write(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, payload))
        elif kind == _RESET:
            self._end(number, {"grpc-status": "RESET"})
        elif kind == _GOAWAY:
            self.close()

    def _headers(self, number: int, flags: int, fragment: bytes) -> None:
        call = self._calls.get(number)
        if call is None:
            return
        if flags & _END_STREAM:
            self._end(number, _decoded(fragment))
        elif call.on_headers is not None:
            call.on_headers(_decoded(fragment))

    def _end(self, number: int, trailers: Headers) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            status = trailers.get("grpc-status", "none")
            details = trailers.get("grpc-status-details-bin", "")
            call.on_end(None if status == "0" else CallFailed(status, trailers.get("grpc-message", ""), details))

    def _write(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    size = len(payload)
    return _HEAD.pack(size >> 8, size & 255, kind, flags, stream) + payload
