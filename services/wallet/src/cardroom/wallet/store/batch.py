"""One batch in one transaction: look up, lock in one order, load the books; then write what was decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import Account, Books, Hold, HoldState, is_new_player
from cardroom.wallet.domain.commands import Command, Known
from cardroom.wallet.store import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import asyncpg

    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A request that was answered for good, and the answer."""

    owner: str
    request_id: str
    method: str
    request: bytes
    refused: bool
    reply: bytes
    first_transfer: int = 0
    transfers: int = 0


@dataclass(slots=True)
class Loaded:
    """The locked books and the requests that were answered before.

    With `lacks_grants` somebody may be new, and the account that the sign-up grant comes from is not locked.
    """

    books: Books
    answered: dict[Key, Remembered] = field(default_factory=dict)
    lacks_grants: bool = False


async def look_up(connection: Connection, commands: Sequence[Command], known: Known) -> None:
    """Find what commands must know before their accounts can be named, where it is not known yet."""
    holds = {hold for it in commands if (hold := it.needs_hold()) is not None and hold not in known.hold_accounts}
    if holds:
        rows = await connection.fetch(statements.HOLD_ACCOUNTS, list(holds))
        known.hold_accounts.update((row[0], row[1]) for row in rows)
    escrows = {name for it in commands if (name := it.needs_currency()) and name not in known.currencies}
    if escrows:
        rows = await connection.fetch(statements.CURRENCIES, list(escrows))
        known.currencies.update((row[0], row[1]) for row in rows)
    leagues = {currency for it in commands if (currency := it.asks_league())}
    if leagues:
        found: dict[str, list[str]] = {currency: [] for currency in leagues}
        for currency, name in await connection.fetch(statements.LEAGUE_ACCOUNTS, list(leagues)):
            found[currency].append(name)
        # Last, and whole: other lanes look up other leagues in the same `known`.
        known.league_accounts = found


async def _open_accounts(connection: Connection, opened: Sequence[Account]) -> None:
    """Insert new accounts, after all locks and in the order of their names, and give them their ids.

    Two batches that open the same one wait for each other in that order; the later one fails and is tried again.
    """
    ordered = sorted(opened, key=lambda it: it.name.text)
    parsed = [it.name for it in ordered]
    rows = await connection.fetch(
        statements.OPEN_ACCOUNTS,
        [it.text for it in parsed],
        [it.kind.value for it in parsed],
        [it.currency for it in ordered],
        [it.player_id for it in parsed],
        [it.table_id for it in parsed],
    )
    ids = {row[0]: row[1] for row in rows}
    for account in ordered:
        account.id = ids[account.name.text]


async def open_books(
    connection: Connection, account_names: Iterable[str], keys: Sequence[Key] = (), holds: Sequence[int] = ()
) -> Loaded:
    """Lock the accounts that exist, in the one order there is, and load them with what holds under their locks."""
    owners, request_ids = [key[0] for key in keys], [key[1] for key in keys]
    row = await connection.fetchrow(statements.OPEN_BOOKS, list(account_names), owners, request_ids, list(holds))
    assert row is not None
    moment, posting_id, accounts, answered, known_holds = row
    loaded = Loaded(Books(posting_id, moment))
    books = loaded.books
    for id_, name, *state in accounts:
        books.accounts[name] = Account(id_, names.parse(name), *state)
    for it in answered:
        loaded.answered[it[0], it[1]] = Remembered(*it)
    by_id = {it.id: name for name, it in books.accounts.items()}
    for it in known_holds:
        # A hold of an account that was not found by the look-up has just been made; it is found at the next try.
        if it[1] in by_id:
            books.holds[it[0]] = _hold(it, by_id[it[1]])
    return loaded


async def load(
    connection: Connection, commands: Sequence[Command], keys: Sequence[Key], also: Sequence[str] = ()
) -> Loaded:
    """Lock and load the accounts that the commands need, as far as there are any, and those named besides."""
    allowances = await _lock_allowances(connection, commands)
    wanted = dict.fromkeys(name for it in commands for name in it.account_names())
    wanted.update(dict.fromkeys(also))
    holds = [hold for it in commands if (hold := it.needs_hold()) is not None]
    loaded = await open_books(connection, wanted, keys, holds)
    loaded.books.allowances = allowances
    grants = names.grants_account(names.PLAY)
    loaded.lacks_grants = grants not in wanted and _is_anyone_new(commands, loaded.books.accounts)
    await _load_facts(connection, commands, loaded.books)
    return loaded


def _is_anyone_new(commands: Sequence[Command], accounts: dict[str, Account]) -> bool:
    opened = (names.parse(name) for it in commands for name, _ in it.may_open() if name not in accounts)
    is_opened = any(it.kind is names.Kind.PLAYER and it.currency == names.PLAY for it in opened)
    return is_opened or any(is_new_player(it) for it in accounts.values())


def _hold(row: Any, account: str) -> Hold:
    id_, _, amount, reason, created_at, expires_at, state, posted_amount, closed_by = row
    return Hold(id_, account, amount, reason, created_at, expires_at, HoldState(state), posted_amount, closed_by)


