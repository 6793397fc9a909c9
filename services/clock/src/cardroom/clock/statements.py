"""All of the clock's SQL, by name."""

from __future__ import annotations

from typing import Final

_INCOMING: Final = """
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::uuid[],
                         $8::bigint[], $9::bigint[], $10::boolean[], $11::bigint[])
    AS t (table_id, generation, kind, fire_at_ms, hand_number, action_number, player_id,
          started_at_ms, base_ms, bank_allowed, deadline_ms)
"""

_COLUMNS: Final = """table_id, generation, kind, fire_at_ms, hand_number, action_number, player_id,
    started_at_ms, base_ms, bank_allowed, deadline_ms"""

# A higher generation replaces everything; rows are taken in one order, so that writers never wait in a circle.
_REPLACE: Final = """
    ON CONFLICT (table_id) DO UPDATE SET
        generation = EXCLUDED.generation, kind = EXCLUDED.kind, phase = 'base', fire_at_ms = EXCLUDED.fire_at_ms,
        hand_number = EXCLUDED.hand_number, action_number = EXCLUDED.action_number, player_id = EXCLUDED.player_id,
        started_at_ms = EXCLUDED.started_at_ms, base_ms = EXCLUDED.base_ms, bank_allowed = EXCLUDED.bank_allowed,
        deadline_ms = EXCLUDED.deadline_ms, attempts = 0
    WHERE timers.generation < EXCLUDED.generation
"""

# The whole batch in one statement, but for tables whose running bank was in use: those come back, unwritten, to be
# charged first. So do the players of the batch who have a bank that is not full.
WRITE_TIMERS: Final = f"""
WITH incoming AS ({_INCOMING}),
acted AS (
    SELECT * FROM unnest($12::uuid[], $13::bigint[], $14::int[]) AS a (table_id, hand_number, action_number)
),
in_use AS (
    SELECT t.table_id FROM acted a
    JOIN timers t USING (table_id, hand_number, action_number)
    WHERE t.kind = 'turn' AND t.phase = 'bank'
),
written AS (
    INSERT INTO timers ({_COLUMNS})
    SELECT {_COLUMNS} FROM incoming
    WHERE NOT EXISTS (SELECT FROM in_use u WHERE u.table_id = incoming.table_id)
    ORDER BY table_id
    {_REPLACE}
)
SELECT table_id, NULL::uuid AS player_id FROM in_use
UNION ALL
SELECT NULL, player_id FROM banks WHERE player_id = ANY($15::uuid[]) AND left_ms < $16
"""  # noqa: S608 - constants of this file only

REPLACE_TIMERS: Final = f"""
WITH incoming AS ({_INCOMING})
INSERT INTO timers ({_COLUMNS}) SELECT {_COLUMNS} FROM incoming ORDER BY table_id
{_REPLACE}
"""  # noqa: S608 - constants of this file only

LOCK_TIMERS: Final = "SELECT * FROM timers WHERE table_id = ANY($1::uuid[]) ORDER BY table_id FOR UPDATE"

# --- firing

NEAR_TIMERS: Final = """
SELECT table_id, generation, fire_at_ms FROM timers WHERE fire_at_ms <= $1 ORDER BY fire_at_ms LIMIT $2
"""

# What is written below is only about how often something fires: lost with the database's machine it fires once more,
# and tables know a repeat. So nobody waits for the disk there, unlike for timers and banks themselves.
_UNWAITED: Final = "(SELECT set_config('synchronous_commit', 'off', true)) AS unwaited"

# Whoever moves the time of the next firing has this one. A row that is being written now comes again soon.
CLAIM_TIMERS: Final = f"""
WITH mine AS (
    SELECT t.table_id FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS d (table_id, generation, fire_at_ms)
    JOIN timers t USING (table_id, generation, fire_at_ms)
    FOR UPDATE OF t SKIP LOCKED
)
UPDATE timers t SET attempts = t.attempts + 1,
    fire_at_ms = $4::bigint + least($5::bigint * (t.attempts + 1), $6::bigint)
FROM mine, {_UNWAITED} WHERE t.table_id = mine.table_id
RETURNING t.*, coalesce((SELECT b.left_ms FROM banks b WHERE b.player_id = t.player_id), $7) AS bank_left_ms
"""  # noqa: S608 - constants of this file only

