"""What may be asked of the ledger: each command knows the accounts it needs and decides alone on the books.

A command is checked for form by the API before it gets here; what it refuses here depends on the state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import BalanceAfter, Books, Hold, HoldState, Leg, Transfer, TransferKind
from cardroom.wallet.domain.names import Kind, parse
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

REFILL_TO: Final = 2_000
REFILL_EVERY: Final = timedelta(hours=24)


@dataclass(slots=True)
class Outcome:
    """What a command did, for its reply."""

    transfers: list[Transfer] = field(default_factory=list)
    balances: list[BalanceAfter] = field(default_factory=list)
    hold: Hold | None = None
    opened_player_ids: list[str] = field(default_factory=list)
    closed_accounts: int = 0


@dataclass(slots=True)
class Known:
    """What was looked up, unlocked, before the books are loaded; only what never changes once it is there."""

    hold_accounts: dict[int, str] = field(default_factory=dict)
    currencies: dict[str, str] = field(default_factory=dict)
    league_accounts: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spending:
    """How much a command moves for a purpose, and the limits of its actor; a `day_limit` of 0 is none."""

    purpose: str
    amount: int
    call_limit: int
    day_limit: int


@dataclass(slots=True)
class Command(ABC):
    """Something asked by `actor`, the subject of the token."""

    actor: str
    spending: Spending | None = field(default=None, kw_only=True)

    @abstractmethod
    def account_names(self) -> Iterable[str]:
        """Return the accounts it reads or writes; they will be locked."""

    def begin(self, books: Books) -> None:
        """Open the accounts that it opens; whoever is new gets the sign-up grant. The caller rolls back a refusal."""
        for name, currency in self.may_open():
            books.open(name, currency)
        for name in self.account_names():
            books.sign_up(name)

    @abstractmethod
    def apply(self, books: Books) -> Outcome:
        """Decide and write. Raises Refused; the caller rolls back."""

    def may_open(self) -> Iterable[tuple[str, str]]:
        """Return (account, currency) of accounts that are opened where they do not exist."""
        for name in self.account_names():
            parsed = parse(name)
            if parsed.currency is not None and (parsed.is_source or name == _play_account(parsed.player_id)):
                yield name, parsed.currency

    def needs_hold(self) -> int | None:
        """Return the hold that it is about; its account will be locked too."""
        return None

    def needs_currency(self) -> str | None:
        """Return the escrow whose currency it must know."""
        return None

    def asks_league(self) -> str | None:
        """Return the currency of which it needs every account."""
        return None

    def resolve(self, known: Known) -> None:  # noqa: B027 - most commands need nothing
        """Take in what was looked up."""

    def asks_refill(self) -> str | None:
        """Return the player whose last refill and chips at tables it needs."""
        return None

    def asks_table(self) -> str | None:
        """Return the table whose settled hands it needs."""
        return None


def _play_account(player_id: str | None) -> str:
    return names.player_account(player_id) if player_id else ""


def _loaded_hold(books: Books, hold_id: int) -> Hold:
    hold = books.holds.get(hold_id)
    if hold is None:
        raise Refused("HOLD_NOT_FOUND", f"there is no hold {hold_id}", hold_id=hold_id)
    if hold.state is not HoldState.PENDING:
        state = hold.state.name
        raise Refused("HOLD_NOT_PENDING", f"hold {hold_id} is {state}, not PENDING", hold_id=hold_id, state=state)
    return hold


def check_pair(debit: str, credit: str) -> None:
    """Raise Refused unless chips may go from one account to the other by a transfer (house rules 1.1, 1.2)."""
    paying, paid = parse(debit, "debit_account"), parse(credit, "credit_account")
    for it, where in ((paying, "debit_account"), (paid, "credit_account")):
        if it.is_source:
            text = f"{where} is {it.text!r}: only grants and adjustments use it"
            raise Refused("ACCOUNT_INVALID", text, field=where, account=it.text)
    if debit == credit:
        raise Refused("ACCOUNT_INVALID", f"both sides are {debit!r}", field="credit_account", account=credit)
    if paying.player_id and paid.player_id and paying.player_id != paid.player_id:
        text = f"chips never go from one player to another: {debit!r} to {credit!r}"
        raise Refused("PLAYER_TO_PLAYER", text, debit=debit, credit=credit)
    if (paying.kind is Kind.ESCROW or paid.kind is Kind.ESCROW) and paying.player_id != paid.player_id:
        text = f"an escrow pairs only with an account of its own player: {debit!r} to {credit!r}"
        raise Refused("ACCOUNT_INVALID", text, field="credit_account", account=credit)
    if paying.currency and paid.currency and paying.currency != paid.currency:
        raise currency_mismatch(debit, credit)


def currency_mismatch(debit: str, credit: str) -> Refused:
    """Return the refusal of a transfer between two currencies."""
    text = f"{debit!r} and {credit!r} are not of one currency; currencies never mix"
    return Refused("CURRENCY_MISMATCH", text, debit=debit, credit=credit)


def _move(books: Books, kind: TransferKind, step: Instruction, actor: str) -> Transfer:
    debit, credit = books.account(step.debit), books.account(step.credit)
    if debit.currency != credit.currency:
        raise currency_mismatch(step.debit, step.credit)
    return books.write(kind, [Leg(debit, -step.amount), Leg(credit, step.amount)], step.reason, actor)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One movement from an account to another."""

    debit: str
    credit: str
    amount: int
    reason: str


