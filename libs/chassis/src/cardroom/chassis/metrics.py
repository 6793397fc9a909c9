"""The chassis' own Prometheus metrics, in one place. Services define theirs beside the code that counts."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

FAST_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

RPC_SECONDS = Histogram(
    "cardroom_rpc_seconds", "Time to answer a unary call, by method.", ["method"], buckets=FAST_BUCKETS
)
RPC_TOTAL = Counter("cardroom_rpc_total", "Calls that ended, by method and status.", ["method", "code"])
RPC_STREAMS = Gauge("cardroom_rpc_streams", "Streams that are open now, by method.", ["method"])

OUTBOX_PUBLISHED = Counter("cardroom_outbox_published_total", "Outbox rows the broker confirmed.")
OUTBOX_UNROUTABLE = Counter(
    "cardroom_outbox_unroutable_total", "Messages that no queue was bound for, by what was done.", ["outcome"]
)
OUTBOX_FAILED = Counter("cardroom_outbox_failed_rounds_total", "Rounds of the relay that ended in an error.")
OUTBOX_LAG_SECONDS = Gauge("cardroom_outbox_lag_seconds", "Age of the oldest row of the last round, when it was read.")

BUS_CONNECTED = Gauge("cardroom_bus_connected", "1 while the connection to the broker stands with all it declares.")
BUS_REBUILDS = Counter("cardroom_bus_rebuilds_total", "Times the connection was torn down and built again.")
BUS_EXPECTED_CONSUMERS = Gauge("cardroom_bus_expected_consumers", "Consumers this process wants.")
BUS_ACTUAL_CONSUMERS = Gauge("cardroom_bus_actual_consumers", "Consumers the broker serves.")
BUS_CONSUMED = Counter("cardroom_bus_consumed_total", "Messages handled and acknowledged, by queue.", ["queue"])
BUS_RETRIES = Counter("cardroom_bus_retries_total", "Tries of a message that failed, by queue.", ["queue"])
BUS_DEAD = Counter("cardroom_bus_dead_total", "Messages rejected into the dead-letter queue, by queue.", ["queue"])

LEASES_HELD = Gauge("cardroom_leases_held", "Shards this process owns.")
LEASES_MOVED = Counter("cardroom_leases_moved_total", "Shards gained, handed over or lost.", ["how"])
LEASE_RENEW_FAILED = Counter("cardroom_lease_renew_failed_total", "Renewals that did not get through.")

DATABASE_CONNECTIONS = Gauge("cardroom_database_connections", "Connections of the pool, by state.", ["state"])
