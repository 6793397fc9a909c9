-- What a batch decides on, in one call: its accounts, locked, and what is so once they are. Running replicas call it:
-- what is changed later gets another name.
create type locked_account as (
    id bigint, name text, currency text, posted bigint, held bigint, version bigint, changed_at timestamptz,
    closed boolean
);
create type answered_request as (
    owner text, request_id text, method text, request bytea, refused boolean, reply bytea
);
create type known_hold as (
    id bigint, account_id bigint, amount bigint, reason text, created_at timestamptz, expires_at timestamptz,
    state smallint, posted_amount bigint, closed_by bigint
);

-- Volatile: each statement in it has a snapshot of its own, so what comes after the locks sees what was committed while
-- they were waited for.
create function open_books(
    account_names text[], owners text[], request_ids text[], hold_ids bigint[],
    out moment timestamptz, out posting_id bigint, out accounts locked_account[], out requests answered_request[],
    out holds known_hold[]
) language plpgsql volatile as $$
declare
    -- An account keeps its name and its id for ever, so neither needs a lock to be read.
    account_ids bigint[] := array(
        select a.id from unnest(account_names) as wanted
         cross join lateral (select id from accounts where name = wanted limit 1) a);
begin
    -- One order for everyone: by id. A batch never waits for a batch that waits for it.
    accounts := array(
        select row(l.id, l.name, l.currency, l.posted, l.held, l.version, l.changed_at, l.closed_at is not null
                  )::locked_account
          from (select * from accounts a where a.id = any(account_ids) order by a.id for update) l);
    moment := clock_timestamp();
    posting_id := nextval('posting_ids');
    requests := array(
        select row(q.owner, q.request_id, q.method, q.request, q.refused, q.reply)::answered_request
          from unnest(owners, request_ids) as k (owner, request_id)
         cross join lateral (select * from requests r where r.owner = k.owner and r.request_id = k.request_id limit 1) q);
    holds := array(
        select row(h.id, h.account_id, h.amount, h.reason, h.created_at, h.expires_at, h.state, h.posted_amount,
                   h.closed_by)::known_hold
          from holds h
         where (h.account_id = any(account_ids) and h.state = 1 and h.expires_at <= moment) or h.id = any(hold_ids));
end
$$;
-- A batch is small: each row is looked up by its key, also while the tables are small.
alter function open_books(text[], text[], text[], bigint[]) set enable_seqscan = off;
