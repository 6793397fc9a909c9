"""Rule 9.2: how a bank is used, grows and refills, and that it does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cardroom.clock.domain import banks
from cardroom.clock.domain.banks import AWAY_MS, FULL_MS, Bank, Facts

MINUTE_US = 60_000_000


def facts(at_us: int, table_id: str = "t", **said: bool) -> Facts:
    return Facts("p", table_id, at_us, **said)


def seated(left_ms: int = 10_000) -> Bank:
    return Bank("p", left_ms=left_ms, table_id="t", noted_at_us=1)


def dealt(bank: Bank, hands: int, ticks: Iterator[int] | None = None) -> Bank:
    ticks = ticks or count(bank.noted_at_us + 1)
    for _ in range(hands):
        bank = banks.noted(bank, facts(next(ticks), was_dealt_in=True))
    return bank


def test_9_1_what_was_used_is_gone_and_the_table_is_told() -> None:
    after = banks.used(Bank("p"), "t", 12_000)
    assert (after.left_ms, after.table_id, after.generation) == (18_000, "t", 1)
    assert banks.used(after, "t", 40_000).left_ms == 0


@pytest.mark.parametrize(("hands", "left"), [(19, 10_000), (20, 15_000), (39, 15_000), (40, 20_000), (400, FULL_MS)])
def test_9_2_it_grows_by_5_s_for_every_20_hands_dealt_up_to_its_full_size(hands: int, left: int) -> None:
    assert dealt(seated(), hands).left_ms == left


def test_hands_count_from_the_moment_that_it_is_not_full() -> None:
    bank = banks.used(dealt(Bank("p", table_id="t"), 19), "t", 5_000)
    assert dealt(bank, 19).left_ms == 25_000


def test_9_2_it_is_full_after_running_out_of_chips_and_buying_back_in() -> None:
    broke = banks.noted(seated(), facts(2, lost_all_chips=True))
    assert broke.left_ms == 10_000
    assert banks.noted(broke, facts(3, has_chips_again=True)).left_ms == FULL_MS


def test_a_top_up_of_a_player_with_chips_fills_nothing() -> None:
    assert banks.noted(seated(), facts(2, has_chips_again=True)).left_ms == 10_000


def test_9_2_who_lost_everything_and_sits_down_elsewhere_has_a_full_one() -> None:
    gone = banks.noted(seated(), facts(2, lost_all_chips=True, left=True))
    assert banks.left_when_sitting_down(gone, 1) == FULL_MS
    assert banks.noted(gone, facts(3, "u", sat_down=True)).left_ms == FULL_MS


@pytest.mark.parametrize(("away_us", "left"), [(1, 10_000), (5 * MINUTE_US - 1000, 10_000), (5 * MINUTE_US, FULL_MS)])
def test_9_2_it_is_full_on_sitting_down_after_5_minutes_away_and_kept_before(away_us: int, left: int) -> None:
    gone = banks.noted(seated(), facts(MINUTE_US, left=True))
    assert banks.left_when_sitting_down(gone, (MINUTE_US + away_us) // 1000) == left
    back = banks.noted(gone, facts(MINUTE_US + away_us, "u", sat_down=True))
    assert (back.left_ms, back.table_id) == (left, "u")


def test_time_at_the_table_is_not_time_away() -> None:
    assert banks.left_when_sitting_down(seated(), 10 * AWAY_MS) == 10_000


def test_the_table_where_the_player_sits_down_is_told_in_any_case() -> None:
    gone = banks.noted(seated(), facts(2, left=True))
    assert banks.noted(gone, facts(3, sat_down=True)).generation > gone.generation


def test_facts_that_come_again_or_late_change_nothing() -> None:
    bank = dealt(seated(), 19)
    assert banks.noted(bank, facts(bank.noted_at_us, was_dealt_in=True)) == bank
    assert banks.noted(bank, facts(1, left=True)) == bank


class BankLife(RuleBasedStateMachine):
    """One player's bank over a life at tables, beside the rule told in other words."""

    def __init__(self) -> None:
        super().__init__()
        self.bank = Bank("p")
        self.now_us = 1
        self.at_table = self.broke = False
        self.left_at_us = 0
        self.told: list[Facts] = []

    def say(self, **said: bool) -> None:
        self.now_us += 1
        self.told.append(facts(self.now_us, "t", **said))
        self.bank = banks.noted(self.bank, self.told[-1])

    @rule(minutes=st.integers(0, 12))
    def time_goes_by(self, minutes: int) -> None:
        self.now_us += minutes * MINUTE_US

    @precondition(lambda self: not self.at_table)
    @rule()
    def sit_down(self) -> None:
        was, away_ms = self.bank, (self.now_us + 1) // 1000 - self.left_at_us // 1000
        self.say(sat_down=True)
        refills = was.away_since_ms is not None and (away_ms >= AWAY_MS or self.broke)
        assert self.bank.left_ms == (FULL_MS if refills else was.left_ms)
        self.at_table, self.broke = True, False

    @precondition(lambda self: self.at_table)
    @rule()
    def leave(self) -> None:
        was = self.bank
        self.say(left=True)
        assert self.bank.left_ms == was.left_ms
        self.at_table, self.left_at_us = False, self.now_us

    @precondition(lambda self: self.at_table and not self.broke)
    @rule(hands=st.integers(1, 25))
    def play(self, hands: int) -> None:
        was = self.bank
        for _ in range(hands):
            self.say(was_dealt_in=True)
        assert 0 <= self.bank.left_ms - was.left_ms <= 5_000 * ((hands + 19) // 20)

    @precondition(lambda self: self.at_table and not self.broke)
    @rule(ms=st.integers(1, FULL_MS))
    def think(self, ms: int) -> None:
        was = self.bank
        self.bank = banks.used(was, "t", ms)
        assert self.bank.left_ms == max(0, was.left_ms - ms)

    @precondition(lambda self: self.at_table and not self.broke)
    @rule()
    def lose_everything(self) -> None:
        self.say(lost_all_chips=True)
        self.broke = True

    @precondition(lambda self: self.at_table and self.broke)
    @rule()
    def buy_back_in(self) -> None:
        self.say(has_chips_again=True)
        assert self.bank.left_ms == FULL_MS
        self.broke = False

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def hear_it_again(self, data: st.DataObject) -> None:
        assert banks.noted(self.bank, data.draw(st.sampled_from(self.told))) == self.bank

    @invariant()
    def within_0_and_full(self) -> None:
        assert 0 <= self.bank.left_ms <= FULL_MS
        assert 0 <= self.bank.hands < banks.HANDS_PER_GROWTH


TestBankLife = BankLife.TestCase
TestBankLife.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
