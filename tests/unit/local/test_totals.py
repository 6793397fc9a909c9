"""What a demo counts."""

from __future__ import annotations

import pytest

from cardroom.local.demo.totals import Totals, percentile


def test_a_hand_that_several_bots_saw_end_counts_once() -> None:
    totals = Totals()
    for hand in (1, 1, 2, 2, 1):
        totals.hand_ended("maple", hand)
    totals.hand_ended("cedar", 1)
    assert totals.hands == 3


def test_the_rate_is_that_of_the_last_seconds() -> None:
    totals = Totals()
    for second in range(1, 11):
        for _ in range(10 if second > 4 else 1000):
            totals.acted(0.002)
        reading = totals.read(float(second))
    assert reading.actions == 4060
    assert reading.actions_per_second == pytest.approx(10, rel=0.2)


def test_percentiles_are_samples() -> None:
    ordered = [value / 100 for value in range(100)]
    assert percentile(ordered, 0.5) == 0.5
    assert percentile(ordered, 0.99) == 0.99
    assert percentile([], 0.99) == 0


def test_a_reading_is_one_line() -> None:
    totals = Totals()
    totals.acted(0.004)
    line = totals.read(2.0).line()
    assert len(line) < 80, "a terminal's width"
    assert "p50   4.0 ms" in line
