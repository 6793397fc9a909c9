-- Players, their sessions, and the keys that sign tokens.

create table players (
    player_id uuid primary key,
    display_name text not null check (char_length(display_name) between 1 and 24),
    created_at timestamptz not null
);

-- Sign-ins that may be repeated: which player a request id has made, for ten minutes.
create table guest_sign_ins (
    request_id uuid primary key,
    player_id uuid not null references players (player_id) deferrable initially deferred,
    asked_name text not null,
    created_at timestamptz not null
);
create index guest_sign_ins_by_age on guest_sign_ins (created_at);

create table sessions (
    session_id uuid primary key,
    player_id uuid not null references players (player_id),
    created_at timestamptz not null,
    ended_at timestamptz
);

-- A token itself is never stored, only its SHA-256.
create table refresh_tokens (
    token_sha256 bytea primary key check (octet_length(token_sha256) = 32),
    session_id uuid not null references sessions (session_id) on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    spent_at timestamptz
);
create index refresh_tokens_by_session on refresh_tokens (session_id);
create index refresh_tokens_by_expiry on refresh_tokens (expires_at);

-- Generations count up by one, so that two replicas that rotate at once make one key, not two.
create table signing_keys (
    generation integer primary key check (generation > 0),
    kid text not null unique,
    signs_from timestamptz not null,
    public_jwk text not null,
    private_sealed bytea not null,
    created_at timestamptz not null
);
