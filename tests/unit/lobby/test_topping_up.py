"""The steps of a top-up, one by one (rule 10.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cardroom.lobby.domain import topping_up
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.topping_up import Added, Call, Step, TopUp
from cardroom.lobby.errors import BrokenPromise, NotNow

ASKED = TopUp("top-up", "stay", "table", "player", 500)


def at(step: Step) -> TopUp:
    return replace(ASKED, step=step, hold_id="hold")


def no(reason: str, **metadata: str) -> Refusal:
    return Refusal("FAILED_PRECONDITION", reason, "no", metadata)


def test_the_calls_come_in_order() -> None:
    assert topping_up.due(ASKED) is Call.PLACE_HOLD
    held = topping_up.hold_placed(ASKED, "hold")
    assert topping_up.due(held) is Call.TELL_TABLE
    waiting = topping_up.table_told(held, Added(False))
    assert topping_up.due(waiting) is Call.TELL_TABLE
    posting = topping_up.table_told(waiting, Added(True, 300))
    assert (topping_up.due(posting), posting.added) == (Call.POST_HOLD, 300)
    assert topping_up.due(topping_up.hold_posted(posting)) is None


def test_10_4_what_waits_goes_on_to_wait() -> None:
    with pytest.raises(NotNow):
        topping_up.table_told(at(Step.WAITING), Added(False))


@pytest.mark.parametrize("step", [Step.HELD, Step.WAITING])
def test_10_4_what_the_table_did_not_add_becomes_free(step: Step) -> None:
    voiding = topping_up.table_told(at(step), Added(True, 0))
    assert topping_up.due(voiding) is Call.VOID_HOLD
    assert topping_up.hold_voided(voiding).step is Step.OVER


def test_the_player_is_answered_once_the_table_knows() -> None:
    assert [step for step in Step if not at(step).is_known_to_the_table] == [Step.ASKED, Step.HELD]


def test_too_few_chips_end_it() -> None:
    refused = topping_up.refused(ASKED, no("INSUFFICIENT_CHIPS", available="7"))
    assert refused.step is Step.OVER
    assert refused.refusal is not None
    assert (refused.refusal.reason, refused.refusal.metadata["available"]) == ("TOO_FEW_CHIPS", "7")


def test_a_table_that_is_gone_adds_nothing() -> None:
    assert topping_up.refused(at(Step.WAITING), no("TABLE_UNKNOWN")).step is Step.VOIDING


def test_a_hold_that_is_free_already_needs_no_void() -> None:
    gone = no("HOLD_NOT_PENDING", state="HOLD_STATE_EXPIRED")
    assert topping_up.refused(at(Step.VOIDING), gone).step is Step.OVER


@pytest.mark.parametrize(
    ("step", "by"),
    [
        (Step.POSTING, no("HOLD_NOT_PENDING", state="VOIDED")),
        (Step.VOIDING, no("HOLD_NOT_PENDING", state="POSTED")),
        (Step.HELD, no("INVALID_STACK")),
    ],
)
def test_what_cannot_be_is_kept_and_reported(step: Step, by: Refusal) -> None:
    with pytest.raises(BrokenPromise):
        topping_up.refused(at(step), by)


def test_after_another_top_up_it_comes_again() -> None:
    with pytest.raises(NotNow):
        topping_up.refused(at(Step.HELD), no("TOP_UP_PENDING"))
