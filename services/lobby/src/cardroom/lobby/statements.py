"""All of the lobby's SQL, by name."""

from __future__ import annotations

from typing import Final

# --- errands: rows with work left. A claim lasts a while, so that a killed worker's errand is taken up by another.

CLAIM_SEATING: Final = """
UPDATE seatings SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE seating_id = $1 AND due_at IS NOT NULL AND (claimed_until IS NULL OR claimed_until < now())
RETURNING *
"""

CLAIM_DUE_SEATINGS: Final = """
UPDATE seatings SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE seating_id IN (
    SELECT seating_id FROM seatings
    WHERE due_at <= now() AND (claimed_until IS NULL OR claimed_until < now())
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING *
"""

CLAIM_TABLE: Final = """
UPDATE tables SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE table_id = $1 AND due_at IS NOT NULL AND (claimed_until IS NULL OR claimed_until < now())
RETURNING *
"""

CLAIM_DUE_TABLES: Final = """
UPDATE tables SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE table_id IN (
    SELECT table_id FROM tables
    WHERE due_at <= now() AND (claimed_until IS NULL OR claimed_until < now())
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING *
"""

SEATING_IS_CLAIMED: Final = "SELECT due_at IS NOT NULL AND claimed_until > now() FROM seatings WHERE seating_id = $1"

TABLE_IS_CLAIMED: Final = "SELECT due_at IS NOT NULL AND claimed_until > now() FROM tables WHERE table_id = $1"

COUNT_ERRANDS: Final = """
SELECT (SELECT count(*) FROM seatings WHERE due_at IS NOT NULL) AS seatings,
       (SELECT count(*) FROM tables WHERE due_at IS NOT NULL) AS tables
"""

# --- stays at tables

READ_SEATING: Final = "SELECT * FROM seatings WHERE seating_id = $1"

READ_ACTIVE_SEATING: Final = "SELECT * FROM seatings WHERE player_id = $1 AND step <> 'over'"

READ_PAST_SEATING: Final = """
SELECT * FROM seatings
WHERE player_id = $1 AND table_id = $2 AND step = 'over' AND refusal IS NULL AND over_at > now() - $3::interval
  AND ($4::uuid IS NULL OR seating_id = $4)
ORDER BY over_at DESC LIMIT 1
"""

# At rest (seated, or over) there is no errand; otherwise the claim goes on. Only what is answered waits for the disk: a
# step on the way that the database's machine loses is taken again, and every call of the saga can be repeated.
SAVE_SEATING: Final = """
UPDATE seatings SET
    step = $3, hold_id = $4, seated_version = $5, wants_out = $6, refusal = $7, final_stack = $8,
    last_hand_number = $9, cashed_out = $10, attempts = 0, revision = revision + 1,
    over_at = CASE WHEN $3 = 'over' THEN now() END,
    due_at = CASE WHEN $11 THEN NULL ELSE now() END,
    claimed_until = CASE WHEN $11 THEN NULL ELSE now() + $12::interval END
FROM (SELECT set_config('synchronous_commit', CASE WHEN $11 THEN current_setting('synchronous_commit') ELSE 'off' END,
                        true)) AS waited
WHERE seating_id = $1 AND revision = $2
RETURNING seatings.*
"""

POSTPONE_SEATING: Final = """
UPDATE seatings SET attempts = attempts + 1, due_at = now() + $3::interval, claimed_until = NULL,
    revision = revision + 1
WHERE seating_id = $1 AND revision = $2
RETURNING *
"""

ASK_TO_LEAVE: Final = """
UPDATE seatings SET wants_out = true, due_at = now(), revision = revision + 1
WHERE player_id = $1 AND table_id = $2 AND step <> 'over' AND ($3::uuid IS NULL OR seating_id = $3)
RETURNING *
"""

# The player's stay that is on; `left_version` tells later whether it was this one that ended.
NOTE_LEFT: Final = """
UPDATE seatings s SET left_version = d.version, due_at = now(), attempts = 0, revision = revision + 1
FROM (SELECT table_id, player_id, max(version) AS version
      FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS t (table_id, player_id, version) GROUP BY 1, 2) d
WHERE s.table_id = d.table_id AND s.player_id = d.player_id AND s.step <> 'over'
  AND s.left_version < d.version AND s.seated_version < d.version
RETURNING s.seating_id
"""

# --- sitting down

READ_SIT_REQUEST: Final = "SELECT * FROM sit_requests WHERE player_id = $1 AND request_id = $2"

# Whoever takes a seat at a table, keeps one there for a player who waits, or closes it, does so alone.
LOCK_OPEN_TABLE: Final = "SELECT * FROM tables WHERE table_id = $1 AND state = 'open' FOR NO KEY UPDATE"

RECORD_SIT_REQUEST: Final = """
INSERT INTO sit_requests (player_id, request_id, table_id, seat, buy_in, seating_id, refusal, quick)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING
RETURNING request_id
"""

COUNT_TAKEN: Final = "SELECT count(*) FROM seatings WHERE table_id = $1 AND step <> 'over'"

# --- tables