@dataclass(slots=True)
class MoveChips(Command):
    """Transfers in order, all or none."""

    steps: Sequence[Instruction]

    def account_names(self) -> Iterable[str]:
        """Both sides of each."""
        return dict.fromkeys(name for step in self.steps for name in (step.debit, step.credit))

    def may_open(self) -> Iterable[tuple[str, str]]:
        """An escrow that is paid into, besides the usual ones."""
        yield from Command.may_open(self)
        for step in self.steps:
            currency = parse(step.debit).currency
            if parse(step.credit).kind is Kind.ESCROW and currency is not None:
                yield step.credit, currency

    def apply(self, books: Books) -> Outcome:
        """Write them one after the other."""
        outcome = Outcome()
        for index, step in enumerate(self.steps):
            try:
                outcome.transfers.append(_move(books, TransferKind.TRANSFER, step, self.actor))
            except Refused as refused:
                if len(self.steps) > 1:
                    refused.metadata["index"] = str(index)
                raise
        outcome.balances = [books.balance(name) for name in self.account_names()]
        return outcome


@dataclass(slots=True)
class PlaceHold(Command):
    """Sets chips aside."""

    account: str
    amount: int
    time_to_live: timedelta
    reason: str

    def account_names(self) -> Iterable[str]:
        """The account that is held."""
        return (self.account,)

    def apply(self, books: Books) -> Outcome:
        """Write the hold."""
        account = books.account(self.account)
        hold_id = books.next_transfer_id()
        legs = [Leg(account, 0, self.amount)]
        transfer = books.write(TransferKind.HOLD_PLACED, legs, self.reason, self.actor, hold_id)
        expires_at = transfer.at + self.time_to_live
        hold = Hold(hold_id, self.account, self.amount, self.reason, transfer.at, expires_at)
        books.placed.append(hold)
        books.holds[hold_id] = hold
        return Outcome([transfer], [books.balance(self.account)], hold)


@dataclass(slots=True)
class PostHold(Command):
    """Moves held chips, all (0) or some; the rest becomes free. `account` is the hold's, found before."""

    hold_id: int
    to_account: str
    amount: int
    reason: str
    account: str = ""

    def account_names(self) -> Iterable[str]:
        """The account that is held, and the one that is paid."""
        return (self.account, self.to_account) if self.account else (self.to_account,)

    def may_open(self) -> Iterable[tuple[str, str]]:
        """The escrow of a buy-in, besides the usual ones."""
        yield from Command.may_open(self)
        currency = parse(self.account).currency if self.account else None
        if parse(self.to_account).kind is Kind.ESCROW and currency is not None:
            yield self.to_account, currency

    def needs_hold(self) -> int | None:
        """The hold."""
        return self.hold_id

    def resolve(self, known: Known) -> None:
        """The hold's account."""
        self.account = known.hold_accounts.get(self.hold_id, "")

    def apply(self, books: Books) -> Outcome:
        """Write the posting."""
        hold = _loaded_hold(books, self.hold_id)
        check_pair(hold.account, self.to_account)
        amount = self.amount or hold.amount
        if amount > hold.amount:
            text = f"amount is {amount}, more than the {hold.amount} chips of hold {hold.id}"
            raise Refused("AMOUNT_INVALID", text, field="amount", amount=amount)
        payer, payee = books.account(hold.account), books.account(self.to_account)
        if payer.currency != payee.currency:
            raise currency_mismatch(hold.account, self.to_account)
        legs = [Leg(payer, -amount, -hold.amount), Leg(payee, amount)]
        transfer = books.write(TransferKind.HOLD_POSTED, legs, self.reason or hold.reason, self.actor, hold.id)
        hold.state, hold.posted_amount, hold.closed_by = HoldState.POSTED, amount, transfer.id
        books.ended.append(hold)
        return Outcome([transfer], [books.balance(hold.account), books.balance(self.to_account)], hold)


@dataclass(slots=True)
class VoidHold(Command):
    """Gives held chips free. `account` is the hold's, found before."""

    hold_id: int
    reason: str
    account: str = ""

    def account_names(self) -> Iterable[str]:
        """The account that is held."""
        return (self.account,) if self.account else ()

    def needs_hold(self) -> int | None:
        """The hold."""
        return self.hold_id

    def resolve(self, known: Known) -> None:
        """The hold's account."""
        self.account = known.hold_accounts.get(self.hold_id, "")

    def apply(self, books: Books) -> Outcome:
        """Write the end of the hold."""
        hold = _loaded_hold(books, self.hold_id)
        transfer = books.end_hold(hold, HoldState.VOIDED, self.actor, self.reason)
        return Outcome([transfer], [books.balance(hold.account)], hold)


@dataclass(slots=True)
class ExpireHolds(Command):
    """Ends the holds of an account whose time is up; loading the account does the work."""

    account: str

    def account_names(self) -> Iterable[str]:
        """The account that was held."""
        return (self.account,)

    def apply(self, books: Books) -> Outcome:
        """Nothing is left to do."""
        return Outcome()
