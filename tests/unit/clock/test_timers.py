"""Turn and deal timers: what is told when, rule by rule. Times are milliseconds; nothing here waits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.clock.domain import timers
from cardroom.clock.domain.timers import GRACE_MS, Act, Firing, Phase, Timer

START, BASE, FULL = 1_000_000, 20_000, 30_000


def turn(*, bank_allowed: bool = True) -> Timer:
    return timers.turn(
        "t",
        5,
        hand_number=3,
        action_number=2,
        player_id="p",
        started_at_ms=START,
        base_ms=BASE,
        bank_allowed=bank_allowed,
    )


def running(left_ms: int = FULL) -> Timer:
    """A turn whose bank runs."""
    firing = timers.due(turn(), left_ms, START + BASE)
    assert isinstance(firing, Firing)
    kept = timers.answered(firing, stale=False)
    assert kept is not None
    return kept


def test_9_1_after_20_s_the_bank_begins_to_run_and_ends_with_what_is_left() -> None:
    assert turn().fire_at_ms == START + BASE
    firing = timers.due(turn(), 12_345, START + BASE)
    assert isinstance(firing, Firing)
    assert (firing.act, firing.deadline_ms) == (Act.START_BANK, START + BASE + 12_345)


def test_the_end_of_the_bank_does_not_depend_on_when_the_clock_came_to_it() -> None:
    early, late = (timers.due(turn(), FULL, START + BASE + delay) for delay in (0, 9_000))
    assert isinstance(early, Firing)
    assert isinstance(late, Firing)
    assert early.deadline_ms == late.deadline_ms


def test_9_3_9_7_the_turn_ends_250_ms_after_the_bank() -> None:
    timer = running()
    assert (timer.phase, timer.deadline_ms) == (Phase.BANK, START + BASE + FULL)
    assert timer.fire_at_ms == START + BASE + FULL + 250
    firing = timers.due(timer, FULL, timer.fire_at_ms)
    assert isinstance(firing, Firing)
    assert firing.act is Act.END_TURN


def test_9_7_a_timer_that_is_asked_too_early_waits() -> None:
    timer = running()
    again = timers.due(timer, FULL, timer.deadline_ms + GRACE_MS - 1)
    assert isinstance(again, Timer)
    assert again.fire_at_ms == timer.deadline_ms + GRACE_MS


def test_an_empty_bank_is_not_started_and_the_turn_ends_after_the_grace() -> None:
    wait = timers.due(turn(), 0, START + BASE)
    assert isinstance(wait, Timer)
    assert wait.fire_at_ms == START + BASE + GRACE_MS
    firing = timers.due(wait, 0, START + BASE + GRACE_MS)
    assert isinstance(firing, Firing)
    assert firing.act is Act.END_TURN


def test_9_5_a_player_who_is_away_has_no_bank() -> None:
    timer = turn(bank_allowed=False)
    assert timer.fire_at_ms == START + BASE + GRACE_MS
    firing = timers.due(timer, FULL, START + BASE + GRACE_MS)
    assert isinstance(firing, Firing)
    assert firing.act is Act.END_TURN


def test_an_overdue_turn_is_told_of_its_bank_while_that_runs_and_ended_after() -> None:
    within = timers.due(turn(), FULL, START + BASE + FULL - 1)
    after = timers.due(turn(), FULL, START + BASE + FULL + GRACE_MS)
    assert isinstance(within, Firing)
    assert isinstance(after, Firing)
    assert (within.act, after.act) == (Act.START_BANK, Act.END_TURN)


def test_2_5_a_deal_is_told_when_it_is_due() -> None:
    timer = timers.deal("t", 6, START)
    assert timer.fire_at_ms == START
    firing = timers.due(timer, FULL, START)
    assert isinstance(firing, Firing)
    assert firing.act is Act.DEAL


def test_what_has_passed_fires_no_more_and_what_counted_fires_until_the_table_moves_on() -> None:
    firing = Firing(Act.END_TURN, turn())
    stale = timers.answered(firing, stale=True)
    assert stale is not None
    assert stale.fire_at_ms is None
    assert timers.answered(firing, stale=False) is None


def test_repeats_come_every_second_at_first_and_every_five_at_last() -> None:
    assert [timers.repeat_at_ms(n, 0) for n in range(7)] == [1000, 2000, 3000, 4000, 5000, 5000, 5000]


@pytest.mark.parametrize(
    ("acted_after_ms", "used"),
    [(0, 0), (BASE - 1, 0), (BASE, 0), (BASE + 1, 1), (BASE + 12_000, 12_000), (BASE + FULL + GRACE_MS, FULL)],
)
def test_9_1_the_bank_is_charged_from_the_end_of_the_base_time_to_the_action(acted_after_ms: int, used: int) -> None:
    assert timers.bank_used_ms(running(), 3, 2, START + acted_after_ms) == used


def test_a_bank_with_less_is_charged_no_more_than_it_held() -> None:
    assert timers.bank_used_ms(running(4_000), 3, 2, START + BASE + 9_000) == 4_000


def test_9_6_a_bank_that_did_not_run_is_not_charged() -> None:
    assert timers.bank_used_ms(turn(), 3, 2, START + BASE + 9_000) == 0


def test_the_action_of_another_turn_charges_nothing() -> None:
    late = START + BASE + 9_000
    assert timers.bank_used_ms(running(), 3, 3, late) == 0
    assert timers.bank_used_ms(running(), 4, 2, late) == 0
    assert timers.bank_used_ms(replace(timers.idle("t", 9), hand_number=3, action_number=2), 3, 2, late) == 0


@given(
    left_ms=st.integers(0, FULL),
    bank_allowed=st.booleans(),
    looks=st.lists(st.integers(0, BASE + FULL + 2_000), max_size=12),
    answers=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_whenever_it_is_looked_at_nothing_is_told_early_and_each_thing_in_its_order(
    left_ms: int, bank_allowed: bool, looks: list[int], answers: list[bool]
) -> None:
    timer = turn(bank_allowed=bank_allowed)
    ends = START + BASE + (left_ms if bank_allowed else 0)
    for after_ms, gets_through in zip(sorted(looks), answers, strict=False):
        now = START + after_ms
        if timer.fire_at_ms is None or now < timer.fire_at_ms:
            continue
        todo = timers.due(timer, left_ms, now)
        if isinstance(todo, Timer):
            assert todo.fire_at_ms == ends + GRACE_MS > now
            timer = todo
        elif todo.act is Act.END_TURN:
            assert now >= ends + GRACE_MS
            return
        else:
            assert START + BASE <= now < ends + GRACE_MS
            assert timer.phase is Phase.BASE
            timer = (timers.answered(todo, stale=False) if gets_through else None) or timer
