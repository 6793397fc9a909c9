"""Reads: balances now and then, statements, transfers, holds, settled hands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cardroom.wallet.domain.books import TRANSFERS_PER_POSTING, BalanceAfter, Hold, HoldState
from cardroom.wallet.domain.commands import REFILL_EVERY
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncpg

SCANNED_PER_PAGE: Final = 2_000
WAITING_SHOWN_MAX: Final = 1_000
TICK: Final = timedelta(microseconds=1)
TIME_MAX: Final = datetime.max.replace(tzinfo=UTC)

# A hold whose time is up counts no more, even before its expiry has become an entry.
BALANCE: Final = """
select a.id, a.currency, a.posted, a.version, a.closed_at is not null as closed,
       a.held - (select coalesce(sum(h.amount), 0)::bigint from holds h
                  where h.account_id = a.id and h.state = 1 and h.expires_at <= clock_timestamp()) as held
  from accounts a where a.name = $1
"""

AT_TABLES: Final = """
select coalesce(sum(posted), 0)::bigint from accounts where player_id = $1 and currency = $2 and kind = 'escrow'
"""

# None once the wait is over, by the database's clock like all that follows from it.
NEXT_REFILL: Final = """
select max(refilled_at) + $2::interval from refills where account_id = $1
having max(refilled_at) + $2::interval > clock_timestamp()
"""

# Versions have no gaps and times never fall, so a moment is found by halving: 20 look-ups in a million entries.
VERSION_AT: Final = """
with recursive narrowed (low, high) as (
    select 0::bigint, version from accounts where id = $1
    union all
    select case when e.created_at < $2 then e.version else n.low end,
           case when e.created_at < $2 then n.high else e.version - 1 end
      from narrowed n join entries e on e.account_id = $1 and e.version = (n.low + n.high + 1) / 2
     where n.low < n.high
)
select low from narrowed where low = high
"""

ENTRY_AT: Final = "select balance_after, held_after from entries where account_id = $1 and version = $2"

_ENTRY: Final = """
select e.version, e.amount, e.balance_after, e.held_change, e.held_after, e.transfer_id, t.kind, t.reason, e.created_at
"""

NEWEST: Final = f"""{_ENTRY}
  from (select * from entries where account_id = $1 and version <= $2 and version >= $3
         order by version desc limit $4) e
  join transfers t on t.id = e.transfer_id order by e.version desc
"""  # noqa: S608 - no value is built in

OLDEST: Final = f"""{_ENTRY}
  from (select * from entries where account_id = $1 and version >= $3 and version <= $2
         order by version limit $4) e
  join transfers t on t.id = e.transfer_id order by e.version
"""  # noqa: S608 - no value is built in

_ENTRIES_OF_KINDS: Final = f"""{_ENTRY}
  from entries e join transfers t on t.id = e.transfer_id
 where e.account_id = $1 and e.version <= $2 and e.version >= $3 and t.kind = any($5::smallint[])
"""

NEWEST_OF_KINDS: Final = f"{_ENTRIES_OF_KINDS} order by e.version desc limit $4"
OLDEST_OF_KINDS: Final = f"{_ENTRIES_OF_KINDS} order by e.version limit $4"

TRANSFERS: Final = """
select t.id, t.kind, t.currency, t.reason, t.actor, t.hold_id, t.created_at, a.name, e.version, e.amount,
       e.balance_after, e.held_change, e.held_after
  from transfers t join entries e on e.transfer_id = t.id join accounts a on a.id = e.account_id
 where t.id between $1 and $2 order by t.id, e.leg
"""

REQUEST: Final = "select first_transfer, transfers from requests where owner = $1 and request_id = $2"

HAND: Final = "select transfer_id from settlements where table_id = $1 and hand_number = $2"

HOLD: Final = """
select h.id, a.name, h.amount, h.reason, h.created_at, h.expires_at,
       case when h.state = 1 and h.expires_at <= clock_timestamp() then 4 else h.state end as state, h.posted_amount
  from holds h join accounts a on a.id = h.account_id where h.id = $1
