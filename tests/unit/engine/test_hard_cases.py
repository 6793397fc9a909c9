"""The hard cases of the rule book, one by one."""

from __future__ import annotations

import pytest

from cardroom.engine import CALL, FOLD, Game, RaiseTo, Status
from cardroom.engine.blinds import NO_DEBT, Positions, next_positions
from cardroom.engine.errors import AmountTooSmall, CannotRaise
from cardroom.engine.events import HandsTabled, StreetDealt
from cardroom.engine.pots import split, uncalled
from cardroom.engine.showdown import award
from tests.unit.engine.tables import may_only_call_or_fold, sit


def test_5_6_a_caller_may_not_raise_over_a_short_all_in() -> None:
    play = sit({1: 19, 2: 200, 3: 16, 4: 200}, blinds=(1, 2), button=4)
    play.says("3 raises 16, 4 calls, 1 raises 19, 2 calls")
    assert may_only_call_or_fold(play.hand, 4)
    with pytest.raises(CannotRaise):
        play.hand.act(4, RaiseTo(200))


def test_5_6_a_bettor_may_not_raise_over_a_short_all_in() -> None:
    play = sit({1: 5000, 2: 550, 3: 5000}, blinds=(50, 100), button=3)
    play.says("3 calls, 1 calls, 2 checks, 1 bets 300, 2 raises 450, 3 calls")
    assert may_only_call_or_fold(play.hand, 1)


def test_5_6_short_all_ins_that_add_up_reopen_the_betting_for_who_faces_a_full_raise() -> None:
    play = sit({1: 5000, 2: 225, 3: 5000, 4: 300, 5: 5000}, blinds=(50, 100), button=5)
    play.says("3 calls, 4 calls, 5 calls, 1 calls, 2 checks")
    play.says("1 bets 100, 2 raises 125, 3 calls, 4 raises 200, 5 calls")
    legal = play.hand.legal()
    assert legal is not None
    assert (legal.seat, legal.call_amount, legal.raise_min, legal.raise_max) == (1, 100, 300, 4900)
    with pytest.raises(AmountTooSmall) as refused:
        play.hand.act(1, RaiseTo(299))
    assert refused.value.nearest == (300,)
    play.says("1 calls")
    assert may_only_call_or_fold(play.hand, 3)


def test_5_3_heads_up_over_raise_can_be_raised_and_the_unmatched_part_goes_back() -> None:
    play = sit({1: 1000, 2: 200}, button=1, hands={1: "AsAh", 2: "3c3d"})
    play.says("1 raises 100, 2 raises 180")
    legal = play.hand.legal()
    assert legal is not None
    assert legal.raise_min == 260
    play.says("1 raises 260, 2 calls")
    result = play.hand.result
    assert result is not None
    assert result.returned == {1: 60}
    assert result.pots[0].amount == 400
    assert result.stacks == {1: 1200, 2: 0}


def test_8_7_pots_with_the_same_winners_are_each_split_by_themselves() -> None:
    paid = [76, 117, 115, 117, 1, 66, 27]
    pots = split(paid, 0, [0, 1, 3, 5, 6], [0, 1, 3, 5, 6])
    assert [pot.amount for pot in pots] == [163, 195, 40, 121]
    strength = {0: (1,), 5: (1,), 1: (2,), 3: (3,), 6: (4,)}
    won: dict[int, int] = {}
    for pot in award(pots, strength.__getitem__, []):
        for player, chips in pot.wins:
            won[player] = won.get(player, 0) + chips
    assert won == {0: 220, 5: 178, 1: 121}


def test_8_7_the_same_played_out_from_the_first_ante() -> None:
    play = sit(
        {0: 76, 1: 117, 2: 300, 3: 117, 4: 300, 5: 66, 6: 27},
        blinds=(1, 2),
        ante=1,
        button=6,
        hands={0: "AcQd", 5: "AdQh", 1: "KhQc", 3: "3s4s", 6: "5s6s", 2: "8c8d", 4: "9c9d"},
        board="AhQsTd7h2c",
    )
    play.says("2 raises 114, 3 raises 116, 4 folds, 5 calls, 6 calls, 0 calls, 1 calls, 2 folds")
    result = play.hand.result
    assert result is not None
    assert [pot.amount for pot in result.pots] == [163, 195, 40, 121]
    assert [result.stacks[seat] for seat in (0, 5, 1, 3, 6)] == [220, 178, 121, 0, 0]


def test_8_2_the_uncalled_part_goes_back_and_folded_chips_stay() -> None:
    paid = [31405, 4940, 100, 6000]
    assert uncalled(paid) == (0, 25405)
    paid[0] -= 25405
    pots = split(paid, 0, [0, 1], [1])
    won = dict.fromkeys(range(4), 0)
    for pot in award(pots, lambda _: (1,), []):
        for player, chips in pot.wins:
            won[player] += chips
    assert (won[0] + 25405, won[1]) == (34985, 7460)


def test_4_4_the_last_funded_player_is_not_asked_and_wins_the_side_pot() -> None:
    play = sit(
        {1: 1000, 2: 1000, 3: 50, 4: 50},
        blinds=(5, 10),
        button=4,
        hands={2: "3c4c", 3: "AsAh", 4: "KsKh"},
        board="2c7d9hJsQc",
    )
    play.says("3 raises 50, 4 calls, 1 raises 150, 2 calls")
    assert play.hand.actor == 1
    play.says("1 folds")
    assert play.hand.is_over
    result = play.hand.result
    assert result is not None
    assert [(pot.amount, pot.eligible, pot.wins) for pot in result.pots] == [
        (200, (2, 3, 4), {3: 200}),
        (200, (2,), {2: 200}),
    ]
    assert len(play.told(StreetDealt)) == 3
    assert len(play.told(HandsTabled)) == 1


