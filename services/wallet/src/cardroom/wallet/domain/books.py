"""The part of the ledger that one batch works on: loaded and locked accounts, and what is written about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Final

from cardroom.wallet.domain import names
from cardroom.wallet.domain.names import AccountName, Kind
from cardroom.wallet.errors import Refused

TRANSFERS_PER_POSTING: Final = 100_000
SIGN_UP_GRANT: Final = 10_000
NEVER_CHANGED: Final = datetime(2000, 1, 1, tzinfo=UTC)
WALLET_ACTOR: Final = "service:wallet"


class TransferKind(IntEnum):
    """What a transfer was for; the numbers of the proto's enum."""

    SIGN_UP = 1
    REFILL = 2
    GRANT = 3
    TRANSFER = 4
    HOLD_PLACED = 5
    HOLD_POSTED = 6
    HOLD_VOIDED = 7
    HOLD_EXPIRED = 8
    SETTLEMENT = 9
    CASH_OUT = 10
    ADJUSTMENT = 11


class HoldState(IntEnum):
    """Where a hold is in its life; the numbers of the proto's enum."""

    PENDING = 1
    POSTED = 2
    VOIDED = 3
    EXPIRED = 4


@dataclass(slots=True)
class Account:
    """An account, locked, as of the last entry written. The store numbers one that is new when it writes it."""

    id: int
    name: AccountName
    currency: str
    posted: int
    held: int
    version: int
    changed_at: datetime
    closed: bool = False

    @property
    def available(self) -> int:
        """What may be spent."""
        return self.posted - self.held


@dataclass(slots=True)
class Hold:
    """Chips set aside in an account."""

    id: int
    account: str
    amount: int
    reason: str
    created_at: datetime
    expires_at: datetime
    state: HoldState = HoldState.PENDING
    posted_amount: int = 0
    closed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One new line of an account's history."""

    account: str
    version: int
    amount: int
    balance_after: int
    held_change: int
    held_after: int
    stack: int | None


@dataclass(slots=True)
class Transfer:
    """Chips that move together; the amounts of its entries sum to zero."""

    id: int
    kind: TransferKind
    currency: str
    reason: str
    actor: str
    hold_id: int | None
    at: datetime
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BalanceAfter:
    """An account after a command, for its reply."""

    account: str
    currency: str
    posted: int
    held: int
    version: int
    closed: bool


@dataclass(slots=True)
class Leg:
    """One account's part of a transfer that is about to be written."""

    account: Account
    amount: int
    held_change: int = 0
    stack: int | None = None


