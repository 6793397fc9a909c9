"""The numbers a bot plays by."""

from __future__ import annotations

from random import Random

import pytest

from cardroom.client.bots.strength import chen_score, equity, preflop_percentile
from cardroom.engine.cards import parse


@pytest.mark.parametrize(
    ("cards", "score"),
    [("AhAd", 20), ("KhKd", 16), ("AhKh", 12), ("AhKd", 10), ("TsTd", 10), ("5s7s", 6), ("2h2d", 5), ("7h2d", -1)],
)
def test_chens_formula_gives_the_published_scores(cards: str, score: float) -> None:
    assert chen_score(parse(cards)) == score


def test_percentiles_order_hands_from_aces_to_seven_deuce() -> None:
    ordered = ["AhAd", "QsQd", "AhKd", "8h8d", "Jh9h", "7h2d"]
    percentiles = [preflop_percentile(parse(cards)) for cards in ordered]
    assert percentiles == sorted(percentiles)
    assert percentiles[0] == pytest.approx(6 / 1326)
    assert percentiles[-1] == 1.0


@pytest.mark.parametrize(
    ("cards", "board", "opponents", "share"),
    [
        ("AhAd", "", 1, 0.85),
        ("AhAd", "", 3, 0.64),
        ("7h2d", "", 1, 0.35),
        ("AhKh", "QhJhTh", 2, 1.0),
        ("2c3d", "AhKhQhJhTh", 1, 0.5),
    ],
)
def test_equity_agrees_with_the_known_values(cards: str, board: str, opponents: int, share: float) -> None:
    found = equity(parse(cards), parse(board), opponents, Random(1), 2000)
    assert found == pytest.approx(share, abs=0.035)


def test_equity_falls_against_a_better_range() -> None:
    tens = parse("ThTd")
    anything, something, the_best = (equity(tens, (), 1, Random(2), 1500, top=top) for top in (1.0, 0.3, 0.05))
    assert anything > something > the_best


def test_equity_is_the_same_for_the_same_seed() -> None:
    shares = {equity(parse("9h8h"), parse("7h6c2d"), 2, Random(7), 50, top=0.5) for _ in range(3)}
    assert len(shares) == 1
