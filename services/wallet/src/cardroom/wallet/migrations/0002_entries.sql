-- Transfers and their entries: append-only, balanced, of one currency, versions without gaps, never below zero.
create sequence posting_ids;

-- One row per committed batch. `tx` lets a reader stop before what may still be committing, so that none is skipped.
create table postings (
    id bigint primary key,
    tx bigint not null default (pg_current_xact_id()::text::bigint),
    transfers integer not null check (transfers > 0)
);
create index postings_in_order on postings (tx, id);

create table transfers (
    id bigint primary key,
    kind smallint not null check (kind between 1 and 11),
    currency text not null,
    legs smallint not null check (legs between 1 and 100),
    reason text not null check (length(reason) <= 200),
    actor text not null,
    hold_id bigint check ((hold_id is not null) = (kind between 5 and 8)),
    created_at timestamptz not null
);

-- account_id and transfer_id are checked by the trigger below for a whole batch at once; neither side can be deleted.
create table entries (
    account_id bigint not null,
    version bigint not null,
    transfer_id bigint not null,
    leg smallint not null,
    amount bigint not null,
    balance_after bigint not null,
    held_change bigint not null,
    held_after bigint not null check (held_after >= 0),
    -- For a settlement: the player's stack as the table stated it.
    stack bigint,
    created_at timestamptz not null,
    primary key (account_id, version),
    unique (transfer_id, leg)
);

create table holds (
    -- The transfer that placed it.
    id bigint primary key,
    account_id bigint not null references accounts (id),
    amount bigint not null check (amount between 1 and 1000000000000),
    reason text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > created_at),
    -- 1 pending, 2 posted, 3 voided, 4 expired
    state smallint not null default 1 check (state between 1 and 4),
    posted_amount bigint not null default 0 check (posted_amount between 0 and amount),
    -- The transfer that ended it.
    closed_by bigint,
    constraint ended_once check ((state = 1) = (closed_by is null)),
    constraint posted_some check ((state = 2) = (posted_amount > 0))
) with (fillfactor = 80);
create index holds_pending on holds (account_id, expires_at) where state = 1;
create index holds_due on holds (expires_at) where state = 1;

-- Both checks look each row's neighbours up by key (`limit 1` keeps the planner from anything else): a batch is small,
-- the tables are large, and statistics are stale just when many rows are new.
create function transfers_are_balanced() returns trigger language plpgsql as $$
declare
    wrong record;
begin
    with summed as materialized (
        select f.transfer_id, count(*) as legs, min(f.leg) as first_leg, max(f.leg) as last_leg, sum(f.amount) as total,
               sum(f.held_change) as held, count(a.currency) as accounts, min(a.currency) as currency,
               max(a.currency) as other_currency
          from fresh f
          left join lateral (select currency from accounts where id = f.account_id limit 1) a on true
         group by f.transfer_id
    )
    select s.*, t.legs as legs_due, t.currency as currency_due, h.due as held_due into wrong
      from summed s
      left join lateral (select * from transfers where id = s.transfer_id limit 1) t on true
      left join lateral (
           select case when t.kind = 5 and id = t.id then amount
                       when t.kind <> 5 and closed_by = t.id then -amount end as due
             from holds where id = t.hold_id limit 1) h on true
     where t.id is null or s.total <> 0 or s.legs <> t.legs or s.first_leg <> 1 or s.last_leg <> t.legs
        or s.accounts <> s.legs or s.currency <> t.currency or s.other_currency <> t.currency
        or s.held is distinct from case when t.hold_id is null then 0 else h.due end
     limit 1;
    if found then
        raise exception 'transfer % is unsound: % of % legs, sum %, of % and % in a % transfer, held % (due %)',
            wrong.transfer_id, wrong.legs, wrong.legs_due, wrong.total, wrong.currency, wrong.other_currency,
            wrong.currency_due, wrong.held, wrong.held_due using errcode = 'check_violation';
    end if;
    return null;
end
$$;

create function balances_follow_entries() returns trigger language plpgsql as $$
declare
    wrong record;
begin
    with looked_up as materialized (
        select f.account_id, f.version, f.amount, f.balance_after, f.held_change, f.held_after, f.created_at, a.name,
               a.kind, a.closed_at, a.version as version_before, a.posted as posted_before, a.held as held_before,
               a.changed_at
          from fresh f
         cross join lateral (select * from accounts where id = f.account_id limit 1) a
    ), followed as (
        select l.*, l.version_before + row_number() over account as version_due,
               l.posted_before + sum(l.amount) over account as balance_due,
               l.held_before + sum(l.held_change) over account as held_due,
               lag(l.created_at, 1, l.changed_at) over account as created_before
          from looked_up l
        window account as (partition by l.account_id order by l.version)
    )
    select * into wrong from followed
     where version <> version_due or balance_after <> balance_due or held_after <> held_due
        or created_at < created_before or closed_at is not null
        or (balance_after < held_after and kind not in ('grants', 'adjustments'))
     limit 1;
    if found then
        raise exception 'entry % of % does not follow: balance % (due %), held % (due %), version due %, closed at %',
            wrong.version, wrong.name, wrong.balance_after, wrong.balance_due, wrong.held_after, wrong.held_due,
            wrong.version_due, wrong.closed_at using errcode = 'check_violation';
    end if;
    update accounts a
       set posted = l.balance_after, held = l.held_after, version = l.version, changed_at = l.created_at
      from (select distinct on (account_id) account_id, version, balance_after, held_after, created_at
              from fresh order by account_id, version desc) l
     where a.id = l.account_id;
    return null;
end
$$;
alter function balances_follow_entries() set enable_seqscan = off;
alter function balances_follow_entries() set enable_hashjoin = off;
alter function balances_follow_entries() set enable_mergejoin = off;

create trigger a_transfers_are_balanced after insert on entries referencing new table as fresh
    for each statement execute function transfers_are_balanced();
create trigger b_balances_follow_entries after insert on entries referencing new table as fresh
    for each statement execute function balances_follow_entries();

create function hold_ends_once() returns trigger language plpgsql as $$
begin
    if old.state <> 1 or new.state = 1 then
        raise exception 'hold % has ended already', old.id using errcode = 'check_violation';
    end if;
    if (new.id, new.account_id, new.amount, new.created_at, new.expires_at)
        is distinct from (old.id, old.account_id, old.amount, old.created_at, old.expires_at) then
        raise exception 'hold % cannot become another one', old.id using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
create trigger hold_ends_once before update on holds for each row execute function hold_ends_once();

create trigger entry_stays before update or delete on entries for each row execute function refuse_change();
create trigger entries_stay before truncate on entries for each statement execute function refuse_change();
create trigger transfer_stays before update or delete on transfers for each row execute function refuse_change();
create trigger transfers_stay before truncate on transfers for each statement execute function refuse_change();
create trigger posting_stays before update or delete on postings for each row execute function refuse_change();
create trigger hold_stays before delete on holds for each row execute function refuse_change();
create trigger holds_stay before truncate on holds for each statement execute function refuse_change();
revoke update, delete, truncate on entries, transfers, postings from current_user, public;
revoke delete, truncate on accounts, holds from current_user, public;
