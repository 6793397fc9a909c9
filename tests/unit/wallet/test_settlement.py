"""Hands settled on books in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cardroom.wallet.domain import names
from cardroom.wallet.domain.audit import escrow_is_explained
from cardroom.wallet.domain.books import TransferKind
from cardroom.wallet.domain.commands import Instruction, MoveChips
from cardroom.wallet.domain.settlement import CashOut, Change, Hand, check_hand, settle
from cardroom.wallet.errors import Refused, SettlementWaits, SettlementWrong
from tests.unit.wallet.ledgers import ESCROW, GAME, OTHER, PLAY, PLAYER, TABLE, Ledger

OTHER_ESCROW = names.escrow_account(TABLE, OTHER)
HAND = Hand(TABLE, 1, "PLAY", [Change(PLAYER, 150, 1_150), Change(OTHER, -150, 850)])


@pytest.fixture
def ledger() -> Ledger:
    """Two players with 1,000 each at the table."""
    made = Ledger()
    for player in (PLAYER, OTHER):
        step = Instruction(names.player_account(player), names.escrow_account(TABLE, player), 1_000, "")
        made.do(MoveChips("lobby", [step]))
    return made


def test_a_hand_moves_the_escrow(ledger: Ledger) -> None:
    transfer = settle(ledger.books, HAND)
    assert transfer is not None
    assert (transfer.kind, transfer.reason) == (TransferKind.SETTLEMENT, "hand 1")
    assert (ledger.available(ESCROW), ledger.available(OTHER_ESCROW)) == (1_150, 850)


def test_a_stack_may_grow_beyond_what_one_buy_in_or_transfer_may_be() -> None:
    rich = [Change(PLAYER, 10**12, 3 * 10**12), Change(OTHER, -(10**12), 0)]
    assert check_hand(replace(HAND, changes=rich)).changes == rich


def test_a_hand_without_winners_moves_nothing(ledger: Ledger) -> None:
    assert settle(ledger.books, replace(HAND, changes=[Change(PLAYER, 0, 1_000)])) is None


def test_an_escrow_too_short_waits_and_nothing_is_written(ledger: Ledger) -> None:
    mark = ledger.books.mark()
    hand = replace(HAND, changes=[Change(PLAYER, 1_001, 0), Change(OTHER, -1_001, 0)])
    with pytest.raises(SettlementWaits):
        settle(ledger.books, hand)
    ledger.books.roll_back(mark)
    assert (ledger.available(ESCROW), ledger.available(OTHER_ESCROW)) == (1_000, 1_000)


def test_an_escrow_that_is_not_there_waits(ledger: Ledger) -> None:
    del ledger.books.accounts[OTHER_ESCROW]
    with pytest.raises(SettlementWaits):
        settle(ledger.books, HAND)


def test_1_2_a_hand_of_another_currency_is_wrong(ledger: Ledger) -> None:
    with pytest.raises(SettlementWrong):
        settle(ledger.books, replace(HAND, currency=names.league(GAME)))


@pytest.mark.parametrize(
    "change",
    [
        {"table_id": "t1"},
        {"number": 0},
        {"currency": "GOLD"},
        {"changes": [Change(PLAYER, 1, 1)]},
        {"changes": [Change(PLAYER, 1, 1), Change(PLAYER, -1, 1)]},
        {"changes": [Change("p", 1, 1), Change(OTHER, -1, 1)]},
        {"changes": [Change(PLAYER, 1, 1), Change(OTHER, -1, -1)]},
        {"changes": [Change(PLAYER, 10**18, 1), Change(OTHER, -(10**18), 1)]},
    ],
)
def test_an_unsound_hand_is_wrong_by_itself(change: dict[str, Any]) -> None:
    assert check_hand(HAND) is HAND
    with pytest.raises(SettlementWrong):
        check_hand(replace(HAND, **change))


def test_the_digest_tells_hands_apart_by_content() -> None:
    assert HAND.digest == replace(HAND).digest
    assert HAND.digest != replace(HAND, changes=[Change(PLAYER, 150, 1_151), Change(OTHER, -150, 850)]).digest


def cash_out(ledger: Ledger, last_hand: int, expected: int) -> int:
    """Bring the player's chips back."""
    outcome = ledger.do(CashOut("lobby", TABLE, PLAYER, last_hand, expected))
    return sum(it.amount for transfer in outcome.transfers for it in transfer.entries if it.account == PLAY)


def test_cash_out_brings_the_whole_escrow_back(ledger: Ledger) -> None:
    settle(ledger.books, HAND)
    ledger.books.settled[TABLE] = 1
    assert cash_out(ledger, 1, 1_150) == 1_150
    assert (ledger.available(PLAY), ledger.available(ESCROW), ledger.total()) == (10_150, 0, 0)


@pytest.mark.parametrize(
    ("last_hand", "expected", "reason"), [(1, 1_150, "SETTLEMENT_PENDING"), (0, 999, "ESCROW_MISMATCH")]
)
def test_cash_out_waits_for_the_last_hand_and_checks_the_amount(
    ledger: Ledger, last_hand: int, expected: int, reason: str
) -> None:
    with pytest.raises(Refused) as raised:
        cash_out(ledger, last_hand, expected)
    assert (raised.value.reason, raised.value.remembered) == (reason, False)


@pytest.mark.parametrize(
    ("stack", "balance", "before", "after", "explained"),
    [
        (100, 100, [], [], True),
        (150, 100, [], [50], True),
        (150, 100, [], [20, 30, 7], True),
        (150, 100, [], [20, 31], False),
        (100, 150, [50], [], True),
        (100, 150, [], [50], False),
        (150, 100, [50], [], False),
    ],
)
def test_a_difference_between_escrow_and_stack_is_explained_by_buy_ins_only(
    stack: int, balance: int, before: list[int], after: list[int], explained: bool
) -> None:
    assert escrow_is_explained(stack, balance, before, after) is explained