"""

SETTLED: Final = "select hand_number from settled_tables where table_id = $1"

WAITING: Final = "select hand_number from waiting_hands where table_id = $1 order by hand_number limit $2"

NEXT_POSTINGS: Final = """
select tx, id, transfers from postings
 where (tx, id) > ($1, $2) and tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
 order by tx, id limit $3
"""

POSTED_ENTRIES: Final = """
select a.name, e.version, e.amount, e.balance_after, e.held_change, e.held_after, e.transfer_id, t.kind, t.reason,
       e.created_at
  from transfers t join entries e on e.transfer_id = t.id join accounts a on a.id = e.account_id
 where t.id between $1 and $2 and starts_with(a.name, $3) order by t.id, e.leg
"""


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A line of history as it is shown."""

    account: str
    version: int
    amount: int
    balance_after: int
    held_change: int
    held_after: int
    transfer_id: int
    kind: int
    reason: str
    created_at: datetime


@dataclass(slots=True)
class TransferRow:
    """A transfer as it is shown."""

    id: int
    kind: int
    currency: str
    reason: str
    actor: str
    hold_id: int | None
    at: datetime
    entries: list[EntryRow]


@dataclass(frozen=True, slots=True)
class Span:
    """Which part of a statement is asked for. `after` is the version that the page before ended with."""

    newest_first: bool
    size: int
    kinds: frozenset[int] = frozenset()
    start: datetime | None = None
    end: datetime | None = None
    after: int | None = None


