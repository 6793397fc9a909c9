"""Calls over cheap connections (`_wire.py`) that are made again when they break, and what failed, by reason."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from google.protobuf.message import Message

from cardroom.client.transport import Backoff
from tests.bench._wire import CallFailed, Wire, block

__all__ = ["TABLE", "Caller", "Failures", "GaveUp", "Line"]

_Answer = TypeVar("_Answer", bound=Message)

TABLE: Final = "cardroom.table.v1.TableService"
_ATTEMPT_SECONDS: Final = 5.0
# Nobody knows whether the call happened.
_AGAIN: Final = frozenset({"4", "14", "UNAVAILABLE", "RESET", "none", "TIMEOUT"})
_UNAUTHENTICATED: Final = "16"


class GaveUp(Exception):
    """A call that is safe to repeat got no answer for as long as somebody was willing to wait."""


class Failures:
    """How often what went wrong: by reason, and where."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.moves = 0
        """How many streams ended because their table has a new owner: no failure, the player reads a new snapshot."""

    def add(self, where: str, reason: str) -> None:
        """Count one."""
        self.counts[f"{reason} ({where})"] += 1


class Line:
    """One connection to the edge that several players share."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._wire: Wire | None = None
        self._lock = asyncio.Lock()

    async def wire(self) -> Wire:
        """The connection, made now if there is none. Raises OSError while nobody listens."""
        async with self._lock:
            if self._wire is None or not self._wire.is_open:
                self._wire = await Wire.connect(self._address)
            return self._wire

    def drop(self) -> None:
        """Lose the connection, with everything that runs on it."""
        if self._wire is not None:
            self._wire.abort()


class Caller:
    """Somebody with a token who makes calls over a line."""

    def __init__(self, line: Line, token: Callable[[], Awaitable[str]], failures: Failures) -> None:
        self.line = line
        self.failures = failures
        self.owner = ""
        """The replica that owns the caller's table, as its streams tell."""
        self._token = token

    async def headers(self, path: str) -> bytes:
        """The headers of a call in the caller's name."""
        return _headers(path, await self._token(), self.owner if TABLE in path else "")

    async def ask(self, path: str, request: Message, answer: type[_Answer], seconds: float = 60.0) -> _Answer:
        """Make a call, again and again while nobody can answer it. Raises CallFailed with a refusal, or GaveUp."""
        where = path.rpartition("/")[2]
        loop = asyncio.get_running_loop()
        give_up, attempt, backoff = loop.time() + seconds, 0, Backoff()
        while True:
            try:
                return answer.FromString(await self._once(path, request.SerializeToString()))
            except CallFailed as failure:
                self.failures.add(where, failure.reason)
                # A token may run out on its way; there is a new one by the next try.
                if failure.status not in _AGAIN and (failure.status != _UNAUTHENTICATED or attempt):
                    raise
            except OSError as error:
                self.failures.add(where, type(error).__name__)
            if loop.time() > give_up:
                raise GaveUp(f"{where} got no answer for {seconds:g} s")
            await asyncio.sleep(backoff.pause_seconds(attempt))
            attempt += 1

    async def _once(self, path: str, request: bytes) -> bytes:
        headers, wire = await self.headers(path), await self.line.wire()
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        messages: list[bytes] = []

        def on_end(failure: CallFailed | None) -> None:
            if done.done():
                return
            if failure is not None:
                done.set_exception(failure)
            else:
                done.set_result(messages[0] if messages else b"")

        number = wire.call(headers, request, messages.append, on_end)
        try:
            async with asyncio.timeout(_ATTEMPT_SECONDS):
                return await done
        except TimeoutError:
            raise CallFailed("TIMEOUT", f"no answer within {_ATTEMPT_SECONDS:g} s") from None
        finally:
            if not done.done() or done.cancelled():
                wire.cancel(number)


@functools.lru_cache(maxsize=8192)
def _headers(path: str, token: str, owner: str) -> bytes:
    along = (("cardroom-replica", owner),) if owner else ()
    return block(path, (("authorization", f"Bearer {token}"), *along))
