"""The wallet's Prometheus metrics."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

TRANSFERS: Final = Counter("cardroom_wallet_transfers", "Committed transfers.", ["kind"])
REFUSED: Final = Counter("cardroom_wallet_refused", "Requests refused by the ledger.", ["reason"])
REPEATS: Final = Counter("cardroom_wallet_repeats", "Requests answered from memory.")
RETRIES: Final = Counter("cardroom_wallet_posting_retries", "Batches tried again, by what got in the way.", ["cause"])
POSTING_SECONDS: Final = Histogram(
    "cardroom_wallet_posting_seconds",
    "Time from taking a batch to its commit.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
BATCH_SIZE: Final = Histogram(
    "cardroom_wallet_batch_requests", "Requests in a batch.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256)
)
HANDS: Final = Counter("cardroom_wallet_hands_settled", "Hands settled.")
HANDS_WAITING: Final = Gauge(
    "cardroom_wallet_hands_waiting", "Hands that wait for an earlier hand or a buy-in. Alert when it stays above 0."
)
HANDS_WAITING_SECONDS: Final = Gauge(
    "cardroom_wallet_hands_waiting_seconds", "Age of the oldest waiting hand. Alert above 60."
)
TABLES_WITH_GAP: Final = Gauge(
    "cardroom_wallet_tables_with_gap", "Tables whose next hand has not come though a later one has. Alert above 0."
)
HANDS_WRONG: Final = Counter(
    "cardroom_wallet_hands_wrong", "Hands that can never be settled; they go to the dead-letter queue. Alert on any."
)
AUDIT_PASSED: Final = Gauge(
    "cardroom_wallet_audit_passed", "1 when the last audit held, 0 when it did not. Alert on 0."
)
AUDIT_FINISHED: Final = Gauge("cardroom_wallet_audit_finished_timestamp_seconds", "When the last audit ended.")
AUDIT_DIFFERENCE: Final = Gauge(
    "cardroom_wallet_audit_difference", "Chips too many or missing, in all currencies together. Alert unless 0."
)
