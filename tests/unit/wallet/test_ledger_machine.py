"""Any sequence of commands against a model that knows nothing but sums: chips are conserved, nothing is overdrawn."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import Books, HoldState
from cardroom.wallet.domain.commands import Command, Instruction, MoveChips, PlaceHold, PostHold, VoidHold
from cardroom.wallet.domain.settlement import CashOut, Change, Hand, settle
from cardroom.wallet.domain.sources import Adjust, Grant, OpenHouse, OpenPlayer, Refill
from cardroom.wallet.errors import Refused, SettlementWaits
from tests.unit.wallet.ledgers import TABLE, Ledger

PLAYERS = [str(uuid.UUID(int=number)) for number in range(1, 4)]
HOUSE = "house/bank/play"
people = st.sampled_from(PLAYERS)
amounts = st.integers(1, 12_000)


class LedgerMachine(RuleBasedStateMachine):
    """The model: what each account has and holds, kept by plain arithmetic beside the ledger's own."""

    holds = Bundle("holds")

    @initialize()
    def begin(self) -> None:
        """Nobody has anything yet."""
        self.ledger = Ledger()
        self.has: dict[str, int] = {}
        self.pending: dict[int, tuple[str, int, Any]] = {}
        self.last_refill: dict[str, Any] = {}
        self.hand = 0
        self.touched: list[str] = []
        self.ledger.do(OpenHouse("test", HOUSE))

    def do(self, command: Command) -> bool:
        """Apply; say whether it was accepted. A refusal opens no account."""
        touched, self.touched = self.touched, []
        try:
            self.ledger.do(command)
        except Refused:
            for name in touched:
                del self.has[name]
            return False
        return True

    def touch(self, player: str) -> str:
        """The player's account, with the sign-up grant that its first touch brings."""
        name = names.player_account(player)
        if name not in self.has:
            self.has[name] = 10_000
            self.touched.append(name)
        return name

    def free(self, name: str) -> int:
        """What the model says may be spent."""
        now = self.ledger.books.now
        held = sum(amount for who, amount, until in self.pending.values() if who == name and until > now)
        return self.has.get(name, 0) - held

    @rule(player=people)
    def look(self, player: str) -> None:
        """A player looks at their chips."""
        self.touch(player)
        assert self.do(OpenPlayer(player, player))

    @rule(target=holds, player=people, amount=amounts, minutes=st.integers(1, 90))
    def place(self, player: str, amount: int, minutes: int) -> Any:
        """A hold is placed exactly when the chips are free."""
        name = self.touch(player)
        life = timedelta(minutes=minutes)
        enough = self.free(name) >= amount
        assert self.do(PlaceHold("lobby", name, amount, life, "")) is enough
        if not enough:
            return multiple()
        hold = self.ledger.books.placed[-1]
        self.pending[hold.id] = (name, amount, hold.expires_at)
        return hold.id

    def ends(self, hold_id: int) -> tuple[str, int] | None:
        """The hold, when the model says it may still end."""
        name, amount, until = self.pending.get(hold_id, ("", 0, None))
        if until is None or until <= self.ledger.books.now:
            return None
        del self.pending[hold_id]
        return name, amount

    @rule(hold_id=holds, part=st.integers(1, 100))
    def post(self, hold_id: int, part: int) -> None:
        """A hold is posted once, and only in time."""
        hold = self.ledger.books.holds[hold_id]
        player = names.parse(hold.account).player_id or ""
        escrow = names.escrow_account(TABLE, player)
        amount = max(1, hold.amount * part // 100)
        ended = self.ends(hold_id)
        assert self.do(PostHold("lobby", hold_id, escrow, amount, "")) is (ended is not None)
        if ended is not None:
            self.has[ended[0]] -= amount
            self.has[escrow] = self.has.get(escrow, 0) + amount

    @rule(hold_id=holds)
    def void(self, hold_id: int) -> None:
        """A hold is voided once, and only in time."""
        assert self.do(VoidHold("lobby", hold_id, "")) is (self.ends(hold_id) is not None)

    @rule(minutes=st.integers(1, 26 * 60))
    def wait(self, minutes: int) -> None:
        """Time goes by."""
        self.ledger.later(minutes=minutes)

    @rule(steps=st.lists(st.tuples(people, st.booleans(), amounts), min_size=1, max_size=4))
    def move(self, steps: list[tuple[str, bool, int]]) -> None:
        """Linked transfers happen all or not at all."""
        after = dict(self.has)
        enough = True
        instructions = []
        for player, to_house, amount in steps:
            name = self.touch(player)
            after.setdefault(name, 10_000)
            debit, credit = (name, HOUSE) if to_house else (HOUSE, name)
            spent = self.has.get(debit, 0) - after.get(debit, 0)
            enough = enough and self.free(debit) - spent >= amount
            after[debit] = after.get(debit, 0) - amount
            after[credit] = after.get(credit, 0) + amount
            instructions.append(Instruction(debit, credit, amount, ""))
        assert self.do(MoveChips("test", instructions)) is enough
        if enough:
            self.has = after

    @rule(amount=amounts)
    def grant(self, amount: int) -> None:
        """New chips for the house."""
        assert self.do(Grant("test", HOUSE, amount, "test"))
        self.has[HOUSE] = self.has.get(HOUSE, 0) + amount

    @rule(player=people, amount=st.integers(-12_000, 12_000).filter(bool))
    def adjust(self, player: str, amount: int) -> None:
        """A correction takes no more than is free."""
        name = self.touch(player)
        enough = self.free(name) + amount >= 0 or amount > 0
        assert self.do(Adjust("operator", name, amount, "test")) is enough
        if enough:
            self.has[name] += amount

    @rule(player=people)
    def refill(self, player: str) -> None:
        """A refill for those below 2,000, once in 24 h."""
        name = self.touch(player)
        at_table = self.has.get(names.escrow_account(TABLE, player), 0)
        self.ledger.books.at_tables[player] = at_table
        now, last = self.ledger.books.now, self.last_refill.get(player)
        due = self.has[name] + at_table < 2_000 and (last is None or now >= last + timedelta(hours=24))
        assert self.do(Refill(player, player)) is due
        if due:
            self.has[name] = 2_000 - at_table
            self.last_refill[player] = now

    @rule(winner=people, loser=people, amount=amounts)
    def settle(self, winner: str, loser: str, amount: int) -> None:
        """A hand is settled when every loser's escrow covers it, and waits otherwise."""
        if winner == loser:
            return
        books: Books = self.ledger.books
        won, lost = names.escrow_account(TABLE, winner), names.escrow_account(TABLE, loser)
        hand = Hand(TABLE, self.hand + 1, "PLAY", [Change(winner, amount, 0), Change(loser, -amount, 0)])
        mark = books.mark()
        try:
            settle(books, hand)
        except SettlementWaits:
            books.roll_back(mark)
            assert won not in self.has or self.has.get(lost, 0) < amount
        else:
            self.hand += 1
            # A refused posting may have opened the winner's escrow, empty: winnings go there all the same.
            self.has[won] = self.has.get(won, 0) + amount
            self.has[lost] -= amount

    @rule(player=people, last=st.integers(0, 3))
    def cash_out(self, player: str, last: int) -> None:
        """Everything comes back once the hands are settled."""
        name = self.touch(player)
        escrow = names.escrow_account(TABLE, player)
        self.ledger.books.settled[TABLE] = self.hand
        there = self.has.get(escrow, 0)
        assert self.do(CashOut("lobby", TABLE, player, last, there)) is (last <= self.hand)
        if last <= self.hand:
            self.has[name] += there
            if escrow in self.has:
                self.has[escrow] = 0

    @invariant()
    def the_ledger_says_what_the_model_says(self) -> None:
        """Balances, holds, conservation, versions."""
        books = self.ledger.books
        for name, posted in self.has.items():
            assert books.accounts[name].posted == posted >= 0
            assert books.accounts[name].available >= 0
        assert self.ledger.total() == 0
        for account in books.accounts.values():
            held = sum(
                it.amount
                for it in books.holds.values()
                if it.account == account.name.text and it.state is HoldState.PENDING
            )
            assert account.held == held

    @invariant()
    def entries_follow(self) -> None:
        """Each account's entries have no gap and sum to its balance; each transfer sums to zero."""
        sums: dict[str, list[int]] = {}
        for transfer in self.ledger.books.transfers:
            assert sum(it.amount for it in transfer.entries) == 0
            for entry in transfer.entries:
                version, posted, held = sums.setdefault(entry.account, [0, 0, 0])
                sums[entry.account] = [version + 1, posted + entry.amount, held + entry.held_change]
                assert sums[entry.account] == [entry.version, entry.balance_after, entry.held_after]


LedgerMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLedger = pytest.mark.slow(LedgerMachine.TestCase)
