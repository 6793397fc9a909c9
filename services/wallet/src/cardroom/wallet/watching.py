"""The stream of entries: from a position on, without a gap, at least once."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.wallet.api import replies
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cardroom.wallet.store.history import History

HEARTBEAT_SECONDS: Final = 10.0
POSTINGS_PER_READ: Final = 20
ENTRIES_PER_RESPONSE: Final = 1_000
_POSITION: Final = re.compile(r"(\d{1,18})\.(\d{1,18})")


def read_position(text: str) -> tuple[int, int]:
    """Return the position that a response carried; the very first for an empty text. Raises Refused."""
    if not text:
        return 0, 0
    found = _POSITION.fullmatch(text)
    if found is None:
        raise Refused("PAGE_TOKEN_INVALID", f"after_position is {text[:60]!r}, not one that this wallet gave")
    return int(found[1]), int(found[2])


class Watching:
    """Feeds any number of streams, each from its own position, by reading what was committed since."""

    def __init__(self, history: History, poll_seconds: float) -> None:
        self._history = history
        self._poll = poll_seconds

    async def entries(self, after: str, prefix: str) -> AsyncIterator[pb.WatchEntriesResponse]:
        """Yield entries as they are committed, and a heartbeat now and then. Raises Refused."""
        position = read_position(after)
        if "\0" in prefix:
            raise Refused("FIELD_INVALID", "account_prefix has a NUL, which no account has", field="account_prefix")
        silence = 0.0
        while True:
            before = position
            found, position = await self._history.posted_after(position, prefix, POSTINGS_PER_READ)
            for start in range(0, len(found), ENTRIES_PER_RESPONSE):
                part = found[start : start + ENTRIES_PER_RESPONSE]
                # Only the last part may say that the whole of it was delivered.
                reached = position if start + len(part) == len(found) else before
                yield pb.WatchEntriesResponse(entries=[replies.entry(it) for it in part], position=_write(reached))
            silence = 0.0 if found else silence + self._poll
            if silence >= HEARTBEAT_SECONDS:
                silence = 0.0
                yield pb.WatchEntriesResponse(position=_write(position))
            if position == before:
                await asyncio.sleep(self._poll)


def _write(position: tuple[int, int]) -> str:
    return f"{position[0]}.{position[1]}"
