"""Books in memory, as a store would load them: what domain tests work on."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import Account, Books
from cardroom.wallet.domain.commands import Command, Known, Outcome
from cardroom.wallet.errors import Refused

START = datetime(2026, 1, 1, tzinfo=UTC)
PLAYER = str(uuid.UUID(int=1))
OTHER = str(uuid.UUID(int=2))
TABLE = str(uuid.UUID(int=3))
GAME = str(uuid.UUID(int=4))
PLAY = names.player_account(PLAYER)
ESCROW = names.escrow_account(TABLE, PLAYER)


class Ledger:
    """A whole ledger in memory: every account loaded, commands applied one by one, refused ones rolled back."""

    def __init__(self) -> None:
        self.books = Books(1, START)

    def open(self, name: str, currency: str = names.PLAY) -> Account:
        """An empty account."""
        id_ = len(self.books.accounts) + 1
        account = Account(id_, names.parse(name), currency, 0, 0, 0, START)
        return self.books.accounts.setdefault(name, account)

    def do(self, command: Command) -> Outcome:
        """Apply a command as the poster does. Raises Refused."""
        known = Known({it.id: it.account for it in self.books.holds.values()})
        known.currencies = {name: it.currency for name, it in self.books.accounts.items()}
        for account in self.books.accounts.values():
            known.league_accounts.setdefault(account.currency, []).append(account.name.text)
        command.resolve(known)
        self.books.expire_due_holds()
        mark = self.books.mark()
        try:
            command.begin(self.books)
            return command.apply(self.books)
        except Refused:
            self.books.roll_back(mark)
            raise

    def later(self, **by: float) -> None:
        """Move the clock."""
        self.books.now += timedelta(**by)

    def available(self, name: str) -> int:
        """What an account may spend."""
        return self.books.available(name)

    def total(self, currency: str = names.PLAY) -> int:
        """All balances of a currency; always 0, since grants count below zero."""
        return sum(it.posted for it in self.books.accounts.values() if it.currency == currency)
