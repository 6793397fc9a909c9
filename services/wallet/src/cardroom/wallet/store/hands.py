"""Hands to settle: locked table by table, settled in order, or kept until what they wait for has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cardroom.wallet.domain.books import Books
from cardroom.wallet.store import batch, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cardroom.wallet.domain.settlement import Hand
    from cardroom.wallet.store.batch import Connection

WAITING_PER_TABLE_MAX: Final = 200

HandKey = tuple[str, int]


@dataclass(slots=True)
class Tables:
    """The locked tables: how far each is settled, and the bodies of the hands that wait there."""

    settled: dict[str, int] = field(default_factory=dict)
    waiting: dict[HandKey, bytes] = field(default_factory=dict)
    digests: dict[HandKey, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Settled:
    """What a batch of hands came to."""

    done: list[tuple[Hand, int | None]] = field(default_factory=list)
    kept: dict[HandKey, bytes] = field(default_factory=dict)


async def lock_tables(connection: Connection, table_ids: Iterable[str], hands: Sequence[HandKey]) -> Tables:
    """Lock the tables in one order; two replicas never settle hands of one table at the same time."""
    wanted = sorted(set(table_ids))
    rows = await connection.fetch(statements.LOCK_SETTLED_TABLES, wanted)
    if len(rows) < len(wanted):
        await connection.execute(statements.OPEN_SETTLED_TABLES, wanted)
        rows = await connection.fetch(statements.LOCK_SETTLED_TABLES, wanted)
    tables = Tables({row[0]: row[1] for row in rows})
    for table_id, number, body in await connection.fetch(statements.WAITING_HANDS, wanted, WAITING_PER_TABLE_MAX):
        tables.waiting[table_id, number] = body
    old = [key for key in hands if key[1] <= tables.settled[key[0]]]
    if old:
        ids, numbers = [key[0] for key in old], [key[1] for key in old]
        for table_id, number, digest in await connection.fetch(statements.KNOWN_HANDS, ids, numbers):
            tables.digests[table_id, number] = digest
    return tables


async def load_escrows(connection: Connection, account_names: Iterable[str]) -> Books:
    """Lock the escrows, in the order that everyone locks accounts in, and load them."""
    return (await batch.open_books(connection, dict.fromkeys(account_names))).books


async def write(connection: Connection, books: Books, tables: Tables, settled: Settled) -> None:
    """Write the hands' transfers, what is settled now, and what waits."""
    if books.transfers:
        await batch.post(connection, books)
    if settled.done:
        hands = [hand for hand, _ in settled.done]
        keys = [it.table_id for it in hands], [it.number for it in hands]
        transfers = [id_ for _, id_ in settled.done]
        await connection.execute(statements.REMEMBER_HANDS, *keys, [it.digest for it in hands], transfers)
        if any((it.table_id, it.number) in tables.waiting for it in hands):
            await connection.execute(statements.STOP_WAITING, *keys)
    if settled.kept:
        ids, numbers = [key[0] for key in settled.kept], [key[1] for key in settled.kept]
        await connection.execute(statements.KEEP_WAITING, ids, numbers, list(settled.kept.values()))
