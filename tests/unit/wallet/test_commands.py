"""What each command decides, on books in memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import HoldState, TransferKind
from cardroom.wallet.domain.commands import (
    ExpireHolds,
    Instruction,
    MoveChips,
    PlaceHold,
    PostHold,
    VoidHold,
    check_pair,
)
from cardroom.wallet.domain.sources import Adjust, CloseLeague, Grant, OpenHouse, OpenLeague, OpenPlayer, Refill
from cardroom.wallet.errors import Refused
from tests.unit.wallet.ledgers import ESCROW, GAME, OTHER, PLAY, PLAYER, Ledger

HOUR = timedelta(hours=1)


@pytest.fixture
def ledger() -> Ledger:
    """An empty ledger."""
    return Ledger()


def place(ledger: Ledger, amount: int, life: timedelta = HOUR) -> int:
    """A hold of the player's chips; its id."""
    hold = ledger.do(PlaceHold("lobby", PLAY, amount, life, "buy-in")).hold
    assert hold is not None
    return hold.id


def refused(ledger: Ledger, command: object) -> Refused:
    """The refusal of a command, which left no trace."""
    before = [(it.posted, it.held, it.version) for it in ledger.books.accounts.values()]
    written = len(ledger.books.transfers)
    with pytest.raises(Refused) as raised:
        ledger.do(command)  # type: ignore[arg-type]
    after = [(it.posted, it.held, it.version) for it in ledger.books.accounts.values()]
    assert (after[: len(before)], len(ledger.books.transfers)) == (before, written)
    return raised.value


def test_the_first_touch_of_a_player_signs_them_up_once(ledger: Ledger) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    assert ledger.available(PLAY) == 10_000
    assert [it.kind for it in ledger.books.transfers] == [TransferKind.SIGN_UP]


def test_a_hold_is_counted_in_every_check(ledger: Ledger) -> None:
    place(ledger, 9_000)
    error = refused(ledger, PlaceHold("lobby", PLAY, 1_001, HOUR, ""))
    assert (error.reason, error.metadata["available"], error.metadata["needed"]) == (
        "INSUFFICIENT_CHIPS",
        "1000",
        "1001",
    )
    ledger.do(OpenHouse("x", "house/a/play"))
    error = refused(ledger, MoveChips("x", [Instruction(PLAY, "house/a/play", 1_001, "")]))
    assert error.reason == "INSUFFICIENT_CHIPS"


def test_posting_a_hold_in_part_frees_the_rest(ledger: Ledger) -> None:
    outcome = ledger.do(PostHold("lobby", place(ledger, 4_000), ESCROW, 1_000, ""))
    assert (ledger.available(PLAY), ledger.available(ESCROW)) == (9_000, 1_000)
    [transfer] = outcome.transfers
    assert [(it.amount, it.held_change) for it in transfer.entries] == [(-1_000, -4_000), (1_000, 0)]
    assert transfer.reason == "buy-in"


@pytest.mark.parametrize("first", ["post", "void", "expire"])
@pytest.mark.parametrize("second", ["post", "void"])
def test_a_hold_ends_once(ledger: Ledger, first: str, second: str) -> None:
    hold_id = place(ledger, 4_000)
    ends = {"post": PostHold("x", hold_id, ESCROW, 0, ""), "void": VoidHold("x", hold_id, "")}
    if first == "expire":
        ledger.later(hours=1)
    else:
        ledger.do(ends[first])
    ledger.do(ExpireHolds("wallet", PLAY))
    error = refused(ledger, ends[second])
    due = {"post": "POSTED", "void": "VOIDED", "expire": "EXPIRED"}[first]
    assert (error.reason, error.metadata["state"]) == ("HOLD_NOT_PENDING", due)


def test_a_hold_is_good_until_its_time_and_void_at_it(ledger: Ledger) -> None:
    hold_id = place(ledger, 10_000)
    ledger.later(minutes=59, seconds=59.999999)
    assert refused(ledger, PlaceHold("x", PLAY, 1, HOUR, "")).reason == "INSUFFICIENT_CHIPS"
    ledger.later(microseconds=1)
    place(ledger, 10_000)
    assert ledger.books.holds[hold_id].state is HoldState.EXPIRED
    expiry = ledger.books.transfers[-2]
    assert (expiry.kind, expiry.entries[0].held_change, expiry.hold_id) == (TransferKind.HOLD_EXPIRED, -10_000, hold_id)


def test_more_than_the_hold_is_not_posted(ledger: Ledger) -> None:
    assert refused(ledger, PostHold("x", place(ledger, 10), ESCROW, 11, "")).reason == "AMOUNT_INVALID"


def test_an_unknown_hold(ledger: Ledger) -> None:
    assert refused(ledger, VoidHold("x", 99, "")).reason == "HOLD_NOT_FOUND"


def test_linked_transfers_leave_nothing_when_one_fails(ledger: Ledger) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    ledger.do(OpenHouse("x", "house/a/play"))
    steps = [Instruction(PLAY, "house/a/play", 6_000, ""), Instruction(PLAY, "house/a/play", 6_000, "")]
    error = refused(ledger, MoveChips("x", steps))
    assert error.metadata["index"] == "1"


