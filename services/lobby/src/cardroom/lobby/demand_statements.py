"""The SQL of tables by demand, by name."""

from __future__ import annotations

from typing import Final

# One replica at a time decides about some stakes. It comes before the rows of tables.
LOCK_DEMAND: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7283646))"

_STANDING: Final = """
SELECT t.table_id, t.name, t.state, t.seats, t.demand_key,
       (SELECT count(DISTINCT k.seat) FROM kept_seats k WHERE k.table_id = t.table_id) AS kept,
       (SELECT count(*) FROM waiting w WHERE w.table_id = t.table_id AND w.ended_at IS NULL) AS waiting,
       now() - greatest(t.created_at, (SELECT max(s.over_at) FROM seatings s
                                       WHERE s.table_id = t.table_id AND s.step = 'over')) AS empty_for
FROM tables t
"""

# Whoever has opened them.
STANDING_AT: Final = (
    _STANDING
    + """
WHERE t.state IN ('opening', 'open', 'closing') AND t.game = $1 AND t.small_blind = $2 AND t.big_blind = $3
  AND t.ante = $4 AND t.min_buy_in = $5 AND t.max_buy_in = $6 AND t.seats = $7
ORDER BY t.created_at, t.demand_number, t.table_id
"""
)

# Opened by demand for stakes that are none of these any more.
STANDING_ELSEWHERE: Final = (
    _STANDING
    + """
WHERE t.state = 'open' AND t.demand_key <> ALL($1::text[])
ORDER BY t.created_at, t.demand_number, t.table_id
"""
)

STANDING_ONE: Final = _STANDING + "WHERE t.table_id = $1"

LAST_OPENED: Final = """
SELECT demand_number, state = 'refused' AND created_at > now() - $2::interval AS was_refused
FROM tables WHERE demand_key = $1 ORDER BY demand_number DESC LIMIT 1
"""

# Nothing comes back when this number was opened before.
ADD_TABLE_BY_DEMAND: Final = """
INSERT INTO tables (table_id, request_id, name, game, small_blind, big_blind, ante, min_buy_in, max_buy_in, seats,
                    asked, state, due_at, demand_key, demand_number)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'opening', now(), $12, $13)
ON CONFLICT DO NOTHING
RETURNING table_id
"""

# Who takes a seat there, or begins to wait for one, at this moment has the row; then the table is wanted.
LOCK_TABLE_AT_REST: Final = "SELECT table_id FROM tables WHERE table_id = $1 AND state = 'open' FOR UPDATE SKIP LOCKED"
