"""The one door to the hand-rank library. Ranks are whole numbers, 1 the best; equal hands have equal ranks (8.6)."""

from __future__ import annotations

from collections.abc import Sequence

from phevaluator.evaluator import evaluate_7cards
from phevaluator.evaluator_omaha import evaluate_omaha_cards

from cardroom.engine.cards import Card

__all__ = ["holdem_high", "omaha_high"]


def holdem_high(hole: Sequence[Card], board: Sequence[Card]) -> int:
    """The best five of two hole cards and five on the board, both, one or neither hole card used."""
    rank: int = evaluate_7cards(*hole, *board)
    return rank


def omaha_high(hole: Sequence[Card], board: Sequence[Card]) -> int:
    """Exactly two of four hole cards with exactly three of the board."""
    rank: int = evaluate_omaha_cards(*board, *hole)
    return rank