ADD_TABLE: Final = """
INSERT INTO tables (table_id, request_id, name, game, small_blind, big_blind, ante, min_buy_in, max_buy_in, seats,
                    asked, state, due_at, claimed_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'opening', now(), NULL)
ON CONFLICT (request_id) DO NOTHING
"""

READ_TABLE_BY_REQUEST: Final = "SELECT * FROM tables WHERE request_id = $1"

READ_TABLE: Final = "SELECT * FROM tables WHERE table_id = $1"

LOCK_TABLE: Final = "SELECT * FROM tables WHERE table_id = $1 FOR UPDATE"

BEGIN_CLOSING: Final = """
UPDATE tables SET state = 'closing', due_at = now(), claimed_until = NULL, attempts = 0, revision = revision + 1
WHERE table_id = $1
"""

SAVE_TABLE: Final = """
UPDATE tables SET state = $3, refusal = $4, attempts = 0, due_at = NULL, claimed_until = NULL, revision = revision + 1,
    closed_at = CASE WHEN $3 IN ('closed', 'refused') THEN now() END
WHERE table_id = $1 AND revision = $2
RETURNING *
"""

POSTPONE_TABLE: Final = """
UPDATE tables SET attempts = attempts + 1, due_at = now() + $3::interval, claimed_until = NULL, revision = revision + 1
WHERE table_id = $1 AND revision = $2
RETURNING *
"""

# --- the offer. Hand numbers have no gaps, so that two look-ups in an index count an hour's hands.

_OFFER: Final = """
SELECT t.*,
    coalesce((SELECT array_agg(DISTINCT k.seat) FROM kept_seats k WHERE k.table_id = t.table_id),
             '{}') AS taken_seats,
    (SELECT count(*) FROM waiting w WHERE w.table_id = t.table_id AND w.ended_at IS NULL
                                      AND w.reserved_until IS NULL AND w.seating_id IS NULL) AS waiting,
    coalesce((SELECT round(avg(pot_total)) FROM (SELECT pot_total FROM hands h WHERE h.table_id = t.table_id
                                          ORDER BY hand_number DESC LIMIT 50) last), 0)::bigint AS average_pot,
    coalesce((SELECT max(hand_number) FROM hands h WHERE h.table_id = t.table_id)
           - (SELECT hand_number FROM hands h WHERE h.table_id = t.table_id AND h.ended_at > now() - interval '1 hour'
              ORDER BY ended_at LIMIT 1) + 1, 0) AS hour_hands,
    extract(epoch FROM now() - coalesce(t.first_hand_at, t.created_at))::float8 AS played_seconds
FROM tables t
"""

OFFERS: Final = _OFFER + "WHERE t.state = 'open' ORDER BY t.small_blind, t.name, t.table_id LIMIT $1"

OFFERS_OF: Final = _OFFER + "WHERE t.table_id = ANY($1::uuid[]) AND t.state = 'open'"

OFFER_OF: Final = _OFFER + "WHERE t.table_id = $1 AND t.state = 'open'"

# One statement, one snapshot: what it does not see yet was written by `next` or a later transaction.
READ_TABLE_CHANGES: Final = """
SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS next,
       ARRAY(SELECT DISTINCT table_id FROM table_changes WHERE written_by >= $1::text::xid8) AS table_ids
"""

FORGET_TABLE_CHANGES: Final = "DELETE FROM table_changes WHERE written_at < now() - $1::interval"

# --- played hands

ADD_HANDS: Final = """
INSERT INTO hands (table_id, hand_number, pot_total, ended_at)
SELECT d.table_id, d.hand_number, d.pot_total, d.ended_at
FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::timestamptz[])
     AS d (table_id, hand_number, pot_total, ended_at)
JOIN tables USING (table_id)
ON CONFLICT DO NOTHING
"""

NOTE_FIRST_HANDS: Final = """
UPDATE tables t SET first_hand_at = d.at
FROM (SELECT table_id, min(at) AS at FROM unnest($1::uuid[], $2::timestamptz[]) AS h (table_id, at) GROUP BY 1) d
WHERE t.table_id = d.table_id AND t.first_hand_at IS NULL
"""

# Tables by demand come and go for years: of one that is closed nothing is shown any more.
FORGET_OLD_HANDS: Final = """
DELETE FROM hands h
USING (SELECT table_id, max(hand_number) AS last FROM hands GROUP BY 1) n JOIN tables t USING (table_id)
WHERE h.table_id = n.table_id AND h.ended_at < now() - interval '1 hour'
  AND (h.hand_number <= n.last - 50 OR t.state = 'closed')
"""

# The last one opened at some stakes by demand stays: its number says which is next. A few at a time: for each, whatever
# could refer to it is looked through.
FORGET_CLOSED_TABLES: Final = """
DELETE FROM tables WHERE table_id IN (
    SELECT t.table_id FROM tables t
    WHERE t.state IN ('closed', 'refused') AND t.closed_at < now() - $1::interval
      AND NOT EXISTS (SELECT FROM seatings s WHERE s.table_id = t.table_id)
      AND NOT EXISTS (SELECT FROM waiting w WHERE t.table_id IN (w.table_id, w.reserved_table_id))
      AND NOT EXISTS (SELECT FROM hands h WHERE h.table_id = t.table_id)
      AND (t.demand_key IS NULL OR EXISTS (SELECT FROM tables later WHERE later.demand_key = t.demand_key
                                                                      AND later.demand_number > t.demand_number))
    ORDER BY t.closed_at LIMIT $2
    FOR UPDATE SKIP LOCKED)
"""

