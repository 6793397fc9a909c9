-- How far each account's entries were found right, so that an audit goes on from there.
create table verified_accounts (
    account_id bigint primary key references accounts (id),
    version bigint not null,
    posted bigint not null,
    held bigint not null
) with (fillfactor = 70);

create table audits (
    id bigint generated always as identity primary key,
    finished_at timestamptz not null default clock_timestamp(),
    passed boolean not null,
    verified_position text not null,
    first_failure text not null
);
