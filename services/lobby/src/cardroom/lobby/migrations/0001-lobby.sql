-- Tables on offer, players' stays at them, and what their requests were answered.

CREATE TABLE tables (
    table_id      uuid PRIMARY KEY,
    request_id    uuid NOT NULL UNIQUE,
    name          text NOT NULL,
    game          smallint NOT NULL,
    small_blind   bigint NOT NULL,
    big_blind     bigint NOT NULL,
    ante          bigint NOT NULL,
    min_buy_in    bigint NOT NULL,
    max_buy_in    bigint NOT NULL,
    seats         smallint NOT NULL,
    -- What the operator asked for before defaults were filled in, so that a repeat can be told from another request.
    asked         jsonb NOT NULL,
    state         text NOT NULL CHECK (state IN ('opening', 'open', 'closing', 'closed', 'refused')),
    refusal       jsonb,
    first_hand_at timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- An errand is unfinished while due_at is set; whoever works on it claims it for a while.
    due_at        timestamptz,
    claimed_until timestamptz,
    attempts      integer NOT NULL DEFAULT 0,
    revision      bigint NOT NULL DEFAULT 0
);
CREATE INDEX tables_on_offer ON tables (small_blind, name, table_id) WHERE state = 'open';
CREATE INDEX tables_due ON tables (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE seatings (
    seating_id       uuid PRIMARY KEY,
    table_id         uuid NOT NULL REFERENCES tables,
    player_id        uuid NOT NULL,
    display_name     text NOT NULL,
    seat             smallint NOT NULL CHECK (seat >= 1),
    buy_in           bigint NOT NULL CHECK (buy_in > 0),
    step             text NOT NULL CHECK (step IN ('reserved', 'held', 'at_table', 'seated', 'undoing', 'voiding',
                                                   'leaving', 'cashing_out', 'over')),
    hold_id          text,
    seated_version   bigint NOT NULL DEFAULT 0,
    left_version     bigint NOT NULL DEFAULT 0,
    wants_out        boolean NOT NULL DEFAULT false,
    refusal          jsonb,
    final_stack      bigint NOT NULL DEFAULT 0,
    last_hand_number bigint NOT NULL DEFAULT 0,
    cashed_out       bigint NOT NULL DEFAULT 0,
    reserved_at      timestamptz NOT NULL DEFAULT now(),
    over_at          timestamptz,
    due_at           timestamptz,
    claimed_until    timestamptz,
    attempts         integer NOT NULL DEFAULT 0,
    revision         bigint NOT NULL DEFAULT 0
);
-- Rule 10.5, and one player per seat: whatever races there are, the database decides.
CREATE UNIQUE INDEX seatings_one_place_per_player ON seatings (player_id) WHERE step <> 'over';
CREATE UNIQUE INDEX seatings_one_player_per_seat ON seatings (table_id, seat) WHERE step <> 'over';
CREATE INDEX seatings_due ON seatings (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX seatings_past ON seatings (player_id, table_id, over_at) WHERE step = 'over';

-- What a request to sit down was: its content, and the stay it led to or the refusal it met.
CREATE TABLE sit_requests (
    player_id  uuid NOT NULL,
    request_id uuid NOT NULL,
    table_id   uuid NOT NULL,
    seat       integer NOT NULL,
    buy_in     bigint NOT NULL,
    seating_id uuid REFERENCES seatings,
    refusal    jsonb,
    asked_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (player_id, request_id),
    CHECK ((seating_id IS NULL) <> (refusal IS NULL))
);
CREATE INDEX sit_requests_by_time ON sit_requests (asked_at);
CREATE INDEX sit_requests_by_seating ON sit_requests (seating_id);

-- Ended hands: the last 50 of a table, and those of the last hour.
CREATE TABLE hands (
    table_id    uuid NOT NULL REFERENCES tables,
    hand_number bigint NOT NULL,
    pot_total   bigint NOT NULL,
    ended_at    timestamptz NOT NULL,
    PRIMARY KEY (table_id, hand_number)
);
CREATE INDEX hands_by_time ON hands (table_id, ended_at);
