-- What happened at tables lately, as the table service published it.

create table table_changes (
    table_id uuid not null,
    version bigint not null check (version > 0),
    -- By the table service's clock, but never later than the arrival here: a clock that runs ahead holds nothing back.
    happened_at timestamptz not null,
    body bytea not null,
    primary key (table_id, version)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

-- Bodies live for minutes; packing them would cost more than it saves.
alter table table_changes alter column body set storage external;

create index table_changes_by_age on table_changes (happened_at);
