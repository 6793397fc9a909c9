-- A seat that is kept for a player who waits is nobody else's, whoever inserts and whatever they know of waiting lists: a lobby of
-- an earlier release, for instance, while another one is rolled out. It finds the seat taken, as if somebody sat there. Who takes
-- a seat has locked its table before, and so has who keeps one: of the two, the second sees what the first has written.
CREATE FUNCTION skip_seat_kept_for_another() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM waiting w WHERE w.reserved_table_id = NEW.table_id AND w.reserved_seat = NEW.seat
                                       AND w.ended_at IS NULL AND w.player_id <> NEW.player_id) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER seat_kept_for_another BEFORE INSERT ON seatings
    FOR EACH ROW WHEN (NEW.step <> 'over') EXECUTE FUNCTION skip_seat_kept_for_another();

-- The offer of a table says how many wait on its own list.
CREATE INDEX waiting_at_table ON waiting (table_id) WHERE ended_at IS NULL AND table_id IS NOT NULL;

CREATE TRIGGER list_joined AFTER INSERT ON waiting
    FOR EACH ROW WHEN (NEW.table_id IS NOT NULL) EXECUTE FUNCTION note_table_change();
CREATE TRIGGER list_moved AFTER UPDATE OF reserved_until, seating_id, ended_at ON waiting
    FOR EACH ROW WHEN (NEW.table_id IS NOT NULL
                       AND (OLD.ended_at IS NULL AND OLD.reserved_until IS NULL AND OLD.seating_id IS NULL)
                        <> (NEW.ended_at IS NULL AND NEW.reserved_until IS NULL AND NEW.seating_id IS NULL))
    EXECUTE FUNCTION note_table_change();
