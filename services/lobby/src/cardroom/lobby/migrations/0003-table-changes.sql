-- Which tables have changed on the offer, for every replica to follow: written by triggers in the transaction that makes the
-- change, so that no way of making it forgets to say so. The lobby drops lines after some minutes.

CREATE TABLE table_changes (
    table_id   uuid NOT NULL,
    -- Lines become visible in the order of commits, which no counter has. A reader goes on from the oldest transaction that
    -- was still running when it last looked: it may meet a line twice, and misses none.
    written_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
    written_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX table_changes_by_transaction ON table_changes (written_by);
CREATE INDEX table_changes_by_time ON table_changes (written_at);

CREATE FUNCTION note_table_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO table_changes (table_id) VALUES (NEW.table_id);
    RETURN NULL;
END $$;

CREATE TRIGGER table_opened_or_closed AFTER UPDATE OF state ON tables
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION note_table_change();
CREATE TRIGGER table_added AFTER INSERT ON tables
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION note_table_change();
CREATE TRIGGER seat_taken AFTER INSERT ON seatings
    FOR EACH ROW WHEN (NEW.step <> 'over') EXECUTE FUNCTION note_table_change();
CREATE TRIGGER seat_left AFTER UPDATE OF step ON seatings
    FOR EACH ROW WHEN (OLD.step <> NEW.step AND NEW.step = 'over') EXECUTE FUNCTION note_table_change();
CREATE TRIGGER hand_played AFTER INSERT ON hands
    FOR EACH ROW EXECUTE FUNCTION note_table_change();
