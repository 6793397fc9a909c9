-- Accounts. Their balances are made by the database from the entries (0002); nothing else may set them.
create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% of % is refused: history is never changed, correct it by new entries', tg_op, tg_table_name
        using errcode = 'restrict_violation';
end
$$;

create table accounts (
    id bigint generated always as identity primary key,
    name text not null unique,
    kind text not null check (kind in ('player', 'escrow', 'house', 'grants', 'adjustments')),
    currency text not null check (currency = 'PLAY' or currency like 'LEAGUE/%'),
    player_id uuid check ((player_id is not null) = (kind in ('player', 'escrow'))),
    table_id uuid check ((table_id is not null) = (kind = 'escrow')),
    posted bigint not null default 0,
    held bigint not null default 0 check (held >= 0),
    version bigint not null default 0 check (version >= 0),
    changed_at timestamptz not null default '2000-01-01 00:00:00+00',
    closed_at timestamptz,
    constraint never_negative check (posted >= held or kind in ('grants', 'adjustments'))
) with (fillfactor = 70);

create index accounts_of_player on accounts (player_id, currency) where player_id is not null;
create index accounts_of_league on accounts (currency) where currency <> 'PLAY';
create index escrows_of_table on accounts (table_id) where table_id is not null;

create function account_name_fits() returns trigger language plpgsql as $$
declare
    tail text := case when new.currency = 'PLAY' then 'play' else 'league/' || substr(new.currency, 8) end;
    due text := case new.kind
        when 'player' then 'player/' || new.player_id || '/' || tail
        when 'escrow' then 'escrow/' || new.table_id || '/' || new.player_id
        when 'house' then 'house/' || split_part(new.name, '/', 2) || '/' || tail
        else new.kind || '/' || tail
    end;
begin
    if new.currency <> 'PLAY' and substr(new.currency, 8)::uuid::text <> substr(new.currency, 8) then
        raise exception 'currency % is not LEAGUE/<game id>', new.currency using errcode = 'check_violation';
    end if;
    if new.name <> due or split_part(new.name, '/', 2) = '' then
        raise exception 'account name % does not fit its kind and currency: it would be %', new.name, due
            using errcode = 'check_violation';
    end if;
    if new.posted <> 0 or new.held <> 0 or new.version <> 0 or new.closed_at is not null then
        raise exception 'account % must be opened empty', new.name using errcode = 'check_violation';
    end if;
    return new;
end
$$;

create trigger account_name_fits before insert on accounts for each row execute function account_name_fits();
create trigger account_is_what_it_is before update of id, name, kind, currency, player_id, table_id on accounts
    for each row execute function refuse_change();
-- The entries' own trigger is one level deep; anyone else is at level 0.
create trigger balance_comes_from_entries before update of posted, held, version, changed_at on accounts
    for each row when (pg_trigger_depth() = 0) execute function refuse_change();
create trigger account_closes_once before update of closed_at on accounts
    for each row when (old.closed_at is not null) execute function refuse_change();
create trigger account_stays before delete on accounts for each row execute function refuse_change();
create trigger accounts_stay before truncate on accounts for each statement execute function refuse_change();
