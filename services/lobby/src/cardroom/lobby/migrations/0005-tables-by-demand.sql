-- Tables that the lobby opens by itself. Their numbers count the openings at some stakes: whichever replicas want to open the
-- next one, however often, it is one table.
ALTER TABLE tables
    ADD COLUMN demand_key text,
    ADD COLUMN demand_number bigint,
    ADD CHECK ((demand_key IS NULL) = (demand_number IS NULL));
CREATE UNIQUE INDEX tables_by_demand ON tables (demand_key, demand_number) WHERE demand_key IS NOT NULL;
CREATE INDEX tables_live ON tables (game, small_blind, big_blind) WHERE state IN ('opening', 'open', 'closing');
-- Since when a table is empty.
CREATE INDEX seatings_over_by_table ON seatings (table_id, over_at) WHERE step = 'over';