@pytest.mark.parametrize(
    ("gone", "button", "small", "big"), [(3, 3, 4, 5), (4, 3, None, 5), (2, 3, 4, 5)], ids=["small", "big", "button"]
)
def test_3_1_one_player_leaves(gone: int, button: int, small: int | None, big: int) -> None:
    before = Positions(2, 3, 4, dict.fromkeys(range(1, 7), NO_DEBT))
    plan = next_positions(before, {seat: True for seat in range(1, 7) if seat != gone}, draw=lambda _: 0)
    assert plan is not None
    assert (plan.button, plan.small_blind_seat, plan.big_blind_seat) == (button, small, big)
    assert plan.waiting == ()


def test_8_7_eight_tied_hands_and_five_odd_chips() -> None:
    stacks = dict.fromkeys(range(1, 10), 1000)
    play = sit(stacks, blinds=(5, 10), ante=1, button=9, board="AsKsQsJsTs")
    play.says("3 calls, 4 calls, 5 calls, 6 calls, 7 calls, 8 calls, 9 folds, 1 calls, 2 checks")
    for _ in range(3):
        play.says("1 checks, 2 checks, 3 checks, 4 checks, 5 checks, 6 checks, 7 checks, 8 checks")
    result = play.hand.result
    assert result is not None
    assert result.pots[0].amount == 89
    assert result.pots[0].wins == {1: 12, 2: 11, 3: 11, 4: 11, 5: 11, 6: 11, 7: 11, 8: 11}


def test_8_7_the_first_five_left_of_the_button_get_one_each() -> None:
    pot = split([13] * 8 + [5], 0, list(range(8)), list(range(8)))[0:1]
    assert pot[0].amount == 109
    wins = dict(award(pot, lambda _: (1,), [])[0].wins)
    assert wins == {player: 14 if player < 5 else 13 for player in range(8)}


def test_8_1_nine_all_ins_make_eight_side_pots() -> None:
    play = sit({seat: 100 * seat for seat in range(1, 10)}, button=9)
    for seat in (3, 4, 5, 6, 7, 8, 9):
        play.says(f"{seat} raises {100 * seat}")
    play.says("1 calls, 2 calls")
    result = play.hand.result
    assert result is not None
    assert [pot.amount for pot in result.pots] == [100 * left for left in range(9, 1, -1)]
    assert [len(pot.eligible) for pot in result.pots] == list(range(9, 1, -1))
    assert result.returned == {9: 100}


def test_4_4_heads_up_short_big_blind_the_small_blind_is_not_asked() -> None:
    play = sit({1: 500, 2: 7}, button=1)
    assert play.hand.is_over
    result = play.hand.result
    assert result is not None
    assert result.returned == {1: 3}
    assert result.pots[0].amount == 14


def test_3_6_a_short_big_blind_must_be_called_in_full() -> None:
    play = sit({1: 500, 2: 500, 3: 7}, button=1)
    legal = play.hand.legal()
    assert legal is not None
    assert (legal.seat, legal.call_amount, legal.raise_min) == (1, 20, 40)


@pytest.mark.parametrize(("small", "big_stack"), [(2, 100), (None, 5000)], ids=["short big blind", "dead small blind"])
def test_6_1_before_the_flop_both_blinds_count_in_full(small: int | None, big_stack: int) -> None:
    stacks = {1: 5000, 2: 5000, 3: big_stack, 4: 5000}
    play = sit(stacks, blinds=(100, 200), button=1, small=small, big=3, game=Game.POT_LIMIT_OMAHA)
    legal = play.hand.legal()
    assert legal is not None
    assert (legal.seat, legal.raise_max) == (4, 700)


def test_6_1_after_the_flop_the_pot_is_what_is_in_it() -> None:
    play = sit({1: 12, 2: 500, 3: 500}, blinds=(2, 5), button=3, game=Game.POT_LIMIT_OMAHA)
    play.says("3 calls, 1 calls, 2 checks, 1 bets 7")
    legal = play.hand.legal()
    assert legal is not None
    assert (legal.seat, legal.call_amount, legal.raise_max) == (2, 7, 36)


def test_5_5_an_opening_all_in_below_the_smallest_bet() -> None:
    play = sit({1: 32, 2: 500, 3: 500}, button=3)
    play.says("3 calls, 1 calls, 2 checks, 1 bets 12")
    legal = play.hand.legal()
    assert legal is not None
    assert (legal.call_amount, legal.raise_min) == (12, 32)


def test_5_6_a_checker_may_not_raise_over_a_short_opening_all_in() -> None:
    play = sit({1: 500, 2: 500, 3: 32}, button=3)
    play.says("3 calls, 1 calls, 2 checks, 1 checks, 2 checks, 3 bets 12")
    assert may_only_call_or_fold(play.hand, 1)


def test_5_9_a_fold_is_accepted_without_a_wager() -> None:
    play = sit({1: 500, 2: 500, 3: 500}, button=3)
    play.says("3 calls, 1 calls, 2 folds")
    assert play.hand.status(2) is Status.FOLDED
    assert play.hand.actor == 1


def test_5_7_no_raise_when_every_opponent_is_all_in() -> None:
    play = sit({1: 500, 2: 100}, button=1)
    play.says("1 calls, 2 raises 100")
    assert may_only_call_or_fold(play.hand, 1)
    play.events += play.hand.copy().act(1, CALL)
    play.events += play.hand.act(1, FOLD)
    assert play.hand.stacks == {1: 480, 2: 120}
