-- Since when a table is closed, or was refused: its description is kept for some time after. One that a lobby of an earlier release
-- closes says nothing, and stays.
ALTER TABLE tables ADD COLUMN closed_at timestamptz;
UPDATE tables SET closed_at = now() WHERE state IN ('closed', 'refused');
