"""The spectator's own metrics."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

FEEDS = Gauge("cardroom_spectator_feeds", "Tables that somebody watches through this replica.")
STREAMS = Gauge("cardroom_spectator_streams", "Watchers' streams open on this replica.")
STORED = Counter("cardroom_spectator_changes_stored_total", "Changes of tables taken from the bus.")
PURGED = Counter("cardroom_spectator_changes_purged_total", "Changes deleted because nobody will ask for them.")
RESTARTED = Counter(
    "cardroom_spectator_restarts_total", "Watchers too slow for their feed, begun again with a snapshot."
)
LATENESS = Histogram(
    "cardroom_spectator_lateness_seconds",
    "How long after it was due a change was shown.",
    buckets=(0.05, 0.1, 0.2, 0.5, 1, 2, 5, 30),
)