# --- what is kept for repeats, and no longer: a stay is needed as long as a request leads to it.

FORGET_OLD_REQUESTS: Final = """
DELETE FROM sit_requests r WHERE asked_at < now() - $1::interval
  AND (seating_id IS NULL OR EXISTS (SELECT FROM seatings s WHERE s.seating_id = r.seating_id AND s.step = 'over'))
"""

FORGET_OLD_SEATINGS: Final = """
DELETE FROM seatings s WHERE step = 'over' AND over_at < now() - $1::interval
  AND NOT EXISTS (SELECT FROM sit_requests r WHERE r.seating_id = s.seating_id)
  AND NOT EXISTS (SELECT FROM top_ups u WHERE u.seating_id = s.seating_id)
"""

# --- top-ups

READ_TOP_UP: Final = "SELECT * FROM top_ups WHERE top_up_id = $1"

READ_TOP_UP_REQUEST: Final = "SELECT * FROM top_ups WHERE player_id = $1 AND request_id = $2"

# FOR SHARE: a stay does not begin to end while chips are promised to it.
LOCK_SEATED: Final = """
SELECT s.*, t.max_buy_in FROM seatings s JOIN tables t USING (table_id)
WHERE s.player_id = $1 AND s.table_id = $2 AND s.step = 'seated' AND NOT s.wants_out
  AND s.left_version <= s.seated_version
FOR SHARE OF s
"""

# Nothing comes back when the stay has one already, or the same request came on another connection.
ADD_TOP_UP: Final = """
INSERT INTO top_ups (top_up_id, player_id, request_id, table_id, amount, seating_id, step, due_at, claimed_until)
VALUES ($1, $2, $3, $4, $5, $6, 'asked', now(), now() + $7::interval)
ON CONFLICT DO NOTHING
RETURNING *
"""

ADD_REFUSED_TOP_UP: Final = """
INSERT INTO top_ups (top_up_id, player_id, request_id, table_id, amount, step, refusal, over_at)
VALUES ($1, $2, $3, $4, $5, 'over', $6, now())
ON CONFLICT (player_id, request_id) DO NOTHING
RETURNING top_up_id
"""

UNFINISHED_TOP_UP: Final = "SELECT * FROM top_ups WHERE seating_id = $1 AND step <> 'over'"

CLAIM_TOP_UP: Final = """
UPDATE top_ups SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE top_up_id = $1 AND due_at IS NOT NULL AND (claimed_until IS NULL OR claimed_until < now())
RETURNING *
"""

CLAIM_DUE_TOP_UPS: Final = """
UPDATE top_ups SET claimed_until = now() + $2::interval, revision = revision + 1
WHERE top_up_id IN (
    SELECT top_up_id FROM top_ups
    WHERE due_at <= now() AND (claimed_until IS NULL OR claimed_until < now())
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING *
"""

TOP_UP_IS_CLAIMED: Final = "SELECT due_at IS NOT NULL AND claimed_until > now() FROM top_ups WHERE top_up_id = $1"

SAVE_TOP_UP: Final = """
UPDATE top_ups SET step = $3, hold_id = $4, added = $5, refusal = $6, attempts = 0, revision = revision + 1,
    over_at = CASE WHEN $3 = 'over' THEN now() END,
    due_at = CASE WHEN $3 = 'over' THEN NULL ELSE now() END,
    claimed_until = CASE WHEN $3 = 'over' THEN NULL ELSE now() + $7::interval END
WHERE top_up_id = $1 AND revision = $2
RETURNING *
"""

POSTPONE_TOP_UP: Final = """
UPDATE top_ups SET attempts = attempts + 1, due_at = now() + $3::interval, claimed_until = NULL, revision = revision + 1
WHERE top_up_id = $1 AND revision = $2
RETURNING *
"""

# What the table said may be the end of a wait. A worker that has the row now finds it written, and looks again.
WAKE_TOP_UPS: Final = """
UPDATE top_ups SET due_at = now(), attempts = 0, revision = revision + 1
WHERE seating_id = ANY($1::uuid[]) AND step <> 'over'
RETURNING top_up_id
"""

WAKE_TOP_UPS_AT: Final = """
UPDATE top_ups u SET due_at = now(), attempts = 0, revision = revision + 1
FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::uuid[]) AS t (table_id, player_id)) d
WHERE u.table_id = d.table_id AND u.player_id = d.player_id AND u.step = 'waiting'
RETURNING top_up_id
"""

COUNT_TOP_UPS: Final = "SELECT count(*) FROM top_ups WHERE due_at IS NOT NULL"

FORGET_OLD_TOP_UPS: Final = "DELETE FROM top_ups WHERE step = 'over' AND over_at < now() - $1::interval"
