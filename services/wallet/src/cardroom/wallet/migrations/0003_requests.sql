-- What was asked and what was answered: repeats get the same bytes. Refills, allowances of a day.
create table requests (
    owner text not null,
    request_id text not null,
    method text not null,
    request bytea not null,
    -- The reply, or when `refused` the remembered refusal.
    refused boolean not null,
    reply bytea not null,
    first_transfer bigint not null,
    transfers integer not null,
    primary key (owner, request_id)
);

create table refills (
    account_id bigint not null references accounts (id),
    refilled_at timestamptz not null,
    primary key (account_id, refilled_at)
);

create table allowances (
    subject text not null,
    purpose text not null,
    day date not null,
    used bigint not null check (used >= 0),
    primary key (subject, purpose, day)
) with (fillfactor = 50);

create trigger request_stays before update or delete on requests for each row execute function refuse_change();
create trigger requests_stay before truncate on requests for each statement execute function refuse_change();
create trigger refill_stays before update or delete on refills for each row execute function refuse_change();
revoke update, delete, truncate on requests, refills from current_user, public;
