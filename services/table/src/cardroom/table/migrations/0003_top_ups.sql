-- Top-ups that are over, so that a repeat is answered the same. None was added for a player who was leaving.
create table top_ups (
    top_up_id uuid primary key,
    table_id uuid not null,
    added bigint not null check (added >= 0)
);
