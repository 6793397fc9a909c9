"""The SQL of waiting lists and quick seats, by name."""

from __future__ import annotations

from typing import Final

# --- tables with whose each of their seats is; see the views `kept_seats`, `line` and `line_at` in the migrations

_ROOM: Final = """
SELECT t.*,
       ARRAY(SELECT seat FROM kept_seats k WHERE k.table_id = t.table_id ORDER BY seat, player_id) AS kept_seats,
       ARRAY(SELECT player_id FROM kept_seats k WHERE k.table_id = t.table_id ORDER BY seat, player_id) AS kept_for
FROM tables t
"""

ROOM: Final = _ROOM + "WHERE t.table_id = $1"

ROOMS: Final = _ROOM + "WHERE t.table_id = ANY($1::uuid[])"

# One who names no number of seats means all of them.
ROOMS_AT: Final = (
    _ROOM
    + """
WHERE t.state = 'open' AND t.game = $1 AND t.small_blind = $2 AND t.big_blind = $3 AND t.ante = $4
  AND ($5 = 0 OR t.seats = $5)
"""
)

# --- the line

# One transaction at a time makes reservations and judges entries. It comes before every other lock.
LOCK_LINE: Final = "SELECT pg_advisory_xact_lock(7283645)"

# The first in line for one table.
LINE_AT: Final = "SELECT * FROM line_at WHERE at_table_id = $1 ORDER BY number LIMIT $2"

# The first in line for any of these tables.
LINE_AT_ANY: Final = """
SELECT w.* FROM waiting w
WHERE w.entry_id IN (SELECT entry_id FROM line_at WHERE at_table_id = ANY($1::uuid[]))
ORDER BY w.number LIMIT $2
"""

# Those of these entries that are still in line. Who is being written at this moment waits for the next look, and so
# does the seat: nobody else gets it meanwhile.
LOCK_IN_LINE: Final = """
SELECT entry_id FROM waiting
WHERE entry_id = ANY($1::uuid[]) AND ended_at IS NULL AND reserved_until IS NULL AND seating_id IS NULL
ORDER BY number
FOR UPDATE SKIP LOCKED
"""

# Open tables with a seat for somebody who waits. Locked: nobody takes a seat there meanwhile.
LOCK_ROOMS_FOR_THE_LINE: Final = """
SELECT t.table_id FROM tables t
WHERE t.state = 'open' AND EXISTS (SELECT FROM line_at l WHERE l.at_table_id = t.table_id)
  AND (SELECT count(DISTINCT k.seat) FROM kept_seats k WHERE k.table_id = t.table_id) < t.seats
ORDER BY t.table_id LIMIT $1
FOR NO KEY UPDATE OF t
"""

KEEP_SEATS: Final = """
UPDATE waiting w SET reserved_table_id = d.table_id, reserved_seat = d.seat, reserved_until = now() + $4::interval
FROM unnest($1::uuid[], $2::uuid[], $3::smallint[]) AS d (entry_id, table_id, seat)
WHERE w.entry_id = d.entry_id AND w.ended_at IS NULL
"""

# Entries whose fate has changed, with what it depends on; any others would keep those beyond the limit from being seen.
# Who is being written at this moment waits for the next look.
ENTRIES_TO_JUDGE: Final = """
SELECT w.*, now() AS judged_at,
       coalesce(own.seating_id, other.seating_id, w.seating_id) AS stay_id,
       coalesce(own.step, other.step) AS stay_step,
       coalesce(own.refusal, other.refusal) IS NOT NULL AS stay_is_refused,
       (coalesce(own.table_id, other.table_id), coalesce(own.seat, other.seat))
           IS NOT DISTINCT FROM (w.reserved_table_id, w.reserved_seat) AS sits_on_the_kept_seat,
       coalesce(listed.state IN ('closed', 'refused'), false) AS list_is_closed,
       coalesce(kept.state = 'open', true) AS kept_seats_table_is_open
FROM waiting w
LEFT JOIN seatings own ON own.seating_id = w.seating_id
LEFT JOIN seatings other ON w.seating_id IS NULL AND other.player_id = w.player_id AND other.step <> 'over'
LEFT JOIN tables listed ON listed.table_id = w.table_id
LEFT JOIN tables kept ON kept.table_id = w.reserved_table_id
WHERE w.ended_at IS NULL
  AND CASE WHEN w.seating_id IS NOT NULL
           THEN coalesce(own.step, 'over') IN ('seated', 'leaving', 'cashing_out', 'over')
           ELSE other.seating_id IS NOT NULL OR listed.state IN ('closed', 'refused') OR kept.state <> 'open'
                OR w.reserved_until <= now() OR w.reserved_until IS NULL AND w.joined_at < now() - $1::interval END
ORDER BY w.number LIMIT $2
FOR UPDATE OF w SKIP LOCKED
"""

SAVE_ENTRIES: Final = """
UPDATE waiting w SET reserved_table_id = d.table_id, reserved_seat = d.seat, reserved_until = d.until,
    seating_id = d.seating_id, ended_how = d.ended, ended_at = CASE WHEN d.ended IS NOT NULL THEN now() END
FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::timestamptz[], $5::uuid[], $6::text[])
     AS d (entry_id, table_id, seat, until, seating_id, ended)
WHERE w.entry_id = d.entry_id AND w.ended_at IS NULL
"""

# When the next kept seat lapses, in seconds from now; nothing when none is kept. And how many entries there are.
LOOK_AHEAD: Final = """
SELECT extract(epoch FROM min(reserved_until) - now())::float8 AS lapses_in, count(*) AS entries
FROM waiting WHERE ended_at IS NULL
"""

# --- joining and leaving

READ_JOIN_REQUEST: Final = "SELECT * FROM join_requests WHERE player_id = $1 AND request_id = $2"

