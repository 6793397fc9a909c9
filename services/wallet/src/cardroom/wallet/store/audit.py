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
TRANSFERS_RULE: Final = "each transfer's entries are all there, of its currency, time and hold, and sum to zero"

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

# $1: from the first entry, whatever was verified before. Currencies are compared by their hashes: millions of texts
# take longer than all the sums.
_CHANGED: Final = """
with changed as (
    select a.id, hashtextextended(a.currency, 0) as currency, a.version, a.posted, a.held,
           coalesce(v.version, 0) as version_before, coalesce(v.posted, 0) as posted_before,
           coalesce(v.held, 0) as held_before
      from accounts a left join verified_accounts v on v.account_id = a.id and not $1::boolean
     where a.version <> coalesce(v.version, 0) or a.posted <> coalesce(v.posted, 0) or a.held <> coalesce(v.held, 0)
)
"""

# How to reach the entries, their transfers and holds. For what is new: one by one, however many accounts the planner
# believes to be changed (`offset 0` fences it in). From the start: all at once.
_ONE_BY_ONE: Final = (
    "cross join lateral (select * from entries where account_id = c.id and version > c.version_before offset 0) e",
    "left join lateral (select * from transfers where id = m.transfer_id offset 0) t on true",
    "left join lateral (select * from holds where id = t.hold_id offset 0) h on true",
)
_ALL_AT_ONCE: Final = (
    "join entries e on e.account_id = c.id and e.version > c.version_before",
    "left join transfers t on t.id = m.transfer_id",
    "left join holds h on h.id = t.hold_id",
)

# By how much a transfer changes what is held: none, or all of the hold that it places or ends.
_HELD_DUE: Final = """case when t.hold_id is null then 0 when t.kind = 5 and h.id = t.id then h.amount
                 when t.kind <> 5 and h.closed_by = t.id then -h.amount end"""


def _lines(reached: tuple[str, str, str]) -> str:
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


def _moved(reached: tuple[str, str, str]) -> str:
    return f"""{_CHANGED}, moved as (
    select e.transfer_id, sum(e.amount) as total, count(*) as legs,
           coalesce(sum(e.held_change) filter (where e.held_change <> 0), 0) as held,
           min(c.currency) as currency, max(c.currency) as other_currency,
           min(e.created_at) as first_at, max(e.created_at) as last_at
      from changed c {reached[0]}
     group by e.transfer_id
)
select count(*) as checked,
       min(m.transfer_id) filter (
           where t.id is null or m.legs <> t.legs or m.total <> 0 or m.currency <> m.other_currency
              or m.currency <> hashtextextended(t.currency, 0) or m.first_at <> t.created_at
              or m.last_at <> t.created_at or m.held is distinct from {_HELD_DUE}) as wrong
  from moved m {reached[1]} {reached[2]}
"""  # noqa: S608 - no value is built in


# By «from the start».
ENTRIES: Final = {False: _lines(_ONE_BY_ONE), True: _lines(_ALL_AT_ONCE)}
UNSOUND: Final = {False: _moved(_ONE_BY_ONE), True: _moved(_ALL_AT_ONCE)}

TRANSFER: Final = f"""
select t.id, t.legs, t.currency, t.created_at, t.hold_id, coalesce({_HELD_DUE}, 0)::bigint as held_due, h.id as hold,
       e.*
  from (select $1::bigint as id) w left join transfers t using (id) left join holds h on h.id = t.hold_id
 cross join lateral (
       select count(*) as found, coalesce(sum(e.amount), 0)::bigint as total,
              coalesce(sum(e.held_change), 0)::bigint as held, min(e.account_id) filter (where a.id is null) as lost,
              min(a.name || ' is ' || a.currency) filter (where a.currency <> t.currency) as other,
              min(a.name) filter (where e.created_at <> t.created_at) as other_time
         from entries e left join accounts a on a.id = e.account_id where e.transfer_id = w.id) e
"""  # noqa: S608 - no value is built in

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

# By «from the start». For what is new: the last hand of every table, and the number of those since it was verified.
TABLES_WRONG: Final = {
    False: """
select t.table_id::text, t.hand_number, coalesce(l.hand_number, 0) as last
  from settled_tables t left join verified_tables v using (table_id)
  left join lateral (select hand_number from settlements where table_id = t.table_id
                      order by hand_number desc limit 1) l on true
 cross join lateral (select count(*) as hands from settlements
                      where table_id = t.table_id and hand_number > coalesce(v.hand_number, 0) offset 0) n
 where coalesce(l.hand_number, 0) <> t.hand_number or n.hands <> t.hand_number - coalesce(v.hand_number, 0) limit 1
""",
    True: """
select table_id::text, coalesce(t.hand_number, 0) as hand_number, coalesce(s.last, 0) as last
  from settled_tables t
  full join (select table_id, max(hand_number) as last, count(*) as hands from settlements group by table_id) s
 using (table_id)
 where t.hand_number is distinct from coalesce(s.last, 0) or s.hands <> s.last limit 1
""",
}

