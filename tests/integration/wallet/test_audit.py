"""The audit: what is wrong is found, and named by the account, the transfer or the hand where it is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from cardroom.chassis.database import migrate
from cardroom.wallet.auditing import Auditor
from cardroom.wallet.domain.commands import PlaceHold
from cardroom.wallet.domain.sources import Grant, OpenHouse
from cardroom.wallet.posting import Poster, Request
from tests.integration.wallet.running import new_id


@pytest.fixture
async def ledger(fresh_database: Any) -> AsyncIterator[Any]:
    """A small ledger of its own, for tests that break it."""
    url = await fresh_database()
    await migrate(url, "cardroom.wallet")
    async with asyncpg.create_pool(url, min_size=1, max_size=4) as pool:
        poster = Poster(pool, batch_max=50, waiting_max=50, lanes=1)
        await poster.start()
        for name in ("house/a/play", "house/b/play"):
            await poster.post(Request(OpenHouse("test", name)))
            await poster.post(Request(Grant("test", name, 1_000, "start")))
        await poster.post(Request(PlaceHold("test", "house/b/play", 7, timedelta(hours=1), "")))
        await poster.stop()
        yield pool


TRANSFERS = "select array_agg(id order by id) filter (where kind <> 9) from transfers"


async def settle(pool: Any, table_id: str) -> int:
    """Settle hands 1 to 3 of a table; the second moves chips, by the transfer that is returned."""
    hand = int(await pool.fetchval("select max(id) + 1 from transfers"))
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("insert into settled_tables (table_id) values ($1)", table_id)
        await connection.execute(
            "insert into settlements"
            " select $1, n, '', case n when 2 then $2::bigint end from generate_series(1, 3) as n",
            table_id,
            hand,
        )
        await connection.execute("insert into transfers values ($1, 9, 'PLAY', 2, '', 'x', null, now())", hand)
        await connection.execute(
            "insert into entries select id, version + 1, $1, row_number() over (), m, posted + m, 0, held, null, now()"
            "  from accounts join (values ('house/a/play', 10), ('house/b/play', -10)) as v (name, m) using (name)",
            hand,
        )
    return hand


async def tampered(pool: Any, *statements: str, from_start: bool = True) -> Any:
    """What an audit says after a superuser has got around the triggers."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")
        for statement in statements:
            await connection.execute(statement)
    return await Auditor(pool).run(from_start=from_start)


async def test_the_audit_of_sound_books_passes(ledger: Any) -> None:
    report = await Auditor(ledger).run()
    assert report.passed
    [play] = report.currencies
    assert (play.currency, play.granted, play.house, play.difference) == ("PLAY", 2_000, 2_000, 0)


async def test_the_audit_goes_on_from_what_it_has_verified(ledger: Any) -> None:
    auditor = Auditor(ledger)
    first, second = await auditor.run(), await auditor.run()
    checked = [{it.name: it.checked for it in report.checks}["versions"] for report in (first, second)]
    assert checked == [5, 0]
    assert {it.name: it.checked for it in (await auditor.run(from_start=True)).checks}["versions"] == 5


@pytest.mark.parametrize(
    ("statement", "failure"),
    [
        (
            "update accounts set posted = posted + 5 where name = 'house/a/play'",
            "balances: house/a/play says 1005 posted, 0 held at version 1; its entries say 1000, 0 at 1",
        ),
        (
            "delete from entries where account_id = (select id from accounts where name = 'house/a/play')",
            "balances: house/a/play says 1000 posted, 0 held at version 1; its entries say 0, 0 at 0",
        ),
        (
            "delete from entries where version = 1 and account_id = (select id from accounts where kind = 'grants')",
            "versions: there is a gap before version 2",
        ),
        ("update entries set balance_after = 7 where amount = 1000 and version = 1", "balances: the balance"),
        ("update accounts set held = 5 where name = 'house/a/play'", "balances: house/a/play says 1000 posted, 5 held"),
        (
            "insert into holds select 9, id, 5, '', now(), now() + interval '1 h' from accounts limit 1",
            "holds: ",
        ),
        (
            "insert into settled_tables values ('00000000-0000-0000-0000-000000000000', 4)",
            "settlements: table 00000000-0000-0000-0000-000000000000 was settled up to hand 4",
        ),
        (
            "insert into waiting_hands values (gen_random_uuid(), 4, '', now() - interval '1 h')",
            "settlements: hand 4 of table",
        ),
    ],
)
async def test_the_audit_names_the_first_thing_wrong(ledger: Any, statement: str, failure: str) -> None:
    report = await tampered(ledger, statement)
    assert not report.passed
    assert report.first_failure.startswith(failure)
    assert await ledger.fetchval("select first_failure from audits order by id desc limit 1") == report.first_failure