class History:
    """Reads the ledger. Nothing here locks or writes."""

    def __init__(self, pool: asyncpg.Pool[Any]) -> None:
        self._pool = pool

    async def _account(self, name: str) -> Any:
        row = await self._pool.fetchrow(BALANCE, name)
        if row is None:
            raise Refused("ACCOUNT_NOT_FOUND", f"there is no account {name!r}", account=name)
        return row

    async def balance(self, name: str, at: datetime | None = None) -> BalanceAfter:
        """Return an account now, or after the entries up to and at a past moment."""
        row = await self._account(name)
        if at is None:
            return BalanceAfter(name, row["currency"], row["posted"], row["held"], row["version"], row["closed"])
        version = await self._pool.fetchval(VERSION_AT, row["id"], min(at, TIME_MAX - TICK) + TICK)
        entry = await self._pool.fetchrow(ENTRY_AT, row["id"], version) if version else (0, 0)
        assert entry is not None
        return BalanceAfter(name, row["currency"], entry[0], entry[1], version, closed=False)

    async def at_tables(self, player_id: str, currency: str) -> int:
        """Return the chips of a player at tables, in one currency."""
        return int(await self._pool.fetchval(AT_TABLES, player_id, currency))

    async def next_refill(self, account: str) -> datetime | None:
        """Return when the next refill may be asked for; None when it may be now."""
        row = await self._account(account)
        again: datetime | None = await self._pool.fetchval(NEXT_REFILL, row["id"], REFILL_EVERY)
        return again

    async def entries(self, name: str, span: Span) -> tuple[list[EntryRow], int | None]:
        """Return a page and the version it ended with; None when nothing follows."""
        row = await self._account(name)
        low, high = 1, row["version"]
        if span.start is not None:
            low = await self._pool.fetchval(VERSION_AT, row["id"], span.start) + 1
        if span.end is not None:
            high = await self._pool.fetchval(VERSION_AT, row["id"], span.end)
        if span.after is not None:
            low, high = (low, min(high, span.after - 1)) if span.newest_first else (max(low, span.after + 1), high)
        # Kinds are looked for in a stretch at a time, so that a rare one does not cost a walk through all of history.
        if span.kinds and span.newest_first:
            stretch = max(low, high - SCANNED_PER_PAGE + 1), high
        elif span.kinds:
            stretch = low, min(high, low + SCANNED_PER_PAGE - 1)
        else:
            stretch = low, high
        page = [EntryRow(name, *line) for line in await self._lines(row["id"], span, *stretch)]
        ended = page[-1].version if len(page) == span.size else stretch[0 if span.newest_first else 1]
        more = low < ended if span.newest_first else ended < high
        return page, ended if more else None

    async def _lines(self, account_id: int, span: Span, low: int, high: int) -> Sequence[Any]:
        if not span.kinds:
            return await self._pool.fetch(NEWEST if span.newest_first else OLDEST, account_id, high, low, span.size)
        statement = NEWEST_OF_KINDS if span.newest_first else OLDEST_OF_KINDS
        return await self._pool.fetch(statement, account_id, high, low, span.size, sorted(span.kinds))

    async def transfers(self, first: int, count: int = 1) -> list[TransferRow]:
        """Return transfers with ids one after the other; those that do not exist are left out."""
        by_id: dict[int, TransferRow] = {}
        for row in await self._pool.fetch(TRANSFERS, first, first + count - 1):
            id_, kind, currency, reason, actor, hold_id, at, name, version, amount, after, held_change, held = row
            moved = by_id.setdefault(id_, TransferRow(id_, kind, currency, reason, actor, hold_id, at, []))
            moved.entries.append(EntryRow(name, version, amount, after, held_change, held, id_, kind, reason, at))
        return list(by_id.values())

    async def transfers_of_request(self, owner: str, request_id: str) -> list[TransferRow]:
        """Return what a request moved. Raises Refused TRANSFER_NOT_FOUND for one that was never answered."""
        row = await self._pool.fetchrow(REQUEST, owner, request_id)
        if row is None:
            text = f"no request {request_id!r} of {owner} was answered for good"
            raise Refused("TRANSFER_NOT_FOUND", text, request_id=request_id)
        return await self.transfers(row[0], row[1]) if row[1] else []

    async def transfers_of_hand(self, table_id: str, hand_number: int) -> list[TransferRow]:
        """Return what a settled hand moved. Raises Refused TRANSFER_NOT_FOUND for one that is not settled."""
        row = await self._pool.fetchrow(HAND, table_id, hand_number)
        if row is None:
            text = f"hand {hand_number} of table {table_id} is not settled"
            raise Refused("TRANSFER_NOT_FOUND", text, table_id=table_id, hand_number=hand_number)
        return await self.transfers(row[0]) if row[0] is not None else []

    async def hold(self, hold_id: int) -> Hold:
        """Return a hold. Raises Refused HOLD_NOT_FOUND."""
        row = await self._pool.fetchrow(HOLD, hold_id)
        if row is None:
            raise Refused("HOLD_NOT_FOUND", f"there is no hold {hold_id}", hold_id=hold_id)
        id_, name, amount, reason, created_at, expires_at, state, posted_amount = row
        return Hold(id_, name, amount, reason, created_at, expires_at, HoldState(state), posted_amount)

    async def settled(self, table_id: str) -> tuple[int, Sequence[int]]:
        """Return the last settled hand of a table, and the first of those that wait."""
        settled = await self._pool.fetchval(SETTLED, table_id)
        waiting = await self._pool.fetch(WAITING, table_id, WAITING_SHOWN_MAX)
        return settled or 0, [row[0] for row in waiting]

    async def posted_after(
        self, position: tuple[int, int], prefix: str, most: int
    ) -> tuple[list[EntryRow], tuple[int, int]]:
        """Return the entries of the next postings and the position after them; what may still commit is not passed."""
        rows = await self._pool.fetch(NEXT_POSTINGS, *position, most)
        entries: list[EntryRow] = []
        for tx, id_, transfers in rows:
            first = id_ * TRANSFERS_PER_POSTING
            found = await self._pool.fetch(POSTED_ENTRIES, first, first + transfers - 1, prefix)
            entries.extend(EntryRow(*row) for row in found)
            position = (tx, id_)
        return entries, position
