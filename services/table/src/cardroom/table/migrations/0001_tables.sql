-- A table as of its last snapshot. What came after it is in table_log.
create table tables (
    table_id uuid primary key,
    shard smallint not null check (shard between 0 and 255),
    version bigint not null check (version > 0),
    hand_number bigint not null check (hand_number >= 0),
    -- Whether the owner must load the table at once: a hand is on or will be dealt.
    is_live boolean not null,
    snapshot bytea not null
);

create index tables_live on tables (shard) where is_live;

-- Every committed command of a table, in order. The primary key lets no two writers give one version twice.
create table table_log (
    table_id uuid not null,
    version bigint not null check (version > 0),
    epoch bigint not null,
    hand_number bigint not null,
    -- The turn that the command answered, where it was a player's action.
    action_number integer,
    occurred_at_ms bigint not null,
    command bytea not null,
    events bytea not null,
    primary key (table_id, version)
);

-- Every hand. The deck is encrypted and lies here only while the hand runs.
create table hands (
    table_id uuid not null,
    hand_number bigint not null check (hand_number > 0),
    first_version bigint not null,
    last_version bigint,
    deck_key text,
    deck bytea,
    primary key (table_id, hand_number),
    check ((last_version is null) = (deck is not null))
);

-- Stays at a table that are over, or were ended before they began.
create table ended_seatings (
    seating_id uuid primary key,
    table_id uuid not null,
    had_begun boolean not null,
    final_stack bigint not null check (final_stack >= 0),
    last_hand_number bigint not null
);
