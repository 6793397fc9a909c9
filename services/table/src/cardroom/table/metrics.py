"""The table service's Prometheus metrics."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from cardroom.chassis.metrics import FAST_BUCKETS

COMMANDS = Counter("cardroom_table_commands_total", "Commands that changed a table, by kind.", ["kind"])
ACTIONS = Counter("cardroom_table_actions_total", "Actions taken in hands, by who decided.", ["cause"])
HANDS = Counter("cardroom_table_hands_total", "Hands that ended.")
COMMIT_SECONDS = Histogram("cardroom_table_commit_seconds", "Time of one group commit.", buckets=FAST_BUCKETS)
COMMIT_GROUP = Histogram(
    "cardroom_table_commit_group_size", "Commands committed together.", buckets=(1, 2, 4, 8, 16, 32, 64, 128)
)
COMMITS_FAILED = Counter("cardroom_table_commits_failed_total", "Writes that were not committed, by why.", ["why"])
FORWARDED = Counter("cardroom_table_forwarded_total", "Requests passed on to the owner.", ["method"])
STREAMS = Gauge("cardroom_table_streams", "Player streams served here (those passed on not counted).")
RESYNCS = Counter("cardroom_table_stream_resyncs_total", "Streams that fell behind and got a new snapshot.")
OWNED = Gauge("cardroom_table_owned", "Tables in memory here.")
LOADED = Counter("cardroom_table_loaded_total", "Tables read from the database.")
RESTARTED = Counter(
    "cardroom_table_restarted_total", "Waits that began anew because the clock was 30 s late. Alert on a steady rate."
)
VOID = Counter("cardroom_table_void_hands_total", "Hands that could not be completed. Alert on any.")
STOPPED = Counter("cardroom_table_stopped_total", "Tables that stand still until a person looks at them. Alert on any.")