def test_linked_transfers_may_use_chips_of_the_ones_before(ledger: Ledger) -> None:
    ledger.do(OpenHouse("x", "house/a/play"))
    steps = [Instruction(PLAY, "house/a/play", 10_000, ""), Instruction("house/a/play", PLAY, 10_000, "")]
    ledger.do(MoveChips("x", steps))
    assert ledger.available(PLAY) == 10_000


@pytest.mark.parametrize(
    ("debit", "credit", "reason"),
    [
        (PLAY, names.player_account(OTHER), "PLAYER_TO_PLAYER"),
        (ESCROW, names.player_account(OTHER), "PLAYER_TO_PLAYER"),
        (PLAY, names.player_account(PLAYER, names.league(GAME)), "CURRENCY_MISMATCH"),
        (PLAY, PLAY, "ACCOUNT_INVALID"),
        ("grants/play", PLAY, "ACCOUNT_INVALID"),
        ("house/a/play", ESCROW, "ACCOUNT_INVALID"),
    ],
)
def test_1_1_chips_do_not_go_from_player_to_player_nor_between_currencies(debit: str, credit: str, reason: str) -> None:
    with pytest.raises(Refused) as raised:
        check_pair(debit, credit)
    assert raised.value.reason == reason


def test_a_grant_comes_out_of_grants(ledger: Ledger) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    ledger.do(Grant("promotions", PLAY, 500, "weekend"))
    assert (ledger.available(PLAY), ledger.available("grants/play"), ledger.total()) == (10_500, -10_500, 0)


@pytest.mark.parametrize("amount", [-300, 300])
def test_an_adjustment_goes_against_adjustments(ledger: Ledger, amount: int) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    ledger.do(Adjust("operator", PLAY, amount, "ticket 9"))
    assert (ledger.available(PLAY), ledger.available("adjustments/play")) == (10_000 + amount, -amount)


def test_an_adjustment_does_not_take_what_is_not_there(ledger: Ledger) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    assert refused(ledger, Adjust("operator", PLAY, -10_001, "ticket 9")).reason == "INSUFFICIENT_CHIPS"


def low(ledger: Ledger, left: int) -> None:
    """Leave the player so many chips."""
    ledger.do(OpenHouse("x", "house/a/play"))
    ledger.do(MoveChips("x", [Instruction(PLAY, "house/a/play", 10_000 - left, "")]))


def test_a_refill_comes_once_in_24_hours(ledger: Ledger) -> None:
    low(ledger, 1_999)
    ledger.do(Refill(PLAYER, PLAYER))
    assert ledger.available(PLAY) == 2_000
    ledger.do(MoveChips("x", [Instruction(PLAY, "house/a/play", 2_000, "")]))
    ledger.later(hours=23, minutes=59)
    assert refused(ledger, Refill(PLAYER, PLAYER)).reason == "REFILL_TOO_SOON"
    ledger.later(minutes=1)
    ledger.do(Refill(PLAYER, PLAYER))
    assert ledger.available(PLAY) == 2_000


@pytest.mark.parametrize(("left", "at_tables"), [(2_000, 0), (0, 2_000), (1_000, 1_500)])
def test_a_refill_is_for_those_below(ledger: Ledger, left: int, at_tables: int) -> None:
    low(ledger, left)
    ledger.books.at_tables[PLAYER] = at_tables
    assert refused(ledger, Refill(PLAYER, PLAYER)).reason == "NOT_BELOW_REFILL"


def test_held_chips_count_for_a_refill(ledger: Ledger) -> None:
    low(ledger, 2_500)
    place(ledger, 2_400)
    assert refused(ledger, Refill(PLAYER, PLAYER)).metadata["total"] == "2500"


def test_11_2_a_league_account_starts_once(ledger: Ledger) -> None:
    first = ledger.do(OpenLeague("lobby", GAME, [PLAYER], 500))
    again = ledger.do(OpenLeague("lobby", GAME, [PLAYER, OTHER], 500))
    assert (first.opened_player_ids, again.opened_player_ids) == ([PLAYER], [OTHER])
    assert ledger.total(names.league(GAME)) == 0


def test_a_closed_league_moves_nothing_and_keeps_its_history(ledger: Ledger) -> None:
    account = names.player_account(PLAYER, names.league(GAME))
    ledger.do(OpenLeague("lobby", GAME, [PLAYER], 500))
    hold = ledger.do(PlaceHold("lobby", account, 5, HOUR, "")).hold
    assert hold is not None
    assert refused(ledger, CloseLeague("lobby", GAME)).reason == "GAME_NOT_AT_REST"
    ledger.do(VoidHold("lobby", hold.id, ""))
    assert ledger.do(CloseLeague("lobby", GAME)).closed_accounts == 2
    assert refused(ledger, Grant("lobby", account, 5, "late")).reason == "ACCOUNT_CLOSED"
    assert ledger.available(account) == 500


def test_times_never_fall_from_one_entry_to_the_next(ledger: Ledger) -> None:
    ledger.do(OpenPlayer(PLAYER, PLAYER))
    ledger.later(seconds=-30)
    place(ledger, 1)
    times = [it.at for it in ledger.books.transfers]
    assert times == sorted(times)
