"""What the wallet refuses, and the tree of its exceptions. No gRPC here: the API translates."""

from __future__ import annotations

import json
from typing import Final

# Reason -> name of the gRPC status. The closed list of `cardroom.wallet.v1.ErrorReason`.
STATUS_OF_REASON: Final = {
    "REQUEST_ID_INVALID": "INVALID_ARGUMENT",
    "ACCOUNT_INVALID": "INVALID_ARGUMENT",
    "AMOUNT_INVALID": "INVALID_ARGUMENT",
    "FIELD_INVALID": "INVALID_ARGUMENT",
    "PAGE_TOKEN_INVALID": "INVALID_ARGUMENT",
    "CURRENCY_MISMATCH": "INVALID_ARGUMENT",
    "PLAYER_TO_PLAYER": "INVALID_ARGUMENT",
    "KEY_REUSED": "ALREADY_EXISTS",
    "INSUFFICIENT_CHIPS": "FAILED_PRECONDITION",
    "HOLD_NOT_PENDING": "FAILED_PRECONDITION",
    "ACCOUNT_CLOSED": "FAILED_PRECONDITION",
    "NOT_BELOW_REFILL": "FAILED_PRECONDITION",
    "REFILL_TOO_SOON": "FAILED_PRECONDITION",
    "SETTLEMENT_PENDING": "FAILED_PRECONDITION",
    "ESCROW_MISMATCH": "FAILED_PRECONDITION",
    "GAME_NOT_AT_REST": "FAILED_PRECONDITION",
    "ACCOUNT_NOT_FOUND": "NOT_FOUND",
    "HOLD_NOT_FOUND": "NOT_FOUND",
    "TRANSFER_NOT_FOUND": "NOT_FOUND",
    "SCOPE_MISSING": "PERMISSION_DENIED",
    "CALL_LIMIT_EXCEEDED": "PERMISSION_DENIED",
    "DAY_LIMIT_EXCEEDED": "RESOURCE_EXHAUSTED",
    "OVERLOADED": "RESOURCE_EXHAUSTED",
    "TOO_MUCH_CONTENTION": "ABORTED",
}

# Refusals that depended on the state of the books: a repeat is refused the same way, even if it would now succeed.
REMEMBERED: Final = frozenset(
    {
        "INSUFFICIENT_CHIPS",
        "HOLD_NOT_PENDING",
        "ACCOUNT_CLOSED",
        "NOT_BELOW_REFILL",
        "REFILL_TOO_SOON",
        "GAME_NOT_AT_REST",
    }
)


class WalletError(Exception):
    """Any exception of the wallet's own."""


class Refused(WalletError):
    """The caller asked for what cannot be done. `reason` is one of `STATUS_OF_REASON`."""

    def __init__(self, reason: str, message: str, **metadata: object) -> None:
        assert reason in STATUS_OF_REASON, reason
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.metadata = {key: str(value) for key, value in metadata.items()}

    @property
    def remembered(self) -> bool:
        """Whether the refusal belongs to the request id for ever."""
        return self.reason in REMEMBERED

    def to_bytes(self) -> bytes:
        """Return the refusal as it is stored beside the request id."""
        return json.dumps([self.reason, self.message, self.metadata], sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Refused:
        """Return the refusal that `to_bytes` wrote."""
        reason, message, metadata = json.loads(stored)
        return cls(reason, message, **metadata)


class SettlementWaits(WalletError):
    """A hand cannot be settled yet: an earlier one is missing, or an escrow is still short of a buy-in."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class SettlementWrong(WalletError):
    """A hand that can never be settled: unsound by itself, or another one than was settled under its number."""

    def __init__(self, message: str, key: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.key = key


class PostingFailed(WalletError):
    """A batch could not be committed within the bound of tries."""


class DatabaseAway(PostingFailed):
    """The database did not answer within the bound of tries: whether the batch is committed is not known."""
