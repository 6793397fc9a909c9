"""The token keys that the gateway publishes (a JWKS), fetched in the background and again for an unknown key."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from cardroom.chassis import logs
from cardroom.chassis.errors import Unauthenticated, Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from joserfc.jwk import KeySet

FIRST_WAIT_SECONDS: Final = 0.2
MAX_WAIT_SECONDS: Final = 5.0
REFRESH_SECONDS: Final = 300.0
REFETCH_GAP_SECONDS: Final = 2.0

log = logs.get("auth")


class PublishedKeys:
    """The current key set, or None until the first fetch worked."""

    def __init__(self, url: str, fixed: KeySet | None = None) -> None:
        self.current: KeySet | None = fixed
        self._url = url
        self._fixed = fixed is not None
        self._task: asyncio.Task[None] | None = None
        self._fetching = asyncio.Lock()
        self._last_fetch = float("-inf")

    async def start(self) -> None:
        """Begin to fetch in the background."""
        if not self._fixed and self._task is None:
            self._task = asyncio.create_task(self._keep_fresh(), name="jwks")

    async def stop(self) -> None:
        """Stop the background task."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def holding(self, kid: str) -> KeySet:
        """Return the keys, fetched anew if `kid` is not among them (at most once in a while, whoever asks)."""
        keys = self.current
        if keys is not None and (self._fixed or _has(keys, kid)):
            return keys
        async with self._fetching:
            keys = self.current
            if (keys is None or not _has(keys, kid)) and time.monotonic() - self._last_fetch >= REFETCH_GAP_SECONDS:
                await self._fetch_quietly()
        if self.current is None:
            raise Unavailable("KEYS_UNAVAILABLE", "the token keys could not be fetched yet: try again")
        if not _has(self.current, kid):
            raise Unauthenticated(
                "TOKEN_INVALID", "the token is signed with a key that is not published: sign in again"
            )
        return self.current

    async def _keep_fresh(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            async with self._fetching:
                fetched = await self._fetch_quietly()
            wait = REFRESH_SECONDS if fetched else min(wait * 2, MAX_WAIT_SECONDS)
            await asyncio.sleep(wait)
            if fetched:
                wait = FIRST_WAIT_SECONDS

    async def _fetch_quietly(self) -> bool:
        self._last_fetch = time.monotonic()
        try:
            self.current = await _fetch(self._url)
        except Exception as error:  # noqa: BLE001,RUF100 - whatever came instead of keys, the next try may get them
            log.warning("token keys could not be fetched; trying again", url=self._url, error=repr(error))
            return False
        return True


async def _fetch(url: str) -> KeySet:
    fetch = await asyncio.to_thread(_fetcher)
    return await fetch(url)


def _fetcher() -> Callable[[str], Awaitable[KeySet]]:
    """Load what fetches, in a thread: it takes longer than all that a service needs to begin its work."""
    from cardroom.chassis import _jwts  # noqa: PLC0415 - slow import

    return _jwts.fetch


def _has(keys: KeySet, kid: str) -> bool:
    return any(key.kid == kid for key in keys.keys)
