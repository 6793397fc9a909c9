"""What the wallet consumes: `HandSettled`, a hand's wins and losses, settled once and in order per table.

A hand that comes before an earlier one, or before its players' buy-ins are posted, is kept and settled as soon as that
is there. Nothing is emitted: who wants the wallet's facts calls WatchEntries.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final

from cardroom.chassis import logs
from cardroom.contracts.events.v1 import events_pb2
from cardroom.wallet import measures
from cardroom.wallet.domain.settlement import Change, Hand, check_hand, settle
from cardroom.wallet.errors import SettlementWaits, SettlementWrong
from cardroom.wallet.posting import FIRST_BACKOFF_SECONDS, RETRIED, TRIES_MAX
from cardroom.wallet.store import hands as store
from cardroom.wallet.store import statements
from cardroom.wallet.store.hands import HandKey, Settled, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import asyncpg

    from cardroom.chassis.bus import Message
    from cardroom.wallet.domain.books import Books

QUEUE: Final = "wallet.settlements"
BINDING: Final = "table.settled.*"

log = logs.get("settlement")


def read_hand(body: bytes) -> Hand:
    """Return the hand in a `HandSettled`. Raises SettlementWrong."""
    try:
        event = events_pb2.HandSettled.FromString(body)
    except Exception as error:
        raise SettlementWrong(f"not a HandSettled: {error!r}") from error
    changes = [Change(it.player_id, it.delta, it.stack) for it in event.deltas]
    return check_hand(Hand(event.table_id, event.hand_number, event.currency or "PLAY", changes))


class Settler:
    """Settles hands as they come, and those that waited once they need not wait any more."""

    def __init__(self, pool: asyncpg.Pool[Any]) -> None:
        self._pool = pool

    async def handle(self, messages: Sequence[Message]) -> None:
        """Settle a batch from the queue. Raises SettlementWrong, after the others are settled, when one is wrong."""
        hands: dict[HandKey, tuple[Hand, bytes]] = {}
        wrong: list[SettlementWrong] = []
        for message in messages:
            try:
                hand = read_hand(message.body)
                _add(hands, hand, message.body)
            except SettlementWrong as error:
                wrong.append(error)
        if hands:
            wrong += await self.settle(hands, {hand.table_id for hand, _ in hands.values()})
        if wrong:
            measures.HANDS_WRONG.inc(len(wrong))
            log.error("hands cannot be settled", count=len(wrong), first=str(wrong[0]))
            raise wrong[0]

    async def settle(self, hands: dict[HandKey, tuple[Hand, bytes]], table_ids: Iterable[str]) -> list[SettlementWrong]:
        """Settle hands, with those that wait at the same tables; return what was wrong."""
        tries = 0
        while True:
            try:
                return await self._once(hands, table_ids)
            except RETRIED as error:
                tries += 1
                measures.RETRIES.labels(type(error).__name__).inc()
                if tries >= TRIES_MAX:
                    raise
                backoff = FIRST_BACKOFF_SECONDS * 2**tries
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))  # noqa: S311 - only spreads the retries

    async def _once(self, hands: dict[HandKey, tuple[Hand, bytes]], table_ids: Iterable[str]) -> list[SettlementWrong]:
        async with self._pool.acquire() as connection, connection.transaction():
            tables = await store.lock_tables(connection, table_ids, list(hands))
            wrong = _repeats_that_differ(hands, tables)
            fresh = {key: it for key, it in hands.items() if key[1] > tables.settled[key[0]]}
            waited = {key: (read_hand(body), body) for key, body in tables.waiting.items() if key not in fresh}
            queues = _in_order(fresh | waited, tables)
            ready = [hand for queue in queues.values() for hand in queue]
            books = await store.load_escrows(connection, (name for hand in ready for name in hand.escrows()))
            settled = Settled()
            for queue in queues.values():
                wrong += _settle_in_order(books, queue, settled)
            done = {(hand.table_id, hand.number) for hand, _ in settled.done}
            broken = {error.key for error in wrong if error.key is not None}
            settled.kept = {
                key: body
                for key, (_, body) in fresh.items()
                if key not in done and key not in tables.waiting and key not in broken
            }
            await store.write(connection, books, tables, settled)
        measures.HANDS.inc(len(settled.done))
        return wrong

    async def settle_waiting(self) -> int:
        """Try the tables again whose next hand waits; return how many there were."""
        table_ids = [row[0] for row in await self._pool.fetch(statements.TABLES_THAT_WAIT, 100)]
        if table_ids:
            for error in await self.settle({}, table_ids):
                log.error("a waiting hand cannot be settled", error=str(error))
        return len(table_ids)

    async def measure(self) -> None:
        """Set the metrics of what waits."""
        row = await self._pool.fetchrow(statements.WAITING_TOTALS)
        assert row is not None
        measures.HANDS_WAITING.set(row["hands"])
        measures.HANDS_WAITING_SECONDS.set(row["oldest_seconds"])
        measures.TABLES_WITH_GAP.set(row["gaps"])


def _add(hands: dict[HandKey, tuple[Hand, bytes]], hand: Hand, body: bytes) -> None:
    key = hand.table_id, hand.number
    before = hands.setdefault(key, (hand, body))[0]
    if before is not hand and before.digest != hand.digest:
        raise SettlementWrong(f"hand {hand.number} of table {hand.table_id} came twice, with different content", key)


def _repeats_that_differ(hands: dict[HandKey, tuple[Hand, bytes]], tables: Tables) -> list[SettlementWrong]:
    wrong = []
    for key, (hand, _) in hands.items():
        known = tables.digests.get(key)
        if known is None and key in tables.waiting:
            known = read_hand(tables.waiting[key]).digest
        if known is not None and known != hand.digest:
            text = f"hand {hand.number} of table {hand.table_id} is known already, with different content"
            wrong.append(SettlementWrong(text, key))
    return wrong


def _in_order(hands: dict[HandKey, tuple[Hand, bytes]], tables: Tables) -> dict[str, list[Hand]]:
    queues: dict[str, list[Hand]] = {}
    for key in sorted(hands):
        table_id, number = key
        queue = queues.setdefault(table_id, [])
        if number == tables.settled[table_id] + len(queue) + 1:
            # What is in the database came first; a hand of the same number that differs is refused above.
            queue.append(read_hand(tables.waiting[key]) if key in tables.waiting else hands[key][0])
    return queues


def _settle_in_order(books: Books, queue: Sequence[Hand], settled: Settled) -> list[SettlementWrong]:
    for hand in queue:
        mark = books.mark()
        try:
            transfer = settle(books, hand)
        except SettlementWaits as waits:
            books.roll_back(mark)
            log.info("a hand waits", cause=waits.cause, why=str(waits), hand=hand.number, table=hand.table_id)
            return []
        except SettlementWrong as error:
            books.roll_back(mark)
            return [SettlementWrong(str(error), (hand.table_id, hand.number))]
        settled.done.append((hand, transfer.id if transfer else None))
    return []