async def _lock_allowances(connection: Connection, commands: Sequence[Command]) -> dict[tuple[str, str], int]:
    wanted = sorted({(it.actor, it.spending.purpose) for it in commands if it.spending and it.spending.day_limit})
    if not wanted:
        return {}
    columns = [key[0] for key in wanted], [key[1] for key in wanted]
    rows = await connection.fetch(statements.LOCK_ALLOWANCES, *columns)
    if len(rows) < len(wanted):
        await connection.execute(statements.OPEN_ALLOWANCES, *columns)
        rows = await connection.fetch(statements.LOCK_ALLOWANCES, *columns)
    return {(subject, purpose): used for subject, purpose, used in rows}


async def _load_facts(connection: Connection, commands: Sequence[Command], books: Books) -> None:
    players = [player for it in commands if (player := it.asks_refill())]
    if players:
        for player, last, at_tables in await connection.fetch(statements.REFILL_FACTS, players):
            books.at_tables[player] = at_tables
            if last is not None:
                books.last_refills[player] = last
    tables = [table for it in commands if (table := it.asks_table())]
    if tables:
        rows = await connection.fetch(statements.SETTLED_UP_TO, tables)
        books.settled.update((row[0], row[1]) for row in rows)


async def write(connection: Connection, books: Books, remember: Sequence[Remembered]) -> None:
    """Write everything that the books and the answered requests hold, in few statements, whatever the batch's size."""
    if books.opened:
        await _open_accounts(connection, books.opened)
    if books.placed:
        await _place_holds(connection, books)
    placed = {id(it) for it in books.placed}
    ended = [it for it in books.ended if id(it) not in placed]
    if ended:
        states = [int(it.state) for it in ended]
        posted, closed_by = [it.posted_amount for it in ended], [it.closed_by for it in ended]
        await connection.execute(statements.END_HOLDS, [it.id for it in ended], states, posted, closed_by)
    if books.transfers or remember:
        await post(connection, books, remember)
    if books.refills:
        refilled = [account.id for account, _ in books.refills], [at for _, at in books.refills]
        await connection.execute(statements.REMEMBER_REFILLS, *refilled)
    if books.closing:
        await connection.execute(statements.CLOSE_ACCOUNTS, [it.id for it in books.closing], books.now)
    if books.allowances:
        subjects, purposes = [key[0] for key in books.allowances], [key[1] for key in books.allowances]
        await connection.execute(statements.SPEND_ALLOWANCES, subjects, purposes, list(books.allowances.values()))


async def _place_holds(connection: Connection, books: Books) -> None:
    placed = books.placed
    await connection.execute(
        statements.PLACE_HOLDS,
        [it.id for it in placed],
        [books.accounts[it.account].id for it in placed],
        [it.amount for it in placed],
        [it.reason for it in placed],
        [it.created_at for it in placed],
        [it.expires_at for it in placed],
        [int(it.state) for it in placed],
        [it.posted_amount for it in placed],
        [it.closed_by for it in placed],
    )


async def post(connection: Connection, books: Books, remember: Sequence[Remembered] = ()) -> None:
    """Insert the transfers, their entries and the answers in one statement; the database moves the balances."""
    moved = books.transfers
    times = [it.at.isoformat() for it in moved]
    lines = [
        (it.id, leg, entry, at) for it, at in zip(moved, times, strict=True) for leg, entry in enumerate(it.entries, 1)
    ]
    await connection.execute(
        statements.POST,
        books.posting_id,
        len(moved),
        _literal([it.id for it in moved]),
        _literal([int(it.kind) for it in moved]),
        [it.currency for it in moved],
        _literal([len(it.entries) for it in moved]),
        [it.reason for it in moved],
        [it.actor for it in moved],
        _literal([it.hold_id for it in moved]),
        _literal(times),
        _literal([books.accounts[entry.account].id for _, _, entry, _ in lines]),
        _literal([entry.version for _, _, entry, _ in lines]),
        _literal([id_ for id_, _, _, _ in lines]),
        _literal([leg for _, leg, _, _ in lines]),
        _literal([entry.amount for _, _, entry, _ in lines]),
        _literal([entry.balance_after for _, _, entry, _ in lines]),
        _literal([entry.held_change for _, _, entry, _ in lines]),
        _literal([entry.held_after for _, _, entry, _ in lines]),
        _literal([entry.stack for _, _, entry, _ in lines]),
        _literal([at for _, _, _, at in lines]),
        [it.owner for it in remember],
        [it.request_id for it in remember],
        [it.method for it in remember],
        [it.request for it in remember],
        [it.refused for it in remember],
        [it.reply for it in remember],
        _literal([it.first_transfer for it in remember]),
        _literal([it.transfers for it in remember]),
    )


def _literal(values: Sequence[int | str | None]) -> str:
    """Return an array literal of numbers or times, none of which needs quoting."""
    return "{" + ",".join(["NULL" if it is None else str(it) for it in values]) + "}"