RECORD_JOIN_REQUEST: Final = """
INSERT INTO join_requests (player_id, request_id, asked, entry_id, refusal) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING
RETURNING request_id
"""

# The table is not closed while somebody begins to wait for it; seats are taken there all the same.
LOCK_TABLE_TO_WAIT_FOR: Final = "SELECT * FROM tables WHERE table_id = $1 AND state = 'open' FOR KEY SHARE"

# One request to join at a time for each player: what is counted stays so.
LOCK_PLAYERS_LISTS: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7283647))"

ANY_TABLE_AT: Final = """
SELECT EXISTS (SELECT FROM tables t
               WHERE t.state = 'open' AND t.game = $1 AND t.small_blind = $2 AND t.big_blind = $3 AND t.ante = $4
                 AND ($5 = 0 OR t.seats = $5))
"""

COUNT_LISTS_OF: Final = "SELECT count(*) FROM waiting WHERE player_id = $1 AND ended_at IS NULL"

COUNT_ON_LIST: Final = """
SELECT count(*) FROM waiting
WHERE ended_at IS NULL AND game = $1 AND small_blind = $2 AND big_blind = $3 AND ante = $4 AND seats = $5
  AND table_id IS NOT DISTINCT FROM $6
"""

# Nothing comes back when the player is on this list already.
JOIN: Final = """
INSERT INTO waiting (entry_id, player_id, table_id, game, small_blind, big_blind, ante, seats)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING
RETURNING *
"""

READ_ON_LIST: Final = """
SELECT * FROM waiting
WHERE ended_at IS NULL AND player_id = $1 AND game = $2 AND small_blind = $3 AND big_blind = $4 AND ante = $5
  AND seats = $6 AND table_id IS NOT DISTINCT FROM $7
"""

LEAVE: Final = """
UPDATE waiting SET ended_at = now(), ended_how = 'left' WHERE entry_id = $1 AND player_id = $2 AND ended_at IS NULL
RETURNING entry_id
"""

READ_ENTRY: Final = "SELECT * FROM waiting WHERE entry_id = $1 AND player_id = $2"

# Everyone in every line that one of these players stands in, and what became of the players' own entries lately.
LINES_OF: Final = """
SELECT w.*, greatest(0, extract(epoch FROM w.reserved_until - now()) * 1000)::bigint AS left_ms
FROM waiting w
WHERE w.ended_at IS NULL AND (w.game, w.small_blind, w.big_blind, w.ante) IN (
        SELECT o.game, o.small_blind, o.big_blind, o.ante FROM waiting o
        WHERE o.player_id = ANY($1::uuid[]) AND o.ended_at IS NULL)
   OR w.player_id = ANY($1::uuid[]) AND w.ended_at > now() - $2::interval
ORDER BY w.number
"""

# Differs whenever any entry has changed: a row that is written gets another xmin, and one that ends is not counted.
LINES_STAMP: Final = """
SELECT count(*) || '/' || coalesce(sum(xmin::text::bigint), 0) FROM waiting WHERE ended_at IS NULL
"""

# --- taking a seat

# The player's own entries, so that nothing happens to them until the seat is taken.
LOCK_ENTRIES_OF: Final = """
SELECT entry_id FROM waiting WHERE player_id = $1 AND ended_at IS NULL ORDER BY number FOR UPDATE
"""

# Who comes too late for a kept seat has no claim on it.
END_LAPSED_OF: Final = """
UPDATE waiting SET ended_at = now(), ended_how = 'lapsed'
WHERE player_id = $1 AND ended_at IS NULL AND reserved_until <= now() AND seating_id IS NULL
RETURNING entry_id
"""

# Nothing comes back when somebody sits there, the player has a place already, or (a trigger) the seat is for another.
TAKE_SEAT: Final = """
INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step, due_at, claimed_until)
VALUES ($1, $2, $3, $4, $5, $6, 'reserved', now(), now() + $7::interval)
ON CONFLICT DO NOTHING
RETURNING *
"""

# The entries rest until the stay is decided. A seat that was kept elsewhere is free again.
REST_ENTRIES: Final = """
UPDATE waiting SET seating_id = $2,
    reserved_table_id = CASE WHEN reserved_table_id = $3 AND reserved_seat = $4 THEN reserved_table_id END,
    reserved_seat = CASE WHEN reserved_table_id = $3 AND reserved_seat = $4 THEN reserved_seat END,
    reserved_until = CASE WHEN reserved_table_id = $3 AND reserved_seat = $4 THEN reserved_until END
WHERE player_id = $1 AND ended_at IS NULL
RETURNING entry_id
"""

# --- for those who open tables

WAITING_FOR: Final = """
SELECT count(DISTINCT player_id) FROM line
WHERE game = $1 AND small_blind = $2 AND big_blind = $3 AND ante = $4
  AND table_id IS NULL AND (seats = $5 OR 0 IN (seats, $5))
"""

# --- housekeeping

COUNT_WAITING: Final = """
SELECT count(*) FILTER (WHERE reserved_until IS NULL) AS waiting, count(reserved_until) AS reserved
FROM waiting WHERE ended_at IS NULL
"""

FORGET_OLD_JOIN_REQUESTS: Final = """
DELETE FROM join_requests r WHERE asked_at < now() - $1::interval
  AND (entry_id IS NULL OR EXISTS (SELECT FROM waiting w WHERE w.entry_id = r.entry_id AND w.ended_at IS NOT NULL))
"""

FORGET_OLD_ENTRIES: Final = """
DELETE FROM waiting w WHERE ended_at < now() - $1::interval
  AND NOT EXISTS (SELECT FROM join_requests r WHERE r.entry_id = w.entry_id)
"""
