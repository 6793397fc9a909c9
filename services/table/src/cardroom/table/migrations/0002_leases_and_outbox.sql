-- Who lives and who owns which shard (cardroom.chassis.leases).
create table runners (
    runner_id text primary key,
    address text not null,
    draining boolean not null default false,
    expires_at timestamptz not null
);

create table leases (
    shard integer primary key,
    owner text,
    epoch bigint not null default 0
);

insert into leases (shard) select generate_series(0, 255);

-- Events that are committed and not yet published (cardroom.chassis.outbox).
create table outbox (
    id bigint generated always as identity primary key,
    message_id text not null,
    routing_key text not null,
    type text not null,
    body bytea not null,
    headers jsonb not null default '{}',
    mandatory boolean not null default false,
    created_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
