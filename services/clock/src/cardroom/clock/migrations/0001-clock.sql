-- One timer per table, and the time banks of players who ever used theirs. Times are Unix milliseconds of the clock's
-- own time, so that what is compared, kept and fired is one number.

-- The rows are rewritten with every action: room on the page, and vacuum before the index of due times grows.
CREATE TABLE timers (
    table_id      uuid PRIMARY KEY,
    generation    bigint NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('nothing', 'turn', 'deal')),
    phase         text NOT NULL DEFAULT 'base' CHECK (phase IN ('base', 'bank')),
    fire_at_ms    bigint,
    hand_number   bigint NOT NULL DEFAULT 0,
    action_number integer NOT NULL DEFAULT 0,
    player_id     uuid,
    started_at_ms bigint NOT NULL DEFAULT 0,
    base_ms       bigint NOT NULL DEFAULT 0,
    bank_allowed  boolean NOT NULL DEFAULT false,
    deadline_ms   bigint NOT NULL DEFAULT 0,
    attempts      integer NOT NULL DEFAULT 0
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_threshold = 100000);
CREATE INDEX timers_due ON timers (fire_at_ms) WHERE fire_at_ms IS NOT NULL;

CREATE TABLE banks (
    player_id       uuid PRIMARY KEY,
    left_ms         bigint NOT NULL CHECK (left_ms BETWEEN 0 AND 30000),
    hands           integer NOT NULL CHECK (hands BETWEEN 0 AND 19),
    is_out_of_chips boolean NOT NULL,
    away_since_ms   bigint,
    table_id        uuid,
    noted_at_us     bigint NOT NULL,
    generation      bigint NOT NULL,
    -- The last content that the table took; a lower one than `generation` is still to be told.
    told_generation bigint NOT NULL DEFAULT 0,
    tell_at_ms      bigint NOT NULL DEFAULT 0
);
CREATE INDEX banks_to_tell ON banks (tell_at_ms) WHERE told_generation < generation AND table_id IS NOT NULL;