FIRST_HAND_MISSING: Final = """
select due from (select hand_number, row_number() over (order by hand_number) as due
                   from settlements where table_id = $1::text::uuid) s
 where hand_number <> due order by due limit 1
"""

# 9: a settlement. Hands in which nobody won or lost have no transfer.
HANDS_WRONG: Final = """
select s.table_id::text, s.hand_number, s.transfer_id, t.id
  from settlements s full join (select id from transfers where kind = 9) t on t.id = s.transfer_id
 where s.transfer_id is distinct from t.id limit 1
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

VERIFY_TABLES: Final = """
insert into verified_tables as v (table_id, hand_number) select table_id, hand_number from settled_tables
on conflict (table_id) do update set hand_number = excluded.hand_number where v.hand_number <> excluded.hand_number
"""

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
    moved = await _row(connection, UNSOUND[from_start], from_start)
    gap = await _where(connection, lines["gap"], "there is a gap before")
    wrong = await _where(connection, lines["wrong"], "the balance does not follow at")
    if not wrong and last is not None:
        wrong = (
            f"{last['name']} says {last['posted']} posted, {last['held']} held at version {last['version']};"
            f" its entries say {last['balance_after'] or 0}, {last['held_after'] or 0} at {last['last_version'] or 0}"
        )
    unsound = await _unsound(connection, moved["wrong"]) if moved["wrong"] is not None else ""
    return [
        Check("versions", "each account's entries are numbered without gaps", lines["checked"], gap),
        Check("balances", "each balance is the sum of its account's entries", lines["checked"], wrong),
        Check("transfers", TRANSFERS_RULE, moved["checked"], unsound),
    ]


async def _unsound(connection: Connection, transfer_id: int) -> str:
    it = await _row(connection, TRANSFER, transfer_id)
    at, transfer = it["created_at"], f"transfer {transfer_id}"
    wrongs = (
        (it["id"] is None, f"{transfer} is missing, and {it['found']} entries are parts of it"),
        (it["found"] != it["legs"], f"{transfer} has {it['found']} entries, not {it['legs']}"),
        (it["lost"], f"{transfer} has an entry of account {it['lost']}, which is missing"),
        (it["total"], f"the entries of {transfer} sum to {it['total']:+}, not to zero"),
        (it["other"], f"{transfer} says that it is {it['currency']}, and its account {it['other']}"),
        (it["other_time"], f"{transfer} is of {at}, and its entry of {it['other_time']} of another time"),
        (it["hold_id"] and not it["hold"], f"{transfer} is of hold {it['hold_id']}, which is missing"),
        (True, f"{transfer} changes what is held by {it['held']:+}, its hold says {it['held_due']:+}"),
    )
    return next(text for is_so, text in wrongs if is_so)


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


async def settlements(connection: Connection, from_start: bool) -> Check:
    """Check that each table's hands are settled in order, none left out, and that none waits for long."""
    failure = await _unsettled(connection, from_start)
    late = await connection.fetchrow(WAITING_TOO_LONG, WAITING_SECONDS_MAX)
    if not failure and late is not None:
        failure = f"hand {late[1]} of table {late[0]} has waited {late[2]} s for an earlier hand or a buy-in"
    rule = f"each table's hands are settled in order, none left out, and none waits longer than {WAITING_SECONDS_MAX} s"
    return Check("settlements", rule, await connection.fetchval(TABLES_COUNT), failure)


async def _unsettled(connection: Connection, from_start: bool) -> str:
    table = await connection.fetchrow(TABLES_WRONG[from_start], timeout=TIMEOUT_SECONDS)
    if table is not None:
        missing = await connection.fetchval(FIRST_HAND_MISSING, table[0])
        if missing is not None:
            return f"table {table[0]} has no settlement of hand {missing}, and later ones are settled"
        return f"table {table[0]} was settled up to hand {table[1]}, its settlements end at {table[2]}"
    hand = await connection.fetchrow(HANDS_WRONG, timeout=TIMEOUT_SECONDS) if from_start else None
    if hand is None:
        return ""
    if hand[0] is None:
        return f"transfer {hand[3]} settles a hand, and no settlement names it"
    return f"hand {hand[1]} of table {hand[0]} was settled by transfer {hand[2]}, which is no settlement"
