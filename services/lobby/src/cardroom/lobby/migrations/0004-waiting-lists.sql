-- Waiting lists: places in line, and the seats that are kept for whoever is next. And quick seats: requests that name stakes.

CREATE TABLE waiting (
    entry_id          uuid PRIMARY KEY,
    -- The order of joining, on all lists together.
    number            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    player_id         uuid NOT NULL,
    -- The table whose list it is; none for the list of the stakes. On a table's list the stakes are the table's.
    table_id          uuid REFERENCES tables,
    game              smallint NOT NULL,
    small_blind       bigint NOT NULL,
    big_blind         bigint NOT NULL,
    ante              bigint NOT NULL,
    -- 0 on a list of stakes: tables of any size.
    seats             smallint NOT NULL,
    joined_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    reserved_table_id uuid REFERENCES tables,
    reserved_seat     smallint CHECK (reserved_seat >= 1),
    reserved_until    timestamptz,
    -- The stay that the player has begun meanwhile, here or elsewhere; until that is decided the entry rests.
    seating_id        uuid,
    ended_at          timestamptz,
    ended_how         text CHECK (ended_how IN ('seated', 'left', 'lapsed', 'table_closed', 'expired')),
    CHECK ((ended_at IS NULL) = (ended_how IS NULL)),
    CHECK ((reserved_table_id IS NULL) = (reserved_seat IS NULL) AND (reserved_seat IS NULL) = (reserved_until IS NULL))
);
-- One entry per player and list, one kept seat per player, one player per kept seat: whatever races there are, the database
-- decides.
CREATE UNIQUE INDEX waiting_once_per_table ON waiting (player_id, table_id)
    WHERE ended_at IS NULL AND table_id IS NOT NULL;
CREATE UNIQUE INDEX waiting_once_per_stakes ON waiting (player_id, game, small_blind, big_blind, ante, seats)
    WHERE ended_at IS NULL AND table_id IS NULL;
CREATE UNIQUE INDEX waiting_one_kept_seat_per_player ON waiting (player_id)
    WHERE ended_at IS NULL AND reserved_until IS NOT NULL;
CREATE UNIQUE INDEX waiting_one_player_per_kept_seat ON waiting (reserved_table_id, reserved_seat)
    WHERE ended_at IS NULL AND reserved_until IS NOT NULL;
CREATE INDEX waiting_lines ON waiting (game, small_blind, big_blind, ante, number) WHERE ended_at IS NULL;
CREATE INDEX waiting_by_player ON waiting (player_id, ended_at);
CREATE INDEX waiting_over ON waiting (ended_at) WHERE ended_at IS NOT NULL;

-- Seats that are not free: who sits there or is about to, and for whom they are kept. A seat that its player takes is there
-- once. One whose time is over is kept until its entry is judged, so that it goes to the next in line.
CREATE VIEW kept_seats AS
    SELECT table_id, seat, player_id FROM seatings WHERE step <> 'over'
    UNION
    SELECT reserved_table_id, reserved_seat, player_id FROM waiting
    WHERE ended_at IS NULL AND reserved_until IS NOT NULL;

-- Entries whose player has no seat in prospect, neither by this one nor otherwise: the next free seat may be theirs.
CREATE VIEW line AS
    SELECT w.* FROM waiting w
    WHERE w.ended_at IS NULL AND w.reserved_until IS NULL AND w.seating_id IS NULL
      AND NOT EXISTS (SELECT FROM waiting o
                      WHERE o.player_id = w.player_id AND o.ended_at IS NULL AND o.reserved_until IS NOT NULL)
      AND NOT EXISTS (SELECT FROM seatings s WHERE s.player_id = w.player_id AND s.step <> 'over');

-- The line as it stands at each table: its own list, and those of its stakes.
CREATE VIEW line_at AS
    SELECT t.table_id AS at_table_id, l.* FROM tables t JOIN line l
        ON l.game = t.game AND l.small_blind = t.small_blind AND l.big_blind = t.big_blind AND l.ante = t.ante
       AND (l.table_id = t.table_id OR l.table_id IS NULL AND l.seats IN (0, t.seats));

-- What a request to join a list was: its content, and the entry it led to or the refusal it met.
CREATE TABLE join_requests (
    player_id  uuid NOT NULL,
    request_id uuid NOT NULL,
    asked      jsonb NOT NULL,
    entry_id   uuid REFERENCES waiting,
    refusal    jsonb,
    asked_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (player_id, request_id),
    CHECK ((entry_id IS NULL) <> (refusal IS NULL))
);
CREATE INDEX join_requests_by_time ON join_requests (asked_at);
CREATE INDEX join_requests_by_entry ON join_requests (entry_id);

-- A quick seat is a request to sit down that names stakes; its table is the one that was found, or none.
ALTER TABLE sit_requests ADD COLUMN quick jsonb, ALTER COLUMN table_id DROP NOT NULL;

-- A seat that is kept, or no longer, is a change on the offer of its table.
CREATE FUNCTION note_kept_seat() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO table_changes (table_id)
    SELECT DISTINCT changed FROM unnest(ARRAY[OLD.reserved_table_id, NEW.reserved_table_id]) AS changed
    WHERE changed IS NOT NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER seat_kept AFTER UPDATE OF reserved_table_id, reserved_seat, ended_at ON waiting
    FOR EACH ROW WHEN (OLD.reserved_table_id IS NOT NULL OR NEW.reserved_table_id IS NOT NULL)
    EXECUTE FUNCTION note_kept_seat();
