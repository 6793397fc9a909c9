"""A player's time bank (rule 9.2): it belongs to the player, whatever the table. Times are whole milliseconds.

A bank that nobody ever used is full and has no row; neither has its player any facts to keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

FULL_MS: Final = 30_000
GROWTH_MS: Final = 5_000
HANDS_PER_GROWTH: Final = 20
AWAY_MS: Final = 5 * 60_000


@dataclass(frozen=True, slots=True)
class Bank:
    """What is left, and what has to be known to refill it. `generation` counts the contents a table must be told."""

    player_id: str
    left_ms: int = FULL_MS
    # Hands dealt to the player since the bank last grew; counted while it is not full.
    hands: int = 0
    is_out_of_chips: bool = False
    away_since_ms: int | None = None
    table_id: str | None = None
    noted_at_us: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What one change of a table says of one player."""

    player_id: str
    table_id: str
    at_us: int
    was_dealt_in: bool = False
    lost_all_chips: bool = False
    has_chips_again: bool = False
    sat_down: bool = False
    left: bool = False


def used(bank: Bank, table_id: str, amount_ms: int) -> Bank:
    """Time was taken from the bank during a turn."""
    assert amount_ms >= 0, amount_ms
    left = max(0, bank.left_ms - amount_ms)
    return replace(bank, left_ms=left, table_id=table_id, away_since_ms=None, generation=bank.generation + 1)


def noted(bank: Bank, facts: Facts) -> Bank:
    """Return the bank after the facts. Facts that are not newer than those noted last are known, and change nothing."""
    if facts.at_us <= bank.noted_at_us:
        return bank
    bank = replace(bank, noted_at_us=facts.at_us)
    if facts.sat_down:
        bank = _sat_down(bank, facts)
    if facts.was_dealt_in:
        bank = _dealt_in(bank)
    if facts.lost_all_chips:
        bank = replace(bank, is_out_of_chips=True)
    # Last: a top-up that waited comes in the same change as the loss.
    if facts.has_chips_again and bank.is_out_of_chips:
        bank = replace(_filled(bank), is_out_of_chips=False)
    if facts.left:
        bank = replace(bank, table_id=None, away_since_ms=facts.at_us // 1000)
    return bank


def left_when_sitting_down(bank: Bank, now_ms: int) -> int:
    """Return what the bank holds for a player who sits down now, or what is left for one who sits."""
    return FULL_MS if _refills(bank, now_ms) else bank.left_ms


def _sat_down(bank: Bank, facts: Facts) -> Bank:
    if _refills(bank, facts.at_us // 1000):
        bank = replace(_filled(bank), is_out_of_chips=False)
    # Told in any case: the table may have been given another content while the clock was away.
    return replace(bank, table_id=facts.table_id, away_since_ms=None, generation=bank.generation + 1)


def _refills(bank: Bank, now_ms: int) -> bool:
    if bank.away_since_ms is None:
        return False
    return bank.is_out_of_chips or now_ms - bank.away_since_ms >= AWAY_MS


def _dealt_in(bank: Bank) -> Bank:
    if bank.left_ms >= FULL_MS:
        return bank
    hands = bank.hands + 1
    if hands < HANDS_PER_GROWTH:
        return replace(bank, hands=hands)
    left = min(FULL_MS, bank.left_ms + GROWTH_MS)
    return replace(bank, left_ms=left, hands=0, generation=bank.generation + 1)


def _filled(bank: Bank) -> Bank:
    if bank.left_ms >= FULL_MS:
        return bank
    return replace(bank, left_ms=FULL_MS, hands=0, generation=bank.generation + 1)