@pytest.mark.parametrize(
    ("statement", "failure"),
    [
        ("delete from transfers where id = {moved}", "transfer {moved} is missing, and 2 entries are parts of it"),
        ("update transfers set legs = 3 where id = {moved}", "transfer {moved} has 2 entries, not 3"),
        (
            "update transfers set currency = 'LEAGUE/g' where id = {moved}",
            "transfer {moved} says that it is LEAGUE/g, and its account grants/play is PLAY",
        ),
        (
            "update accounts set currency = 'LEAGUE/g' where name = 'house/a/play'",
            "transfer {granted} says that it is PLAY, and its account house/a/play is LEAGUE/g",
        ),
        (
            "update entries set created_at = created_at - interval '1 d' where transfer_id = {moved} and leg = 2",
            "transfer {moved} is of ",
        ),
        (
            "delete from accounts where name = 'house/b/play'",
            "transfer {moved} has an entry of account ",
        ),
        ("delete from holds where id = {held}", "transfer {held} is of hold {held}, which is missing"),
        (
            "update holds set amount = 8 where id = {held}",
            "transfer {held} changes what is held by +7, its hold says +8",
        ),
        (
            "update transfers set hold_id = null, kind = 4 where id = {held}",
            "transfer {held} changes what is held by +7, its hold says +0",
        ),
        (
            "update entries set transfer_id = 1, leg = 1 where transfer_id = {moved} and leg = 1",
            "transfer 1 is missing, and 1 entries are parts of it",
        ),
    ],
)
async def test_the_audit_tells_a_transfer_that_is_not_as_it_was_written(
    ledger: Any, statement: str, failure: str
) -> None:
    ids = dict(zip(("granted", "moved", "held"), await ledger.fetchval(TRANSFERS), strict=True))
    report = await tampered(ledger, statement.format(**ids))
    assert report.first_failure.startswith("transfers: " + failure.format(**ids))


async def test_the_audit_tells_a_transfer_that_does_not_sum_to_zero(ledger: Any) -> None:
    [granted, *_] = await ledger.fetchval(TRANSFERS)
    report = await tampered(
        ledger,
        "update entries set amount = 1005, balance_after = 1005 where amount = 1000 and account_id ="
        " (select id from accounts where name = 'house/a/play')",
        "update accounts set posted = 1005 where name = 'house/a/play'",
    )
    assert report.first_failure == f"transfers: the entries of transfer {granted} sum to +5, not to zero"


async def test_sums_are_told_last_because_they_name_no_account(ledger: Any) -> None:
    report = await tampered(ledger, "update accounts set posted = posted + 5 where name = 'house/a/play'")
    assert [it.name for it in report.checks if not it.passed] == ["balances", "sums"]
    assert report.checks[-1].first_failure.startswith("PLAY: +5 chips")


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize(
    ("statement", "failure"),
    [
        ("delete from settlements where hand_number = 2", "has no settlement of hand 2, and later ones are settled"),
        ("delete from settlements where hand_number = 1", "has no settlement of hand 1, and later ones are settled"),
        (
            "delete from settlements where hand_number = 3",
            "was settled up to hand 3, its settlements end at 2",
        ),
        ("update settled_tables set hand_number = 2", "was settled up to hand 2, its settlements end at 3"),
    ],
)
async def test_the_audit_names_the_hand_that_is_not_settled(
    ledger: Any, table_id: str, statement: str, failure: str, from_start: bool
) -> None:
    await settle(ledger, table_id)
    report = await tampered(ledger, statement, from_start=from_start)
    assert report.first_failure == f"settlements: table {table_id} {failure}"


@pytest.mark.parametrize(
    ("statement", "failure"),
    [
        ("delete from settlements where hand_number = 2", "settlements: table {table} has no settlement of hand 2"),
        ("delete from settled_tables", "settlements: table {table} was settled up to hand 0"),
        (
            "update settlements set transfer_id = null where hand_number = 2",
            "settlements: transfer {hand} settles a hand, and no settlement names it",
        ),
        (
            "update settlements set transfer_id = 5 where hand_number = 1",
            "settlements: hand 1 of table {table} was settled by transfer 5, which is no settlement",
        ),
    ],
)
async def test_the_audit_from_the_start_looks_again_at_hands_that_were_verified(
    ledger: Any, table_id: str, statement: str, failure: str
) -> None:
    hand = await settle(ledger, table_id)
    assert (await Auditor(ledger).run()).passed
    report = await tampered(ledger, statement)
    assert report.first_failure.startswith(failure.format(table=table_id, hand=hand))


async def test_the_audit_counts_only_the_hands_since_it_has_verified_the_table(ledger: Any, table_id: str) -> None:
    await settle(ledger, table_id)
    assert (await Auditor(ledger).run()).passed
    await ledger.execute("insert into settlements select $1, n, '', null from generate_series(4, 6) as n", table_id)
    assert (await Auditor(ledger).run()).passed
    assert await ledger.fetchval("select hand_number from verified_tables") == 6
    await ledger.execute("insert into settlements select $1, n, '', null from generate_series(7, 9) as n", table_id)
    report = await tampered(ledger, "delete from settlements where hand_number = 8", from_start=False)
    assert report.first_failure.endswith("has no settlement of hand 8, and later ones are settled")


async def test_the_audit_finds_an_escrow_that_differs_from_the_table(ledger: Any) -> None:
    player, table = new_id(), new_id()
    await ledger.execute(
        "insert into accounts (name, kind, currency, player_id, table_id) values ($1, 'escrow', 'PLAY', $2, $3)",
        f"escrow/{table}/{player}",
        player,
        table,
    )
    escrow = f"select id from accounts where name = 'escrow/{table}/{player}'"
    report = await tampered(
        ledger,
        "insert into transfers values (77, 4, 'PLAY', 2, '', 'x', null, now())",
        f"insert into entries select ({escrow}), 1, 77, 1, 40, 40, 0, 0, 45, now()",
        "insert into entries select id, 2, 77, 2, -40, 960, 0, 0, null, now() from accounts where name like '%/a/play'",
        f"update accounts set posted = 40, version = 1 where id = ({escrow})",
        "update accounts set posted = 960, version = 2 where name = 'house/a/play'",
    )
    assert report.first_failure.startswith(f"escrow: escrow/{table}/{player} had 40 after its last settled hand")
