"""Commands that make chips or take them back, and open or close accounts: refills, grants, leagues, corrections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import Books, Leg, TransferKind
from cardroom.wallet.domain.commands import REFILL_EVERY, REFILL_TO, Command, Known, Outcome
from cardroom.wallet.domain.names import Kind, parse
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(slots=True)
class OpenPlayer(Command):
    """A player's first touch: their Play Chips account, with the sign-up grant. Beginning does the work."""

    player_id: str

    def account_names(self) -> Iterable[str]:
        """The player's Play Chips."""
        return (names.player_account(self.player_id),)

    def apply(self, books: Books) -> Outcome:
        """Show the account."""
        return Outcome([], [books.balance(names.player_account(self.player_id))])


@dataclass(slots=True)
class Refill(Command):
    """Back to 2,000 Play Chips, chips at tables counted; once in 24 h and only below that."""

    player_id: str

    def account_names(self) -> Iterable[str]:
        """The player's Play Chips, and where grants come from."""
        return (names.player_account(self.player_id), names.grants_account(names.PLAY))

    def asks_refill(self) -> str | None:
        """The player."""
        return self.player_id

    def apply(self, books: Books) -> Outcome:
        """Write the refill."""
        account = books.account(names.player_account(self.player_id))
        total = account.posted + books.at_tables.get(self.player_id, 0)
        if total >= REFILL_TO:
            text = f"you have {total} chips with those at tables; a refill is for fewer than {REFILL_TO}"
            raise Refused("NOT_BELOW_REFILL", text, total=total)
        last = books.last_refills.get(self.player_id)
        if last is not None and books.now < last + REFILL_EVERY:
            again = (last + REFILL_EVERY).isoformat()
            text = f"the last refill was less than 24 h ago; the next one may be asked for at {again}"
            raise Refused("REFILL_TOO_SOON", text, next_refill_time=again)
        grants = books.account(names.grants_account(names.PLAY))
        legs = [Leg(grants, total - REFILL_TO), Leg(account, REFILL_TO - total)]
        transfer = books.write(TransferKind.REFILL, legs, f"refill to {REFILL_TO}", self.actor)
        books.refills.append((account, transfer.at))
        books.last_refills[self.player_id] = transfer.at
        return Outcome([transfer], [books.balance(account.name.text)])


@dataclass(slots=True)
class Grant(Command):
    """New chips for a player's or a house account."""

    account: str
    amount: int
    reason: str

    def account_names(self) -> Iterable[str]:
        """The account, and where grants come from."""
        return (self.account, names.grants_account(str(parse(self.account).currency)))

    def apply(self, books: Books) -> Outcome:
        """Write the grant."""
        account = books.account(self.account)
        legs = [Leg(books.account(names.grants_account(account.currency)), -self.amount), Leg(account, self.amount)]
        transfer = books.write(TransferKind.GRANT, legs, self.reason, self.actor)
        return Outcome([transfer], [books.balance(self.account)])


@dataclass(slots=True)
class Adjust(Command):
    """An operator's correction, up or down. `currency` is the account's, found before."""

    account: str
    amount: int
    reason: str
    currency: str = ""

    def account_names(self) -> Iterable[str]:
        """The account, and the other side of corrections."""
        return (self.account, names.adjustments_account(self.currency)) if self.currency else (self.account,)

    def needs_currency(self) -> str | None:
        """The account."""
        return self.account

    def resolve(self, known: Known) -> None:
        """The account's currency."""
        self.currency = parse(self.account).currency or known.currencies.get(self.account, "")

    def apply(self, books: Books) -> Outcome:
        """Write the correction."""
        account = books.account(self.account)
        other = books.account(names.adjustments_account(account.currency))
        legs = [Leg(other, -self.amount), Leg(account, self.amount)]
        transfer = books.write(TransferKind.ADJUSTMENT, legs, self.reason, self.actor)
        return Outcome([transfer], [books.balance(self.account)])


@dataclass(slots=True)
class OpenHouse(Command):
    """An empty house account."""

    account: str

    def account_names(self) -> Iterable[str]:
        """The account."""
        return (self.account,)

    def may_open(self) -> Iterable[tuple[str, str]]:
        """The account."""
        return ((self.account, str(parse(self.account).currency)),)

    def apply(self, books: Books) -> Outcome:
        """Show the account; beginning opened it."""
        return Outcome([], [books.balance(self.account)])


@dataclass(slots=True)
class OpenLeague(Command):
    """Players' accounts of one private game, each with the starting stack once (house rule 11.2)."""

    game_id: str
    player_ids: Sequence[str]
    starting_stack: int

    def account_names(self) -> Iterable[str]:
        """Every player's account, and where the game's chips come from."""
        currency = names.league(self.game_id)
        return [names.grants_account(currency), *(names.player_account(it, currency) for it in self.player_ids)]

    def may_open(self) -> Iterable[tuple[str, str]]:
        """All of them."""
        return [(name, names.league(self.game_id)) for name in self.account_names()]

    def apply(self, books: Books) -> Outcome:
        """Write a grant for each account that has no entry yet."""
        outcome = Outcome()
        grants = books.account(names.grants_account(names.league(self.game_id)))
        for player_id in self.player_ids:
            account = books.account(names.player_account(player_id, grants.currency))
            if account.version == 0:
                legs = [Leg(grants, -self.starting_stack), Leg(account, self.starting_stack)]
                outcome.transfers.append(books.write(TransferKind.GRANT, legs, "starting stack", self.actor))
                outcome.opened_player_ids.append(player_id)
            outcome.balances.append(books.balance(account.name.text))
        return outcome


@dataclass(slots=True)
class CloseLeague(Command):
    """Closes every account of a private game. `accounts` are all of its currency, found before."""

    game_id: str
    accounts: Sequence[str] = ()

    def account_names(self) -> Iterable[str]:
        """Every account of the game."""
        return (names.grants_account(names.league(self.game_id)), *self.accounts)

    def asks_league(self) -> str | None:
        """The game's currency."""
        return names.league(self.game_id)

    def resolve(self, known: Known) -> None:
        """The game's accounts."""
        self.accounts = known.league_accounts.get(names.league(self.game_id), [])

    def apply(self, books: Books) -> Outcome:
        """Close them, once no chip is at a table or held."""
        mine = [books.account(name) for name in dict.fromkeys(self.account_names())]
        for account in mine:
            at_table = account.posted if account.name.kind is Kind.ESCROW else 0
            if at_table or account.held:
                name = account.name.text
                text = f"{name} still has {at_table} chips at a table and {account.held} held: cash out and void first"
                raise Refused("GAME_NOT_AT_REST", text, account=name)
        closing = [account for account in mine if not account.closed]
        for account in closing:
            account.closed = True
        books.closing.extend(closing)
        return Outcome(closed_accounts=len(closing))
