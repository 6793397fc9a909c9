"""The database itself refuses what must never be, whoever writes SQL (1.2, design §4)."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from cardroom.chassis import database
from tests.integration.wallet.running import Wallet, new_id

LEAGUE = new_id()
AT = "clock_timestamp()"


@pytest.fixture(scope="module")
async def books(wallet: Wallet) -> dict[str, int]:
    """Two funded PLAY accounts, one LEAGUE account; their ids by name."""
    for name in ("house/one/play", "house/two/play"):
        await wallet.grant(name, 1000)
    await wallet.grant(f"house/three/league/{LEAGUE}", 1000)
    rows = await wallet.pool.fetch("select name, id from accounts where name like 'house/%'")
    return {name.split("/")[1]: id_ for name, id_ in rows}


class Draft:
    """A transfer written by hand, in a transaction that is always undone."""

    def __init__(self, connection: Any, id_: int, legs: int, kind: int = 4) -> None:
        self.connection, self.id, self.legs, self.kind = connection, id_, legs, kind

    async def write(
        self, *rows: tuple[int, int], currency: str = "PLAY", version: int = 2, balance: int = 1000
    ) -> None:
        """Insert the transfer and its entries: (account, amount) each, following on a balance of 1000."""
        await self.connection.execute(
            "insert into transfers values ($1, $2, $3, $4, '', 'test', null, clock_timestamp())",
            self.id,
            self.kind,
            currency,
            self.legs,
        )
        await self.connection.execute(
            "insert into entries select a, $1, $2, row_number() over (), x, $3 + x, 0, 0, null, clock_timestamp()"
            " from unnest($4::bigint[], $5::bigint[]) u (a, x)",
            version,
            self.id,
            balance,
            [row[0] for row in rows],
            [row[1] for row in rows],
        )


@pytest.fixture
async def draft(wallet: Wallet, books: dict[str, int]) -> Any:
    """A hand-written transfer of two legs."""
    async with wallet.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield Draft(connection, 10**15, 2)
        await transaction.rollback()


async def test_a_sound_transfer_is_taken_and_moves_the_balances(draft: Draft, books: dict[str, int]) -> None:
    await draft.write((books["one"], -10), (books["two"], 10))
    row = await draft.connection.fetchrow("select posted, version from accounts where id = $1", books["one"])
    assert tuple(row) == (990, 2)


async def test_mixed_currencies_are_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="unsound"):
        await draft.write((books["one"], -10), (books["three"], 10))


async def test_a_transfer_of_another_currency_than_its_accounts_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="unsound"):
        await draft.write((books["one"], -10), (books["two"], 10), currency=f"LEAGUE/{LEAGUE}")


async def test_an_unbalanced_transfer_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="unsound"):
        await draft.write((books["one"], -10), (books["two"], 11))


async def test_a_leg_that_is_missing_or_too_many_is_refused(draft: Draft, books: dict[str, int]) -> None:
    draft.legs = 3
    with pytest.raises(asyncpg.CheckViolationError, match="unsound"):
        await draft.write((books["one"], -10), (books["two"], 10))


async def test_a_negative_balance_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="does not follow"):
        await draft.write((books["one"], -1001), (books["two"], 1001))


async def test_a_gap_in_versions_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="does not follow"):
        await draft.write((books["one"], -10), (books["two"], 10), version=3)


async def test_a_balance_that_does_not_follow_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError, match="does not follow"):
        await draft.write((books["one"], -10), (books["two"], 10), balance=2000)


async def test_an_entry_of_an_unknown_account_is_refused(draft: Draft, books: dict[str, int]) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await draft.write((books["one"], -10), (10**12, 10))


async def test_chips_cannot_be_held_without_a_hold(draft: Draft, books: dict[str, int]) -> None:
    await draft.connection.execute(
        "insert into transfers values ($1, 4, 'PLAY', 1, '', 'test', null, clock_timestamp())", draft.id
    )
    with pytest.raises(asyncpg.CheckViolationError, match="unsound"):
        await draft.connection.execute(
            "insert into entries values ($1, 2, $2, 1, 0, 1000, 50, 50, null, clock_timestamp())",
            books["one"],
            draft.id,
        )


@pytest.mark.parametrize(
    "statement",
    [
        "update entries set amount = amount + 1",
        "delete from entries",
        "truncate entries",
        "update transfers set reason = 'other'",
        "delete from transfers",
        "delete from postings",
        "truncate postings",
        "update refills set refilled_at = refilled_at - interval '1 day'",
        "delete from refills",
        "truncate refills",
        "update settled_tables set hand_number = 0",
        "delete from settled_tables",
        "truncate settled_tables",
        "truncate transfers, entries",
        "update requests set reply = ''",
        "delete from requests",
        "update accounts set posted = posted + 1",
        "update accounts set held = 1",
        "update accounts set version = version + 1",
        "update accounts set currency = 'PLAY'",
        "update accounts set name = name || 'x'",
        "delete from accounts",
        "delete from holds",
        "delete from settlements",
        "truncate settlements",
    ],
)
async def test_history_cannot_be_edited_or_deleted(
    wallet: Wallet, player_id: str, table_id: str, statement: str
) -> None:
    await wallet.buy_in(table_id, player_id, 100)
    await wallet.pool.execute("insert into settled_tables values ($1) on conflict do nothing", table_id)
    await wallet.pool.execute("insert into settlements values ($1, 1, '', null)", table_id)
    refilled = "insert into refills select id, clock_timestamp() from accounts where name = $1"
    await wallet.pool.execute(refilled, f"player/{player_id}/play")
    with pytest.raises((asyncpg.RestrictViolationError, asyncpg.InsufficientPrivilegeError)):
        await wallet.pool.execute(statement)


async def test_a_hold_ends_once(wallet: Wallet, player_id: str) -> None:
    hold = (await wallet.place(f"player/{player_id}/play", 10)).hold
    end = "update holds set state = 3, closed_by = 1 where id = $1"
    async with wallet.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(end, int(hold.hold_id))
        with pytest.raises(asyncpg.CheckViolationError, match="ended already"):
            await connection.execute(end, int(hold.hold_id))
        await transaction.rollback()


@pytest.mark.parametrize("numbers", [[2], [1, 3], [0]])
async def test_hands_of_a_table_are_settled_in_order(wallet: Wallet, table_id: str, numbers: list[int]) -> None:
    await wallet.pool.execute("insert into settled_tables values ($1)", table_id)
    with pytest.raises(asyncpg.CheckViolationError, match="are not next"):
        await wallet.pool.execute(
            "insert into settlements select $1, n, '', null from unnest($2::bigint[]) n", table_id, numbers
        )


@pytest.mark.parametrize(
    ("name", "kind", "currency"),
    [
        ("house/x/play", "house", "LEAGUE/" + LEAGUE),
        ("house/x/league/" + LEAGUE, "house", "PLAY"),
        ("house/x/league/1", "house", "LEAGUE/1"),
        ("grants/play/2", "grants", "PLAY"),
        ("anything", "bank", "PLAY"),
    ],
)
async def test_an_account_is_what_its_name_says(wallet: Wallet, name: str, kind: str, currency: str) -> None:
    with pytest.raises((asyncpg.CheckViolationError, asyncpg.InvalidTextRepresentationError)):
        await wallet.pool.execute(
            "insert into accounts (name, kind, currency) values ($1, $2, $3)", name, kind, currency
        )


async def test_replicas_that_start_together_migrate_once(postgres_url: str, fresh_database: Any) -> None:
    url = await fresh_database()
    applied = await asyncio.gather(*(database.migrate(url, "cardroom.wallet") for _ in range(3)))
    assert sorted(applied) == [0, 0, 9]


async def test_what_runs_for_every_batch_reads_no_table_whole_by_a_plan_from_when_it_was_small(wallet: Wallet) -> None:
    checks = "select tgfoid from pg_trigger where tgrelid = 'entries'::regclass and tgnewtable is not null"
    rows = await wallet.pool.fetch(
        f"select proname, proconfig from pg_proc where oid in ({checks}) or proname = 'open_books'"
    )
    assert {row["proname"] for row in rows} >= {"open_books", "transfers_are_balanced", "balances_follow_entries"}
    assert [row["proname"] for row in rows if "enable_seqscan=off" not in (row["proconfig"] or ())] == []
