"""Leases on shards: one owner at a time, judged by the database's clock, fenced by an epoch in every write.

**Safety.** What keeps two owners from both writing is `check_epochs` in each transaction, and nothing else. The lease
in memory only saves work: `epoch()` stops half a second before the lease ends, by a monotonic clock read before the
renewal was sent. A process that was stopped (SIGSTOP) and wakes finds that clock advanced. CLOCK_MONOTONIC does stand
still while a whole machine is suspended, where CLOCK_BOOTTIME would not; such a sleeper may believe for up to 2.5 s
that it owns its shards, and the first write it tries fails.

**Shares.** Live runners share the shards by rendezvous hashing: each shard goes to the runner with the highest hash of
(runner, shard), so a runner that comes or goes moves only its own share. A shard is handed over by its owner:
`on_losing` ends what runs, then the row is released and the heir, woken by NOTIFY, takes it within milliseconds. They
move a few at a time, the next only once the last have a new owner: one by one, 128 shards would take many seconds to
balance; all at once, or faster than an heir with much to do can take them, every table would pause together.

**The dead** are noticed when their lease runs out, to the moment: who lives looks again just then, not half a renewal
later.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import asyncpg

from cardroom.chassis import _lease_store, logs, metrics
from cardroom.chassis._lease_store import Board, Lease, LeaseStore
from cardroom.chassis._shares import Shares
from cardroom.chassis._shifts import Shifts
from cardroom.chassis.errors import LeaseLost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

SHARDS: Final = 256
TTL_SECONDS: Final = 3.0
RENEW_SECONDS: Final = 0.5
MARGIN_SECONDS: Final = 0.5
HANDOVER_BATCH: Final = 8
TICK_GAP_SECONDS: Final = 0.01
RETRY_SECONDS: Final = 0.1
DRAIN_SECONDS: Final = 5.0
HURRY_SECONDS: Final = 4.0
HEIR_SECONDS: Final = 1.0
"""How long the next shards wait for an heir to take the last; one that leaves waits for nobody after HURRY_SECONDS."""
EXPIRED_SECONDS: Final = 0.005
_DATABASE_AWAY: Final = (
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError,
)  # fmt: skip

log = logs.get("leases")


class Owner(NamedTuple):
    """Who owns a shard."""

    address: str
    epoch: int


class LeaseKeeper:
    """Takes this process' share of the shards, renews, hands over, and knows the owner of every shard.

    A part of an `App`. `runner_id` names this process for people; each start is another runner. `on_gained(shard,
    epoch)` is awaited after a shard became ours, and again after a pause if it fails; `on_losing(shard)` before it is
    given away (`epoch()` is still good then), or after it was lost (it is not). Calls for one shard never overlap.
    """

    def __init__(
        self,
        pool: Pool,
        runner_id: str,
        address: str,
        *,
        shards: int = SHARDS,
        ttl: float = TTL_SECONDS,
        renew: float = RENEW_SECONDS,
        on_gained: Callable[[int, int], Awaitable[None]] | None = None,
        on_losing: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        assert renew * 2 <= ttl - MARGIN_SECONDS, f"renew is {renew} s: too slow for a ttl of {ttl} s"
        self._pool = pool
        self._name = runner_id
        self._address = address
        self._ttl = ttl
        self._renew = renew
        self._runner: str | None = None
        self._safe_until = float("-inf")
        self._mine: dict[int, int] = {}
        self._board = Board({}, frozenset(), {}, {})
        self._shares = Shares(shards)
        self._shifts = Shifts(on_gained, on_losing, self._mine)
        self._nudge = asyncio.Event()
        self._ticked = asyncio.Event()
        self._draining = False
        self._told_draining = False
        self._strays: set[int] = set()
        self._given: dict[int, float] = {}
        self._hurry_at = float("inf")
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to register and take shards; a database that is away is tried until it answers."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="leases")

    async def drain(self) -> None:
        """Give every shard up now, as fast as the others take them over; take no more."""
        now = time.monotonic()
        if not self._draining:
            self._draining, self._hurry_at = True, now + HURRY_SECONDS
        self._nudge.set()
        while self._task is not None and self.owned() and time.monotonic() < now + DRAIN_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(TICK_GAP_SECONDS)

    async def stop(self) -> None:
        """Give up what is left, and leave."""
        await self.drain()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with contextlib.suppress(*_DATABASE_AWAY):
                await asyncio.wait_for(self._leave(), 1.0)
        self._lose(list(self._mine))
        await self._shifts.close()

    @property
    def ready(self) -> bool:
        """Whether this runner is registered and its lease is good."""
        return time.monotonic() < self._safe_until and not self._draining

    def epoch(self, shard: int) -> int | None:
        """Return the epoch under which we own `shard`, or None if we do not, or no longer safely."""
        return self._mine.get(shard) if time.monotonic() < self._safe_until else None

    def owned(self) -> dict[int, int]:
        """Return the shards we own now with their epochs; empty if the lease is not safely ours."""
        return dict(self._mine) if time.monotonic() < self._safe_until else {}

    def owner_of(self, shard: int) -> Owner | None:
        """Return who owns `shard` by what the database said last, or None if nobody does."""
        board = self._board
        owner = board.owner(shard)
        return None if owner is None else Owner(board.addresses[owner], board.leases[shard].epoch)

    async def refresh(self, timeout_seconds: float = 1.0) -> None:
        """Read the owners anew, for a caller whom the one it knew has turned away."""
        self._ticked.clear()
        self._nudge.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ticked.wait(), timeout_seconds)

    async def _run(self) -> None:
        while True:
            try:
                conn = await self._pool.acquire(timeout=self._ttl / 3)
                try:
                    await self._ticks(conn)
                finally:
                    # What a broken or half-used session still holds is the database's to clean up.
                    conn.terminate()
                    await self._pool.release(conn)
            except _DATABASE_AWAY as error:
                metrics.LEASE_RENEW_FAILED.inc()
                log.warning("leases could not be renewed; trying again", error=repr(error))
            except Exception:
                log.exception("leases could not be renewed in an unforeseen way; trying again")
            await asyncio.sleep(RETRY_SECONDS)

    async def _ticks(self, conn: Connection) -> None:
        await conn.add_listener(_lease_store.CHANNEL, self._heard)
        while True:
            async with asyncio.timeout(self._ttl / 3):
                await self._tick(conn)
            self._ticked.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_seconds()):
                    await self._nudge.wait()
            self._nudge.clear()
            await asyncio.sleep(TICK_GAP_SECONDS)

    def _pause_seconds(self) -> float:
        """How long to wait for news: until the next renewal, or until somebody's lease runs out before that."""
        others = [left for runner, left in self._board.seconds_left.items() if runner != self._runner]
        return max(0.0, min([self._renew, *(left + EXPIRED_SECONDS for left in others)]))

    async def _tick(self, conn: Connection) -> None:
        store = await self._alive(conn)
        buried = await store.bury()
        released = await self._release(store)
        board = await store.board()
        self._lose([shard for shard, epoch in self._mine.items() if board.leases.get(shard) != self._lease(epoch)])
        self._strays = {shard for shard in board.leases if self._is_stray(shard, board)}
        claimed = await self._claim(store, board)
        self._board = board
        if buried or released or claimed:
            await store.tell()
        self._hand_over(board)
        metrics.LEASES_HELD.set(len(self._mine))

    async def _alive(self, conn: Connection) -> LeaseStore:
        """Renew, or register where this runner is not known (any more). The clock is read before asking."""
        asked_at = time.monotonic()
        store = LeaseStore(conn, self._runner or f"{self._name}#{secrets.token_hex(4)}")
        if self._runner is not None and not await store.renew(self._ttl):
            log.warning("this runner was taken for dead; its shards are lost", shards=len(self._mine))
            self._safe_until = float("-inf")
            self._runner = None
            self._lose(list(self._mine))
            store = LeaseStore(conn, f"{self._name}#{secrets.token_hex(4)}")
        if self._runner is None:
            await store.register(self._address, self._ttl)
            self._runner = store.runner
            self._told_draining = False
            await store.tell()
        if self._draining and not self._told_draining:
            await store.drain()
            self._told_draining = True
        self._safe_until = asked_at + self._ttl - MARGIN_SECONDS
        return store

    async def _release(self, store: LeaseStore) -> list[int]:
        """Release what `on_losing` is over for. From here on `epoch()` is None for it."""
        handed = self._shifts.take_handed()
        for shard in handed:
            self._mine.pop(shard, None)
        until = min(time.monotonic() + HEIR_SECONDS, self._hurry_at)
        self._given |= dict.fromkeys(handed, until)
        metrics.LEASES_MOVED.labels("handed over").inc(len(handed))
        released = [*handed, *self._strays]
        if released:
            await store.release(released)
        return released

    def _is_stray(self, shard: int, board: Board) -> bool:
        """Tell whether we own a shard without knowing: the answer to a claim or a release got lost."""
        return shard not in self._mine and board.leases[shard].owner == self._runner

    async def _claim(self, store: LeaseStore, board: Board) -> dict[int, int]:
        if self._draining or self._runner is None:
            return {}
        free = [shard for shard in self._shares.of(self._runner, board) if board.owner(shard) is None]
        claimed = await store.claim(free) if free else {}
        for shard, epoch in claimed.items():
            board.leases[shard] = self._lease(epoch)
            self._mine[shard] = epoch
            self._shifts.gained(shard, epoch)
        metrics.LEASES_MOVED.labels("gained").inc(len(claimed))
        if len(claimed) < len(free):
            # A transaction of the last owner still runs on some of them.
            asyncio.get_running_loop().call_later(TICK_GAP_SECONDS * 5, self._nudge.set)
        return claimed

    def _hand_over(self, board: Board) -> None:
        """Begin to hand over a few of the shards that others should have, or some more of all when we leave.

        What waits for its turn goes on working meanwhile: a shard is without an owner only while its own batch moves.
        """
        assert self._runner is not None
        keep = set() if self._draining else self._shares.of(self._runner, board)
        surplus = sorted(shard for shard in self._mine if shard not in keep)
        if surplus and not self._is_awaiting_heirs(board):
            self._shifts.hand_over(surplus[:HANDOVER_BATCH], self._nudge.set)

    def _is_awaiting_heirs(self, board: Board) -> bool:
        """Whether somebody is about to take what was given away last."""
        now = time.monotonic()
        if not board.addresses.keys() - board.draining - {self._runner}:
            self._given.clear()
        self._given = {shard: until for shard, until in self._given.items() if until > now and not board.owner(shard)}
        return bool(self._given)

    def _lose(self, shards: list[int]) -> None:
        for shard in shards:
            del self._mine[shard]
            self._shifts.lost(shard)
        metrics.LEASES_MOVED.labels("lost").inc(len(shards))

    def _lease(self, epoch: int) -> Lease:
        return Lease(self._runner, epoch)

    async def _leave(self) -> None:
        if self._runner is not None:
            async with self._pool.acquire() as conn:
                store = LeaseStore(conn, self._runner)
                await store.leave()
                await store.tell()

    def _heard(self, _conn: Any, _pid: int, _channel: str, who: object) -> None:
        if who != self._runner:
            self._nudge.set()


async def check_epochs(conn: Connection, epochs: Mapping[int, int]) -> None:
    """Raise LeaseLost, naming them, if any shard's epoch is not the given one; else they stay until `conn` commits.

    One statement for all shards, in the transaction that writes. It locks the lease rows for sharing: a takeover waits
    for this transaction, and this transaction fails if the takeover came first.
    """
    rows = await conn.fetch(_lease_store.CHECK, list(epochs), list(epochs.values()))
    if rows:
        raise LeaseLost(sorted(row["shard"] for row in rows))


def shard_of(key: str, shards: int = SHARDS) -> int:
    """Return the shard that `key` (a table's id) belongs to: the same in every process and release."""
    return zlib.crc32(key.encode()) % shards