class Books:
    """What one batch may touch, at one moment of the database's clock, and everything it writes.

    A command that is refused is rolled back to the mark before it; the others of the batch stand.
    """

    def __init__(self, posting_id: int, now: datetime) -> None:
        self.posting_id = posting_id
        self.now = now
        self.accounts: dict[str, Account] = {}
        self.opened: list[Account] = []
        self.holds: dict[int, Hold] = {}
        self.transfers: list[Transfer] = []
        self.placed: list[Hold] = []
        self.ended: list[Hold] = []
        self.refills: list[tuple[Account, datetime]] = []
        self.closing: list[Account] = []
        self.allowances: dict[tuple[str, str], int] = {}
        self.last_refills: dict[str, datetime] = {}
        self.at_tables: dict[str, int] = {}
        self.settled: dict[str, int] = {}
        self._undo: list[tuple[Account, int, int, int, datetime]] = []

    def open(self, name: str, currency: str) -> None:
        """Open an account, empty, where there is none. A refusal closes it again before anyone has seen it."""
        if name not in self.accounts:
            self.accounts[name] = Account(0, names.parse(name), currency, 0, 0, 0, NEVER_CHANGED)
            self.opened.append(self.accounts[name])

    def account(self, name: str) -> Account:
        """Return a loaded account. Raises Refused ACCOUNT_NOT_FOUND."""
        found = self.accounts.get(name)
        if found is None:
            raise Refused("ACCOUNT_NOT_FOUND", f"there is no account {name!r}: open it first", account=name)
        return found

    def balance(self, name: str) -> BalanceAfter:
        """Return an account as it stands now."""
        it = self.account(name)
        return BalanceAfter(name, it.currency, it.posted, it.held, it.version, it.closed)

    def available(self, name: str) -> int:
        """Return what may be spent from an account."""
        return self.account(name).available

    def mark(self) -> tuple[int, ...]:
        """Return where the books stand, for `roll_back`."""
        self._undo.clear()
        written = (self.transfers, self.placed, self.ended, self.refills, self.closing, self.opened)
        return tuple(len(it) for it in written)

    def roll_back(self, mark: tuple[int, ...]) -> None:
        """Undo everything since the mark."""
        transfers, placed, ended, refills, closing, opened = mark
        for account, posted, held, version, changed_at in reversed(self._undo):
            account.posted, account.held, account.version, account.changed_at = posted, held, version, changed_at
        self._undo.clear()
        for hold in self.ended[ended:]:
            hold.state, hold.posted_amount, hold.closed_by = HoldState.PENDING, 0, None
        for hold in self.placed[placed:]:
            del self.holds[hold.id]
        for account in self.closing[closing:]:
            account.closed = False
        for account in self.opened[opened:]:
            del self.accounts[account.name.text]
        del self.transfers[transfers:], self.placed[placed:], self.ended[ended:]
        del self.refills[refills:], self.closing[closing:], self.opened[opened:]

    def write(
        self, kind: TransferKind, legs: list[Leg], reason: str, actor: str, hold_id: int | None = None
    ) -> Transfer:
        """Write one transfer, whole. Raises Refused ACCOUNT_CLOSED or INSUFFICIENT_CHIPS, with nothing written."""
        assert sum(leg.amount for leg in legs) == 0, "unbalanced"
        currency = legs[0].account.currency
        at = self.now
        for leg in legs:
            assert leg.account.currency == currency, "currencies would mix"
            _check_leg(leg)
            at = max(at, leg.account.changed_at)
        transfer_id = self.next_transfer_id()
        transfer = Transfer(transfer_id, kind, currency, reason, actor, hold_id, at)
        transfer.entries = [self._enter(leg, at) for leg in legs]
        self.transfers.append(transfer)
        return transfer

    def next_transfer_id(self) -> int:
        """Return the id that the next transfer will have."""
        assert len(self.transfers) < TRANSFERS_PER_POSTING
        return self.posting_id * TRANSFERS_PER_POSTING + len(self.transfers)

    def _enter(self, leg: Leg, at: datetime) -> Entry:
        account = leg.account
        self._undo.append((account, account.posted, account.held, account.version, account.changed_at))
        account.posted += leg.amount
        account.held += leg.held_change
        account.version += 1
        account.changed_at = at
        return Entry(
            account.name.text,
            account.version,
            leg.amount,
            account.posted,
            leg.held_change,
            account.held,
            leg.stack,
        )

    def sign_up(self, name: str) -> None:
        """Give a player's Play Chips account that has no entry yet its sign-up grant."""
        account = self.accounts.get(name)
        if account is None or not is_new_player(account):
            return
        self.open(names.grants_account(names.PLAY), names.PLAY)
        grants = self.account(names.grants_account(names.PLAY))
        legs = [Leg(grants, -SIGN_UP_GRANT), Leg(account, SIGN_UP_GRANT)]
        self.write(TransferKind.SIGN_UP, legs, "sign-up grant", WALLET_ACTOR)

    def expire_due_holds(self) -> None:
        """End every loaded hold whose time is up: from this moment on it is void for everyone."""
        for hold in list(self.holds.values()):
            if hold.state is HoldState.PENDING and hold.expires_at <= self.now:
                self.end_hold(hold, HoldState.EXPIRED, WALLET_ACTOR)

    def end_hold(self, hold: Hold, state: HoldState, actor: str, reason: str = "") -> Transfer:
        """Give a pending hold's chips free, because it is voided or has expired."""
        assert hold.state is HoldState.PENDING
        kind = TransferKind.HOLD_VOIDED if state is HoldState.VOIDED else TransferKind.HOLD_EXPIRED
        legs = [Leg(self.account(hold.account), 0, -hold.amount)]
        transfer = self.write(kind, legs, reason or hold.reason, actor, hold.id)
        hold.state, hold.closed_by = state, transfer.id
        self.ended.append(hold)
        return transfer


def is_new_player(account: Account) -> bool:
    """Return whether it is a player's Play Chips account that has had no sign-up grant yet."""
    return account.version == 0 and account.name.kind is Kind.PLAYER and account.currency == names.PLAY


def _check_leg(leg: Leg) -> None:
    account = leg.account
    name = account.name.text
    if account.closed:
        raise Refused("ACCOUNT_CLOSED", f"{name} was closed with its game; nothing moves any more", account=name)
    after = account.available + leg.amount - leg.held_change
    if after < 0 and after < account.available and not account.name.is_source:
        needed = account.available - after
        text = f"{name} has {account.available} chips available, and {needed} are needed"
        raise Refused("INSUFFICIENT_CHIPS", text, account=name, available=account.available, needed=needed)
