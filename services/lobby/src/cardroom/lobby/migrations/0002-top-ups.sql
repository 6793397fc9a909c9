-- Top-ups, from the request to the chips at the table. A refused request has its refusal, and no seating where none was.
CREATE TABLE top_ups (
    top_up_id     uuid PRIMARY KEY,
    player_id     uuid NOT NULL,
    request_id    uuid NOT NULL,
    table_id      uuid NOT NULL,
    amount        bigint NOT NULL CHECK (amount > 0),
    seating_id    uuid REFERENCES seatings,
    step          text NOT NULL CHECK (step IN ('asked', 'held', 'waiting', 'posting', 'voiding', 'over')),
    hold_id       text,
    added         bigint NOT NULL DEFAULT 0 CHECK (added >= 0),
    refusal       jsonb,
    asked_at      timestamptz NOT NULL DEFAULT now(),
    over_at       timestamptz,
    due_at        timestamptz,
    claimed_until timestamptz,
    attempts      integer NOT NULL DEFAULT 0,
    revision      bigint NOT NULL DEFAULT 0,
    UNIQUE (player_id, request_id),
    CHECK (seating_id IS NOT NULL OR step = 'over'),
    CHECK ((over_at IS NOT NULL) = (step = 'over'))
);
-- One at a time: whatever races there are, the database decides.
CREATE UNIQUE INDEX top_ups_one_per_stay ON top_ups (seating_id) WHERE step <> 'over';
CREATE INDEX top_ups_due ON top_ups (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX top_ups_over ON top_ups (over_at) WHERE step = 'over';
CREATE INDEX top_ups_by_seating ON top_ups (seating_id);
