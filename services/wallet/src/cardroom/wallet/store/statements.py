"""Every statement of the write path, by name. Those of queries stand in `history.py`, the audit's in `audit.py`."""

from __future__ import annotations

from typing import Final

HOLD_ACCOUNTS: Final = """
select h.id, a.name from holds h join accounts a on a.id = h.account_id where h.id = any($1::bigint[])
"""

CURRENCIES: Final = "select name, currency from accounts where name = any($1::text[])"

LEAGUE_ACCOUNTS: Final = "select currency, name from accounts where currency = any($1::text[])"

OPEN_ACCOUNTS: Final = """
insert into accounts (name, kind, currency, player_id, table_id)
select * from unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::uuid[])
returning name, id
"""

OPEN_ALLOWANCES: Final = """
insert into allowances (subject, purpose, day, used)
select subject, purpose, (now() at time zone 'utc')::date, 0
  from unnest($1::text[], $2::text[]) as w (subject, purpose) order by subject, purpose on conflict do nothing
"""

LOCK_ALLOWANCES: Final = """
select a.subject, a.purpose, a.used
  from allowances a join unnest($1::text[], $2::text[]) as w (subject, purpose) using (subject, purpose)
 where a.day = (now() at time zone 'utc')::date order by a.subject, a.purpose for update of a
"""

SPEND_ALLOWANCES: Final = """
update allowances a set used = s.used from unnest($1::text[], $2::text[], $3::bigint[]) as s (subject, purpose, used)
 where a.subject = s.subject and a.purpose = s.purpose and a.day = (now() at time zone 'utc')::date
"""

# Locks and what is read under them; the function is the database's own (migration 0007).
OPEN_BOOKS: Final = """
select moment, posting_id, accounts, requests, holds from open_books($1::text[], $2::text[], $3::text[], $4::bigint[])
"""

REFILL_FACTS: Final = """
select w.player_id::text as player_id,
       (select max(r.refilled_at) from refills r join accounts a on a.id = r.account_id
         where a.player_id = w.player_id and a.kind = 'player') as last_refill,
       (select coalesce(sum(a.posted), 0)::bigint from accounts a
         where a.player_id = w.player_id and a.currency = 'PLAY' and a.kind = 'escrow') as at_tables
  from unnest($1::uuid[]) as w (player_id)
"""

SETTLED_UP_TO: Final = """
select table_id::text as table_id, hand_number from settled_tables where table_id = any($1::uuid[])
"""

PLACE_HOLDS: Final = """
insert into holds (id, account_id, amount, reason, created_at, expires_at, state, posted_amount, closed_by)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::timestamptz[],
                     $7::smallint[], $8::bigint[], $9::bigint[])
"""

END_HOLDS: Final = """
update holds h set state = e.state, posted_amount = e.posted_amount, closed_by = e.closed_by
  from unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) as e (id, state, posted_amount, closed_by)
 where h.id = e.id
"""

# Numbers and times come as array literals: one text is read much faster than thousands of values one by one.
POST: Final = """
with remembered as (
    insert into requests (owner, request_id, method, request, refused, reply, first_transfer, transfers)
    select * from unnest($21::text[], $22::text[], $23::text[], $24::bytea[], $25::boolean[], $26::bytea[],
                         $27::text::bigint[], $28::text::integer[])
), posting as (
    insert into postings (id, transfers) select $1, $2 where $2 > 0
), moved as (
    insert into transfers (id, kind, currency, legs, reason, actor, hold_id, created_at)
    select * from unnest($3::text::bigint[], $4::text::smallint[], $5::text[], $6::text::smallint[], $7::text[],
                         $8::text[], $9::text::bigint[], $10::text::timestamptz[])
)
insert into entries (account_id, version, transfer_id, leg, amount, balance_after, held_change, held_after, stack,
                     created_at)
select * from unnest($11::text::bigint[], $12::text::bigint[], $13::text::bigint[], $14::text::smallint[],
                     $15::text::bigint[], $16::text::bigint[], $17::text::bigint[], $18::text::bigint[],
                     $19::text::bigint[], $20::text::timestamptz[])
"""

REMEMBER_REFILLS: Final = """
insert into refills (account_id, refilled_at) select * from unnest($1::bigint[], $2::timestamptz[])
"""

CLOSE_ACCOUNTS: Final = "update accounts set closed_at = $2 where id = any($1::bigint[])"

DUE_ACCOUNTS: Final = """
select distinct a.name from holds h join accounts a on a.id = h.account_id
 where h.state = 1 and h.expires_at <= clock_timestamp() limit $1
"""

OPEN_SETTLED_TABLES: Final = """
insert into settled_tables (table_id) select unnest($1::uuid[]) order by 1 on conflict do nothing
"""

LOCK_SETTLED_TABLES: Final = """
select table_id::text as table_id, hand_number from settled_tables where table_id = any($1::uuid[])
 order by table_id for update
"""

KNOWN_HANDS: Final = """
select w.table_id::text as table_id, w.hand_number, s.digest
  from unnest($1::uuid[], $2::bigint[]) as w (table_id, hand_number) join settlements s using (table_id, hand_number)
"""

WAITING_HANDS: Final = """
select t.table_id::text as table_id, w.hand_number, w.body
  from unnest($1::uuid[]) as t (table_id)
 cross join lateral (select hand_number, body from waiting_hands w
                      where w.table_id = t.table_id order by hand_number limit $2) w
"""

KEEP_WAITING: Final = """
insert into waiting_hands (table_id, hand_number, body) select * from unnest($1::uuid[], $2::bigint[], $3::bytea[])
on conflict do nothing
"""

STOP_WAITING: Final = """
delete from waiting_hands w using unnest($1::uuid[], $2::bigint[]) as s (table_id, hand_number)
 where w.table_id = s.table_id and w.hand_number = s.hand_number
"""

REMEMBER_HANDS: Final = """
insert into settlements (table_id, hand_number, digest, transfer_id)
select * from unnest($1::uuid[], $2::bigint[], $3::bytea[], $4::bigint[])
"""

TABLES_THAT_WAIT: Final = """
select w.table_id::text as table_id from waiting_hands w left join settled_tables t using (table_id)
 where w.hand_number = coalesce(t.hand_number, 0) + 1 order by random() limit $1
"""

WAITING_TOTALS: Final = """
select count(*) as hands,
       coalesce(extract(epoch from clock_timestamp() - min(received_at)), 0)::float8 as oldest_seconds,
       count(distinct w.table_id) filter (where w.hand_number > coalesce(t.hand_number, 0) + 1
         and not exists (select from waiting_hands n
                          where n.table_id = w.table_id and n.hand_number = coalesce(t.hand_number, 0) + 1)) as gaps
  from waiting_hands w left join settled_tables t using (table_id)
"""
