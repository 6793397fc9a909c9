-- How long tables bear with absent players (rules 9.5, 10.2). A row without a time is kept for a while, so that what was
-- said before it and comes late is known to be old.
CREATE TABLE absences (
    table_id   uuid NOT NULL,
    player_id  uuid NOT NULL,
    generation bigint NOT NULL,
    fire_at_ms bigint,
    said_at_ms bigint NOT NULL,
    PRIMARY KEY (table_id, player_id)
);
CREATE INDEX absences_due ON absences (fire_at_ms) WHERE fire_at_ms IS NOT NULL;
CREATE INDEX absences_past ON absences (said_at_ms) WHERE fire_at_ms IS NULL;
