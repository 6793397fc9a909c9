"""Button and blinds over many hands (§3)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cardroom.engine.blinds import NO_DEBT, Button, DealPlan, Debt, Positions, leave, move, next_positions
from cardroom.engine.config import BlindKind

bounded = settings(max_examples=200, deadline=None)
SIX = dict.fromkeys(range(1, 7), True)
AFTER_A_HAND = Positions(2, 3, 4, dict.fromkeys(range(1, 7), NO_DEBT))


def plan(positions: Positions, seats: Mapping[int, bool], **options: object) -> DealPlan:
    found = next_positions(positions, seats, draw=lambda _: 0, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def places(found: DealPlan) -> tuple[int, int | None, int]:
    return found.button, found.small_blind_seat, found.big_blind_seat


def test_3_1_the_first_button_is_drawn_among_those_who_can_play() -> None:
    found = next_positions(Positions(), {1: True, 2: False, 5: True, 8: True}, draw=lambda below: below - 1)
    assert found is not None
    assert places(found) == (8, 1, 5)
    assert found.dealt_in == (1, 5, 8)


def test_2_4_no_hand_with_fewer_than_two() -> None:
    assert next_positions(Positions(), {1: True, 2: False}, draw=lambda _: 0) is None


def test_3_1_blinds_and_button_follow_the_big_blind() -> None:
    found = plan(AFTER_A_HAND, SIX)
    assert places(found) == (3, 4, 5)
    assert places(plan(found.positions, SIX)) == (4, 5, 6)


def test_3_1_a_small_blind_who_sits_out_leaves_the_small_blind_dead() -> None:
    found = plan(AFTER_A_HAND, {**SIX, 4: False})
    assert places(found) == (3, None, 5)
    assert found.positions.debt(4) == Debt.SMALL


def test_3_2_a_moving_button_goes_to_the_next_dealt_in_player() -> None:
    seats = {**SIX, 3: False, 9: True}
    found = plan(AFTER_A_HAND, seats, button=Button.MOVING)
    assert places(found) == (4, 5, 6)
    assert found.dealt_in == (1, 2, 4, 5, 6, 9)
    assert found.waiting == ()


def test_3_2_a_moving_button_between_two_posts_the_small_blind() -> None:
    found = plan(AFTER_A_HAND, {1: True, 5: True}, button=Button.MOVING)
    assert places(found) == (5, 5, 1)
    assert places(plan(found.positions, {1: True, 5: True}, button=Button.MOVING)) == (1, 1, 5)


@pytest.mark.parametrize(("gone", "big", "other"), [(1, 2, 3), (2, 1, 3), (3, 1, 2)])
def test_3_3_three_become_two(gone: int, big: int, other: int) -> None:
    before = Positions(1, 2, 3, dict.fromkeys((1, 2, 3), NO_DEBT))
    found = plan(before, {seat: True for seat in (1, 2, 3) if seat != gone})
    assert places(found) == (other, other, big)


@pytest.mark.parametrize("newcomer", [2, 4])
def test_3_3_two_become_three_and_nobody_has_two_places(newcomer: int) -> None:
    positions = Positions(1, 1, 3, {1: NO_DEBT, 3: NO_DEBT})
    seats = {1: True, 3: True, newcomer: True}
    bigs = []
    for _ in range(6):
        found = plan(positions, seats)
        positions = found.positions
        bigs.append(found.big_blind_seat)
        assert len({found.button, found.small_blind_seat, found.big_blind_seat}) == min(3, len(found.dealt_in))
    assert bigs == ([4, 1, 3] * 2 if newcomer == 4 else [1, 2, 3] * 2)


def test_3_4_a_new_player_waits_for_the_big_blind() -> None:
    positions, dealt = AFTER_A_HAND, []
    seats = {**SIX, 9: True}
    for _ in range(3):
        found = plan(positions, seats)
        dealt.append((found.big_blind_seat, 9 in found.dealt_in))
        positions = found.positions
    assert dealt == [(5, False), (6, False), (9, True)]


def test_3_4_who_missed_no_blind_comes_straight_back() -> None:
    away = plan(AFTER_A_HAND, {**SIX, 1: False})
    assert away.positions.debt(1) == NO_DEBT
    assert 1 in plan(away.positions, SIX).dealt_in


def test_3_4_who_missed_the_big_blind_waits_for_it() -> None:
    away = plan(AFTER_A_HAND, {**SIX, 5: False})
    assert places(away) == (3, 4, 6)
    found = plan(away.positions, SIX)
    assert found.waiting == (5,)
    assert places(found) == (4, 6, 1)


def test_3_4_a_seat_given_up_makes_its_next_player_new() -> None:
    assert 6 in plan(leave(AFTER_A_HAND, 6), SIX).waiting


def test_3_5_nobody_waits_when_fewer_than_two_would_be_dealt_in() -> None:
    before = Positions(2, 3, 4, {4: NO_DEBT})
    found = plan(before, {4: True, 7: True, 8: True})
    assert found.big_blind_seat == 7
    assert found.dealt_in == (4, 7)
    assert found.waiting == (8,)
    found = plan(before, {7: True, 8: True, 9: True})
    assert found.dealt_in == (7, 8, 9)
    assert found.positions.debts == dict.fromkeys((7, 8, 9), NO_DEBT)


def test_3_8_missed_blinds_can_be_posted_at_once() -> None:
    before = Positions(2, 3, 4, {**AFTER_A_HAND.debts, 1: Debt.BIG | Debt.SMALL, 6: Debt.SMALL})
    found = plan(before, SIX, posting=(1, 6))
    assert found.posts == ((1, BlindKind.LIVE), (1, BlindKind.DEAD), (6, BlindKind.DEAD))
    assert found.waiting == ()
    assert not any(found.positions.debts.values())


def test_3_8_who_reaches_the_big_blind_posts_only_that() -> None:
    before = Positions(2, 3, 4, {**AFTER_A_HAND.debts, 5: Debt.BIG})
    assert plan(before, SIX, posting=(5,)).posts == ()


def test_3_8_who_changes_seats_owing_nothing_is_dealt_in_unless_the_blinds_just_went_by() -> None:
    seats = {1: True, 2: True, 3: True, 4: True, 9: True}
    ahead = move(Positions(2, 3, 4, dict.fromkeys((1, 2, 3, 4, 6), NO_DEBT)), 6, 9)
    assert plan(ahead, seats).big_blind_seat == 9
    seats = {1: True, 2: True, 5: True, 7: True, 8: True, 6: True}
    behind = move(Positions(2, 5, 7, dict.fromkeys((1, 2, 5, 7, 8), NO_DEBT)), 1, 6)
    found = plan(behind, seats | {1: False})
    assert found.waiting == (6,)
    assert found.positions.debt(6) == Debt.MOVED
    later = plan(found.positions, seats | {1: False})
    assert places(later) == (7, 8, 2)
    assert 6 in later.dealt_in


def test_3_8_debts_move_along() -> None:
    before = Positions(2, 3, 4, {1: Debt.SMALL})
    assert move(before, 1, 8).debts == {8: Debt.SMALL}
    assert move(before, 9, 8).debt(8) == Debt.BIG


@bounded
@given(st.integers(0, 2**32))
def test_3_1_for_any_comings_and_goings_the_blinds_neither_skip_nor_double(seed: int) -> None:
    random = Random(seed)
    seats: dict[int, bool] = {seat: random.random() < 0.8 for seat in random.sample(range(10), random.randint(2, 9))}
    positions = Positions()
    for _ in range(40):
        found = next_positions(positions, seats, draw=random.randrange)
        if found is not None:
            check(positions, found, seats)
            positions = found.positions
        positions = change_something(random, positions, seats)


def check(before: Positions, found: DealPlan, seats: dict[int, bool]) -> None:
    able = {seat for seat, plays in seats.items() if plays}
    dealt_in = set(found.dealt_in)
    assert dealt_in | set(found.waiting) == able
    assert len(dealt_in) >= 2
    assert found.big_blind_seat in dealt_in
    assert found.small_blind_seat in dealt_in | {None}
    assert found.small_blind_seat != found.big_blind_seat
    assert not any(found.positions.debts[seat] for seat in dealt_in)
    left_of_big = [(seat - found.big_blind_seat) % 10 for seat in dealt_in - {found.big_blind_seat}]
    if before.big_blind is not None:
        skipped = [
            seat for seat in able if 0 < (seat - before.big_blind) % 10 < (found.big_blind_seat - before.big_blind) % 10
        ]
        assert not skipped, "the big blind skipped someone who can play"
        assert found.big_blind_seat != before.big_blind, "the big blind was paid twice in a row"
    if len(dealt_in) == 2:
        assert found.button == found.small_blind_seat
    elif found.small_blind_seat is not None:
        assert max(left_of_big) == (found.small_blind_seat - found.big_blind_seat) % 10, "somebody between the blinds"
        assert found.button not in (found.small_blind_seat, found.big_blind_seat)


def change_something(random: Random, positions: Positions, seats: dict[int, bool]) -> Positions:
    for seat in range(10):
        roll = random.random()
        if seat not in seats and roll < 0.05:
            seats[seat] = random.random() < 0.8
        elif seat in seats and roll < 0.05:
            del seats[seat]
            positions = leave(positions, seat)
        elif seat in seats and roll < 0.2:
            seats[seat] = not seats[seat]
    return positions