# Only what is still the same generation; a newer one knows better.
KEEP_TIMERS: Final = f"""
WITH kept AS (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
    AS k (table_id, generation, phase, fire_at_ms, deadline_ms)
),
locked AS (
    SELECT t.table_id FROM timers t JOIN kept USING (table_id, generation) ORDER BY t.table_id FOR UPDATE OF t
)
UPDATE timers t SET phase = k.phase, fire_at_ms = k.fire_at_ms, deadline_ms = k.deadline_ms, attempts = 0
FROM kept k JOIN locked USING (table_id), {_UNWAITED} WHERE t.table_id = k.table_id
"""  # noqa: S608 - constants of this file only

COUNT_TIMERS: Final = """
SELECT count(*) AS pending, count(*) FILTER (WHERE fire_at_ms < $1) AS overdue FROM timers WHERE fire_at_ms IS NOT NULL
"""

# --- banks

ADD_BANKS: Final = """
INSERT INTO banks (player_id, left_ms, hands, is_out_of_chips, noted_at_us, generation)
SELECT DISTINCT p, $2::bigint, 0, false, 0, 0 FROM unnest($1::uuid[]) AS p ORDER BY p
ON CONFLICT DO NOTHING
"""

LOCK_BANKS: Final = "SELECT * FROM banks WHERE player_id = ANY($1::uuid[]) ORDER BY player_id FOR UPDATE"

WRITE_BANKS: Final = """
UPDATE banks b SET left_ms = d.left_ms, hands = d.hands, is_out_of_chips = d.is_out_of_chips,
    away_since_ms = d.away_since_ms, table_id = d.table_id, noted_at_us = d.noted_at_us, generation = d.generation,
    tell_at_ms = CASE WHEN d.generation > b.generation THEN 0 ELSE b.tell_at_ms END
FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::boolean[], $5::bigint[], $6::uuid[], $7::bigint[], $8::bigint[])
     AS d (player_id, left_ms, hands, is_out_of_chips, away_since_ms, table_id, noted_at_us, generation)
WHERE b.player_id = d.player_id
"""

READ_BANK: Final = "SELECT * FROM banks WHERE player_id = $1"

CLAIM_BANKS_TO_TELL: Final = """
UPDATE banks SET tell_at_ms = $1::bigint + $2::bigint
WHERE player_id IN (
    SELECT player_id FROM banks
    WHERE told_generation < generation AND table_id IS NOT NULL AND tell_at_ms <= $1
    ORDER BY tell_at_ms LIMIT $3 FOR UPDATE SKIP LOCKED)
RETURNING *
"""

BANK_TOLD: Final = "UPDATE banks SET told_generation = $2 WHERE player_id = $1 AND told_generation < $2"

# --- absences

WRITE_ABSENCES: Final = """
INSERT INTO absences (table_id, player_id, generation, fire_at_ms, said_at_ms)
SELECT table_id, player_id, generation, fire_at_ms, $5::bigint
FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[]) AS a (table_id, player_id, generation, fire_at_ms)
ORDER BY table_id, player_id
ON CONFLICT (table_id, player_id) DO UPDATE
SET generation = EXCLUDED.generation, fire_at_ms = EXCLUDED.fire_at_ms, said_at_ms = EXCLUDED.said_at_ms
WHERE absences.generation < EXCLUDED.generation
"""

# Whoever moves the time of the next telling has this one.
CLAIM_ABSENCES: Final = """
UPDATE absences a SET fire_at_ms = $1::bigint + $2::bigint
FROM (SELECT table_id, player_id FROM absences WHERE fire_at_ms <= $1
      ORDER BY fire_at_ms LIMIT $3 FOR UPDATE SKIP LOCKED) due
WHERE a.table_id = due.table_id AND a.player_id = due.player_id
RETURNING a.table_id::text, a.player_id::text, a.generation, a.fire_at_ms
"""

KEEP_ABSENCE: Final = """
UPDATE absences SET fire_at_ms = $4 WHERE table_id = $1 AND player_id = $2 AND generation = $3
"""

FORGET_ABSENCES: Final = "DELETE FROM absences WHERE fire_at_ms IS NULL AND said_at_ms < $1"
