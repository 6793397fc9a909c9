"""The audit's reads, all in one snapshot of the database: the books as they were at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cardroom.wallet.domain.audit import Check, CurrencyBooks, escrow_is_explained

if TYPE_CHECKING:
    from cardroom.wallet.store.batch import Connection

TIMEOUT_SECONDS: Final = 900.0
CURRENCIES_MAX: Final = 1_000
NEIGHBOURS_MAX: Final = 50
WAITING_SECONDS_MAX: Final = 300

SUMS: Final = """
select currency, count(*) as accounts,
       -coalesce(sum(posted) filter (where kind = 'grants'), 0)::bigint as granted,
       -coalesce(sum(posted) filter (where kind = 'adjustments'), 0)::bigint as adjusted,
       coalesce(sum(posted) filter (where kind = 'player'), 0)::bigint as players,
       coalesce(sum(posted) filter (where kind = 'escrow'), 0)::bigint as escrow,
       coalesce(sum(posted) filter (where kind = 'house'), 0)::bigint as house
  from accounts group by currency
 order by sum(posted) = 0, currency <> 'PLAY', currency
"""

# $1: from the first entry, whatever was verified before.
_CHANGED: Final = """
with changed as (
    select a.id, a.version, a.posted, a.held, coalesce(v.version, 0) as version_before,
           coalesce(v.posted, 0) as posted_before, coalesce(v.held, 0) as held_before
      from accounts a left join verified_accounts v on v.account_id = a.id and not $1::boolean
     where a.version <> coalesce(v.version, 0) or a.posted <> coalesce(v.posted, 0) or a.held <> coalesce(v.held, 0)
)
"""

# How to reach the entries and their transfers. For what is new: one by one, however many accounts the planner believes
# to be changed (`offset 0` fences it in). From the start: all at once.
_ONE_BY_ONE: Final = (
    "cross join lateral (select * from entries where account_id = c.id and version > c.version_before offset 0) e",
    "left join lateral (select id, legs from transfers where id = m.transfer_id offset 0) t on true",
)
_ALL_AT_ONCE: Final = (
    "join entries e on e.account_id = c.id and e.version > c.version_before",
    "left join transfers t on t.id = m.transfer_id",
)


def _lines(reached: tuple[str, str]) -> str:
    return f"""{_CHANGED}, lines as (
    select e.*,
           lag(e.version, 1, c.version_before) over account as version_due,
           lag(e.balance_after, 1, c.posted_before) over account + e.amount as balance_due,
           lag(e.held_after, 1, c.held_before) over account + e.held_change as held_due
      from changed c {reached[0]}
    window account as (partition by e.account_id order by e.version)
)
select count(*) as checked,
       min(array[account_id, version]) filter (where version <> version_due + 1) as gap,
       min(array[account_id, version]) filter (where balance_after <> balance_due or held_after <> held_due) as wrong
  from lines
"""  # noqa: S608 - no value is built in


def _moved(reached: tuple[str, str]) -> str:
    return f"""{_CHANGED}, moved as (
    select e.transfer_id, sum(e.amount) as total, count(*) as legs
      from changed c {reached[0]}
     group by e.transfer_id
)
select count(*) as checked, min(m.transfer_id) filter (where m.total <> 0 or m.legs <> t.legs or t.id is null) as wrong
  from moved m {reached[1]}
"""  # noqa: S608 - no value is built in


# By «from the start».
ENTRIES: Final = {False: _lines(_ONE_BY_ONE), True: _lines(_ALL_AT_ONCE)}
UNBALANCED: Final = {False: _moved(_ONE_BY_ONE), True: _moved(_ALL_AT_ONCE)}

LAST: Final = f"""{_CHANGED}
select a.name, c.posted, c.held, c.version, e.balance_after, e.held_after, e.version as last_version
  from changed c join accounts a on a.id = c.id
  left join lateral (select version, balance_after, held_after from entries
                      where account_id = c.id order by version desc limit 1) e on true
 where e.balance_after is distinct from c.posted or e.held_after is distinct from c.held
    or e.version is distinct from c.version
 order by a.id limit 1
"""  # noqa: S608 - no value is built in

HOLDS: Final = """
select a.name, a.held, coalesce(p.pending, 0)::bigint as pending
  from (select account_id, sum(amount) as pending from holds where state = 1 group by account_id) p
  full join (select id, name, held from accounts where held <> 0) a on a.id = p.account_id
 where a.held is distinct from p.pending limit 1
"""

HOLDS_PENDING: Final = "select count(*) from holds where state = 1"

ESCROWS: Final = """
select a.id, a.name, l.version, l.balance_after, l.stack
  from accounts a
 cross join lateral (select version, balance_after, stack from entries
                      where account_id = a.id and stack is not null order by version desc limit 1) l
 where a.kind = 'escrow' and a.posted <> 0 and l.balance_after <> l.stack
 order by a.id limit 1000
"""

ESCROWS_COUNT: Final = "select count(*) from accounts where kind = 'escrow' and posted <> 0"

NEIGHBOURS: Final = """
select version, amount from entries
 where account_id = $1 and version between $2::bigint - $3::bigint and $2::bigint + $3::bigint
   and amount <> 0 and stack is null
 order by version
"""

TABLES_COUNT: Final = "select count(*) from settled_tables"

TABLES_WRONG: Final = """
select t.table_id::text, t.hand_number, l.hand_number as last
  from settled_tables t
  left join lateral (select hand_number from settlements where table_id = t.table_id
                      order by hand_number desc limit 1) l on true
 where coalesce(l.hand_number, 0) <> t.hand_number limit 1
