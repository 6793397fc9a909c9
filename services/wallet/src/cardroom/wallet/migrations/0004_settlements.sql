-- Hands that were settled, once and in order per table, and those that wait for an earlier one or for a buy-in.
create table settled_tables (
    table_id uuid primary key,
    hand_number bigint not null default 0
) with (fillfactor = 50);

create table settlements (
    table_id uuid not null,
    hand_number bigint not null,
    -- Tells a repeat from another hand of the same number.
    digest bytea not null,
    -- Null when nobody won or lost.
    transfer_id bigint,
    primary key (table_id, hand_number)
);

create table waiting_hands (
    table_id uuid not null,
    hand_number bigint not null check (hand_number > 0),
    body bytea not null,
    received_at timestamptz not null default clock_timestamp(),
    primary key (table_id, hand_number)
);

create function hands_are_settled_in_order() returns trigger language plpgsql as $$
declare
    wrong record;
begin
    select f.table_id, min(f.hand_number) as first, max(f.hand_number) as last, t.hand_number as settled into wrong
      from fresh f left join settled_tables t using (table_id)
     group by f.table_id, t.hand_number
    having t.hand_number is null or min(f.hand_number) <> t.hand_number + 1
        or max(f.hand_number) <> t.hand_number + count(*)
     limit 1;
    if found then
        raise exception 'hands % to % of table % are not next: settled up to %', wrong.first, wrong.last,
            wrong.table_id, wrong.settled using errcode = 'check_violation';
    end if;
    update settled_tables t set hand_number = l.last
      from (select table_id, max(hand_number) as last from fresh group by table_id) l where l.table_id = t.table_id;
    return null;
end
$$;
alter function hands_are_settled_in_order() set enable_seqscan = off;
create trigger hands_are_settled_in_order after insert on settlements referencing new table as fresh
    for each statement execute function hands_are_settled_in_order();
create trigger settled_comes_from_settlements before update on settled_tables
    for each row when (pg_trigger_depth() = 0) execute function refuse_change();
create trigger settlement_stays before update or delete on settlements for each row execute function refuse_change();
create trigger settlements_stay before truncate on settlements for each statement execute function refuse_change();
revoke update, delete, truncate on settlements from current_user, public;
