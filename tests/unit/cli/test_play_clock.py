"""Rule 9.1: first the base time, then the bank."""

from __future__ import annotations

import pytest

from cardroom.cli.play.clock import time_left
from cardroom.contracts.table.v1.view_pb2 import TurnView

START = 1_700_000_000.0


def turn(*, bank_runs: bool = False) -> TurnView:
    view = TurnView(time_bank_left_ms=30_000)
    view.base_deadline.FromNanoseconds(int((START + 20) * 1e9))
    if bank_runs:
        view.bank_deadline.FromNanoseconds(int((START + 50) * 1e9))
    return view


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (0.0, "20 s (+30 s bank)"),
        (7.5, "13 s (+30 s bank)"),
        (19.5, "1 s (+30 s bank)"),
        (25.0, "bank 25 s"),
        (60.0, "bank 0 s"),
    ],
)
def test_9_1_the_base_time_runs_out_before_the_bank(after: float, said: str) -> None:
    assert str(time_left(turn(), START + after)) == said


def test_9_1_once_the_bank_runs_its_deadline_counts() -> None:
    assert str(time_left(turn(bank_runs=True), START + 41)) == "bank 9 s"


@pytest.mark.parametrize(("after", "said"), [(7.5, "13 s (+0 s bank)"), (25.0, "0 s (+0 s bank)")])
def test_9_5_the_bank_of_who_has_lost_the_connection_does_not_begin_to_run(after: float, said: str) -> None:
    assert str(time_left(turn(), START + after, is_connected=False)) == said


def test_9_5_a_bank_that_runs_already_runs_on_without_a_connection() -> None:
    assert str(time_left(turn(bank_runs=True), START + 41, is_connected=False)) == "bank 9 s"