"""

WAITING_TOO_LONG: Final = """
select table_id::text, hand_number, extract(epoch from clock_timestamp() - received_at)::int as seconds
  from waiting_hands where received_at < clock_timestamp() - make_interval(secs => $1) order by received_at limit 1
"""

WAITING: Final = "select count(*) from waiting_hands"

POSITION: Final = """
select tx || '.' || id from postings where tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
 order by tx desc, id desc limit 1
"""

VERIFY: Final = f"""{_CHANGED}
insert into verified_accounts (account_id, version, posted, held) select id, version, posted, held from changed
on conflict (account_id) do update
   set version = excluded.version, posted = excluded.posted, held = excluded.held
"""  # noqa: S608 - no value is built in

NAME: Final = "select name from accounts where id = $1"

RECORD: Final = "insert into audits (passed, verified_position, first_failure) values ($1, $2, $3)"


async def sums(connection: Connection) -> tuple[Check, list[CurrencyBooks]]:
    """Check that in each currency all balances sum to the grants and corrections."""
    rows = await connection.fetch(SUMS, timeout=TIMEOUT_SECONDS)
    books = [CurrencyBooks(it[0], *it[2:]) for it in rows]
    wrong = next((it for it in books if it.difference), None)
    failure = (
        f"{wrong.currency}: {wrong.difference:+} chips; players {wrong.players}, escrow {wrong.escrow}, house"
        f" {wrong.house}, granted {wrong.granted}, adjusted {wrong.adjusted}"
        if wrong
        else ""
    )
    books.sort(key=lambda it: (it.currency != "PLAY", it.currency))
    rule = "in each currency all balances sum to the grants and corrections"
    return Check("sums", rule, sum(it["accounts"] for it in rows), failure), books[:CURRENCIES_MAX]


async def entries(connection: Connection, from_start: bool) -> list[Check]:
    """Check new entries: versions without gaps, balances that follow, accounts that agree, transfers that balance."""
    lines = await _row(connection, ENTRIES[from_start], from_start)
    last = await connection.fetchrow(LAST, from_start, timeout=TIMEOUT_SECONDS)
    moved = await _row(connection, UNBALANCED[from_start], from_start)
    gap = await _where(connection, lines["gap"], "there is a gap before")
    wrong = await _where(connection, lines["wrong"], "the balance does not follow at")
    if not wrong and last is not None:
        wrong = (
            f"{last['name']} says {last['posted']} posted, {last['held']} held at version {last['version']};"
            f" its entries say {last['balance_after']}, {last['held_after']} at {last['last_version']}"
        )
    unbalanced = f"transfer {moved['wrong']} does not sum to zero" if moved["wrong"] is not None else ""
    return [
        Check("versions", "each account's entries are numbered without gaps", lines["checked"], gap),
        Check("balances", "each balance is the sum of its account's entries", lines["checked"], wrong),
        Check("transfers", "the entries of each transfer sum to zero", moved["checked"], unbalanced),
    ]


async def _row(connection: Connection, statement: str, *values: Any) -> Any:
    row = await connection.fetchrow(statement, *values, timeout=TIMEOUT_SECONDS)
    assert row is not None
    return row


async def _where(connection: Connection, found: list[int] | None, what: str) -> str:
    if found is None:
        return ""
    return f"{what} version {found[1]} of {await connection.fetchval(NAME, found[0])}"


async def holds(connection: Connection) -> Check:
    """Check that each account holds what its pending holds say."""
    wrong = await connection.fetchrow(HOLDS, timeout=TIMEOUT_SECONDS)
    failure = f"{wrong['name']} has {wrong['held']} held, its holds say {wrong['pending']}" if wrong else ""
    pending = await connection.fetchval(HOLDS_PENDING)
    return Check("holds", "each account's held chips are the sum of its pending holds", pending, failure)


async def escrow(connection: Connection) -> Check:
    """Check that after each player's last settled hand the escrow is the stack that the table stated."""
    failure = ""
    for row in await connection.fetch(ESCROWS, timeout=TIMEOUT_SECONDS):
        near = await connection.fetch(NEIGHBOURS, row["id"], row["version"], NEIGHBOURS_MAX)
        before = [amount for version, amount in reversed(near) if version < row["version"]]
        after = [amount for version, amount in near if version > row["version"]]
        if not escrow_is_explained(row["stack"], row["balance_after"], before, after):
            failure = (
                f"{row['name']} had {row['balance_after']} after its last settled hand (version {row['version']});"
                f" the table stated {row['stack']}"
            )
            break
    rule = "each escrow after its last hand is the stack that the table stated, buy-ins on their way included"
    return Check("escrow", rule, await connection.fetchval(ESCROWS_COUNT), failure)


async def settlements(connection: Connection) -> Check:
    """Check that each table's hands are settled in order, and that none waits for long."""
    wrong = await connection.fetchrow(TABLES_WRONG, timeout=TIMEOUT_SECONDS)
    late = await connection.fetchrow(WAITING_TOO_LONG, WAITING_SECONDS_MAX)
    failure = ""
    if wrong is not None:
        failure = f"table {wrong[0]} is said to be settled up to hand {wrong[1]}, its settlements end at {wrong[2]}"
    elif late is not None:
        failure = f"hand {late[1]} of table {late[0]} has waited {late[2]} s for an earlier hand or a buy-in"
    rule = f"each table's hands are settled in order, and none waits longer than {WAITING_SECONDS_MAX} s"
    return Check("settlements", rule, await connection.fetchval(TABLES_COUNT), failure)
