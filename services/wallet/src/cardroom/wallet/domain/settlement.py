"""Settled hands: chips move between the escrows of a table, hand by hand, and come back from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import WALLET_ACTOR, Account, Books, Leg, Transfer, TransferKind
from cardroom.wallet.domain.commands import Command, Known, Outcome
from cardroom.wallet.errors import Refused, SettlementWaits, SettlementWrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PLAYERS_MAX: Final = 23
# No limit of play: a stack is whatever its player has won, however many bought in. It keeps sums within 64 bits.
AMOUNT_MAX: Final = 10**17


@dataclass(frozen=True, slots=True)
class Change:
    """What a hand changed for one player, and the stack that the table states after it."""

    player_id: str
    delta: int
    stack: int


@dataclass(frozen=True)
class Hand:
    """A hand that ended, as the table told it. Its key is the table and the number."""

    table_id: str
    number: int
    currency: str
    changes: Sequence[Change]

    @cached_property
    def digest(self) -> bytes:
        """What tells a repeat from another hand with the same number."""
        text = "|".join(f"{it.player_id}:{it.delta}:{it.stack}" for it in self.changes)
        return hashlib.blake2b(f"{self.currency}|{text}".encode(), digest_size=16).digest()

    def escrows(self) -> Iterable[str]:
        """Return the escrow accounts that change."""
        return (names.escrow_account(self.table_id, it.player_id) for it in self.changes if it.delta)


def check_hand(hand: Hand) -> Hand:
    """Return the hand. Raises SettlementWrong when it is unsound by itself."""
    wrong = _fault(hand)
    if wrong:
        raise SettlementWrong(f"hand {hand.number} of table {hand.table_id!r}: {wrong}")
    return hand


def _fault(hand: Hand) -> str:
    if not names.is_uuid(hand.table_id) or hand.number < 1:
        return "the table's id is not a lower-case UUID, or the number not from 1"
    players = [it.player_id for it in hand.changes]
    if len(players) > PLAYERS_MAX or len(set(players)) != len(players) or not all(map(names.is_uuid, players)):
        return f"its players are not up to {PLAYERS_MAX} different lower-case UUIDs"
    if any(abs(it.delta) > AMOUNT_MAX or not 0 <= it.stack <= AMOUNT_MAX for it in hand.changes):
        return f"a delta or a stack is out of range (0 to {AMOUNT_MAX})"
    total = sum(it.delta for it in hand.changes)
    if total:
        return f"the deltas sum to {total}, not to 0"
    try:
        names.check_currency(hand.currency)
    except Refused as refused:
        return refused.message
    return ""


def settle(books: Books, hand: Hand) -> Transfer | None:
    """Write the hand's transfer; None when nobody won or lost.

    Raises SettlementWaits while an escrow is missing or too short: a buy-in that the table has already dealt in is
    still to be posted. Raises SettlementWrong for an escrow of another currency.
    """
    moved = [it for it in hand.changes if it.delta]
    if not moved:
        return None
    legs = [Leg(_escrow(books, hand, it), it.delta, stack=it.stack) for it in moved]
    try:
        return books.write(TransferKind.SETTLEMENT, legs, f"hand {hand.number}", WALLET_ACTOR)
    except Refused as refused:
        if refused.reason == "ACCOUNT_CLOSED":
            raise SettlementWrong(refused.message) from refused
        raise SettlementWaits("escrow", refused.message) from refused


def _escrow(books: Books, hand: Hand, change: Change) -> Account:
    name = names.escrow_account(hand.table_id, change.player_id)
    account = books.accounts.get(name)
    if account is None:
        raise SettlementWaits("escrow", f"there is no {name} yet: its buy-in is still to be posted")
    if account.currency != hand.currency:
        raise SettlementWrong(f"{name} is of {account.currency}, the hand of {hand.currency}")
    return account


@dataclass(slots=True)
class CashOut(Command):
    """The whole escrow of a player at a table, back to the player's account. `currency` is found before."""

    table_id: str
    player_id: str
    last_hand_number: int
    expected_amount: int
    currency: str = names.PLAY

    def account_names(self) -> Iterable[str]:
        """The escrow, and the player's account of its currency."""
        player = names.player_account(self.player_id, self.currency)
        return (names.escrow_account(self.table_id, self.player_id), player)

    def needs_currency(self) -> str | None:
        """The escrow."""
        return names.escrow_account(self.table_id, self.player_id)

    def resolve(self, known: Known) -> None:
        """The escrow's currency; without an escrow there is nothing to bring, whatever the currency."""
        self.currency = known.currencies.get(names.escrow_account(self.table_id, self.player_id), names.PLAY)

    def asks_table(self) -> str | None:
        """The table."""
        return self.table_id

    def apply(self, books: Books) -> Outcome:
        """Write the transfer, once every hand up to the last is settled."""
        settled = books.settled.get(self.table_id, 0)
        if settled < self.last_hand_number:
            text = f"table {self.table_id} is settled up to hand {settled}, not yet {self.last_hand_number}: try again"
            raise Refused("SETTLEMENT_PENDING", text, settled_hand_number=settled)
        escrow_name, player_name = self.account_names()
        escrow = books.accounts.get(escrow_name)
        there = escrow.posted if escrow is not None else 0
        if there != self.expected_amount:
            text = f"{escrow_name} has {there} chips, and {self.expected_amount} are expected"
            raise Refused("ESCROW_MISMATCH", text, escrow=there, expected=self.expected_amount)
        player = books.account(player_name)
        if escrow is None or there == 0:
            return Outcome([], [books.balance(player_name)])
        if escrow.currency != player.currency:
            text = f"{escrow_name} is of {escrow.currency}: try again"
            raise Refused("ESCROW_MISMATCH", text, escrow=there, expected=self.expected_amount)
        legs = [Leg(escrow, -there), Leg(player, there)]
        transfer = books.write(TransferKind.CASH_OUT, legs, f"left table {self.table_id}", self.actor)
        return Outcome([transfer], [books.balance(player_name)])
