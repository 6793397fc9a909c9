"""The saga of a stay as a state machine: what is due at each step, and where every answer leads."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cardroom.lobby.domain import seating as stays
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.seating import GIVE_UP_AFTER, Call, End, Seating, Step
from cardroom.lobby.errors import BrokenPromise, NotNow

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


def stay(step: Step = Step.RESERVED, **fields: object) -> Seating:
    made = Seating("s", "t", "p", "Ada", seat=1, buy_in=1000, reserved_at=NOON)
    return replace(made, step=step, **fields)  # type: ignore[arg-type]


def no(reason: str, code: str = "FAILED_PRECONDITION", **metadata: str) -> Refusal:
    return Refusal(code, reason, "no", metadata)


def test_the_way_in_and_out() -> None:
    steps = [one := stay()]
    steps.append(one := stays.hold_placed(one, "h"))
    steps.append(one := stays.seat_given(one, 7))
    steps.append(one := stays.hold_posted(one))
    steps.append(one := stays.turned(replace(one, wants_out=True), NOON))
    steps.append(one := stays.end_told(one, End(True, True, 1200, 9)))
    steps.append(one := stays.chips_returned(one, 1200))
    assert [stays.due(each) for each in steps] == [
        Call.PLACE_HOLD,
        Call.SEAT_PLAYER,
        Call.POST_HOLD,
        None,
        Call.END_SEATING,
        Call.CASH_OUT,
        None,
    ]
    assert (one.hold_id, one.seated_version, one.final_stack, one.last_hand_number, one.cashed_out) == (
        "h",
        7,
        1200,
        9,
        1200,
    )


def test_too_few_chips_end_it_at_once_with_what_is_available() -> None:
    after = stays.refused(stay(), no("INSUFFICIENT_CHIPS", available="12"))
    assert (after.step, after.refusal and after.refusal.reason) == (Step.OVER, "TOO_FEW_CHIPS")
    assert after.refusal is not None
    assert after.refusal.metadata == {"available": "12"}


def test_another_no_of_the_wallet_is_passed_on_as_such() -> None:
    after = stays.refused(stay(), no("ACCOUNT_CLOSED"))
    assert after.refusal is not None
    assert (after.step, after.refusal.reason) == (Step.OVER, "CHIPS_REFUSED")


@pytest.mark.parametrize(
    ("by", "told"), [("SEAT_TAKEN", "SEAT_TAKEN"), ("TABLE_UNKNOWN", "TABLE_UNKNOWN"), ("ODD", "SEAT_REFUSED")]
)
def test_a_seat_that_the_table_refuses_is_undone(by: str, told: str) -> None:
    after = stays.refused(stay(Step.HELD, hold_id="h"), no(by))
    assert (after.step, stays.due(after)) == (Step.UNDOING, Call.END_SEATING)
    assert after.refusal is not None
    assert after.refusal.reason == told
    after = stays.end_told(after, End(is_over=True, had_begun=False))
    assert stays.due(after) is Call.VOID_HOLD
    assert stays.hold_voided(after).step is Step.OVER


def test_what_the_table_began_is_never_undone_but_paid_and_left() -> None:
    undoing = stay(Step.UNDOING, hold_id="h", refusal=no("SEATING_EXPIRED"))
    after = stays.end_told(undoing, End(is_over=False, had_begun=True))
    assert (after.step, after.refusal) == (Step.AT_TABLE, None)
    after = stays.turned(stays.hold_posted(after), NOON)
    assert stays.due(after) is Call.END_SEATING


def test_a_table_that_is_unknown_holds_nobody() -> None:
    after = stays.refused(stay(Step.UNDOING, refusal=no("TABLE_UNKNOWN")), no("TABLE_UNKNOWN", "NOT_FOUND"))
    assert after.step is Step.VOIDING


@pytest.mark.parametrize("state", ["EXPIRED", "VOIDED", "HOLD_STATE_EXPIRED"])
def test_a_hold_that_is_gone_needs_no_voiding(state: str) -> None:
    assert stays.refused(stay(Step.VOIDING), no("HOLD_NOT_PENDING", state=state)).step is Step.OVER


def test_a_posted_hold_is_not_taken_for_a_voided_one() -> None:
    with pytest.raises(BrokenPromise):
        stays.refused(stay(Step.VOIDING), no("HOLD_NOT_PENDING", state="POSTED"))


@pytest.mark.parametrize("step", [Step.AT_TABLE, Step.LEAVING, Step.UNDOING, Step.CASHING_OUT])
def test_past_the_table_no_refusal_ends_a_stay(step: Step) -> None:
    with pytest.raises(BrokenPromise):
        stays.refused(stay(step), no("HOLD_NOT_PENDING", state="EXPIRED"))


def test_leaving_waits_for_the_hand_and_the_chips_for_its_settlement() -> None:
    with pytest.raises(NotNow):
        stays.end_told(stay(Step.LEAVING), End(is_over=False, had_begun=True))
    with pytest.raises(NotNow):
        stays.refused(stay(Step.CASHING_OUT), no("SETTLEMENT_PENDING"))


def test_a_table_that_forgot_a_player_is_not_believed() -> None:
    with pytest.raises(BrokenPromise):
        stays.end_told(stay(Step.LEAVING), End(is_over=True, had_begun=False))


def test_a_wish_to_leave_turns_a_held_seat_back() -> None:
    after = stays.turned(stay(Step.HELD, wants_out=True), NOON)
    assert after.refusal is not None
    assert (after.step, after.refusal.reason) == (Step.UNDOING, "LEFT_BEFORE_SEATED")


@pytest.mark.parametrize(("late", "step"), [(timedelta(), Step.HELD), (timedelta(seconds=1), Step.UNDOING)])
def test_a_seat_that_cannot_be_taken_for_two_minutes_is_given_up(late: timedelta, step: Step) -> None:
    assert stays.turned(stay(Step.HELD), NOON + GIVE_UP_AFTER + late).step is step


@pytest.mark.parametrize("step", [Step.RESERVED, Step.AT_TABLE, Step.UNDOING, Step.CASHING_OUT, Step.OVER])
def test_a_wish_to_leave_waits_where_chips_are_on_their_way(step: Step) -> None:
    assert stays.turned(stay(step, wants_out=True), NOON + timedelta(days=1)).step is step


@pytest.mark.parametrize(("left", "step"), [(6, Step.SEATED), (7, Step.SEATED), (8, Step.LEAVING)])
def test_only_a_departure_after_this_stay_began_ends_it(left: int, step: Step) -> None:
    assert stays.turned(stay(Step.SEATED, seated_version=7, left_version=left), NOON).step is step
