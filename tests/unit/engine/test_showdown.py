"""Who shows, who mucks, in which order (§8)."""

from __future__ import annotations

import pytest

from cardroom.engine import Deal, Hand, HandConfig, HandResult, RaiseTo, cards
from cardroom.engine.cards import UNKNOWN
from cardroom.engine.errors import CardsError, ShowdownError, UnknownCardNeeded
from cardroom.engine.events import HandMucked, HandShown, HandsTabled, StreetDealt
from cardroom.engine.pots import Pot
from cardroom.engine.showdown import award, shows
from tests.unit.engine.tables import Play, sit

STACKS = {1: 1000, 2: 1000, 3: 1000}
HANDS = {1: "AsAh", 2: "KsKh", 3: "QsQh"}
BOARD = "2c7d9hJs3c"


def result_of(play: Play) -> HandResult:
    result = play.hand.result
    assert result is not None
    return result


def limped(hands: dict[int, str] = HANDS, board: str = BOARD) -> Play:
    play = sit(STACKS, button=3, hands=hands, board=board)
    return play.says("3 calls, 1 calls, 2 checks, 1 checks, 2 checks, 3 checks, 1 checks, 2 checks, 3 checks")


def test_8_4_no_card_is_shown_when_everyone_folds() -> None:
    play = sit(STACKS, button=3).says("3 raises 60, 1 folds, 2 folds")
    result = result_of(play)
    assert (result.shown, result.mucked) == ((), ())
    assert result.returned == {3: 40}
    assert result.pots[0].amount == 50


def test_8_5_a_checked_river_is_shown_left_of_the_button_first() -> None:
    result = result_of(limped().says("1 checks, 2 checks, 3 checks"))
    assert result.shown == (1,)
    assert result.mucked == (2, 3)


def test_8_5_each_shows_what_is_at_least_as_good_as_all_shown() -> None:
    hands = {1: "QsQh", 2: "AsAh", 3: "KsKh"}
    result = result_of(limped(hands).says("1 checks, 2 checks, 3 checks"))
    assert result.shown == (1, 2)
    assert result.mucked == (3,)


def test_8_5_the_last_to_bet_or_raise_on_the_river_shows_first() -> None:
    result = result_of(limped().says("1 checks, 2 bets 40, 3 raises 80, 1 calls, 2 calls"))
    assert result.shown == (3, 1)
    assert result.mucked == (2,)


def test_8_5_an_equal_hand_shows() -> None:
    hands = {1: "AsAh", 2: "AcAd", 3: "KsKh"}
    result = result_of(limped(hands).says("1 checks, 2 checks, 3 checks"))
    assert result.shown == (1, 2)
    assert result.pots[0].wins == {1: 30, 2: 30}


def test_8_5_a_hand_that_wins_a_side_pot_shows_though_the_main_pot_is_lost() -> None:
    play = sit({1: 1000, 2: 1000, 3: 40}, button=3, hands={3: "AsAh", 1: "KsKh", 2: "QsQh"}, board=BOARD)
    play.says("3 raises 40, 1 calls, 2 calls, 1 checks, 2 checks, 1 checks, 2 checks, 1 bets 100, 2 calls")
    result = result_of(play)
    assert result.shown == (1, 3)
    assert result.mucked == (2,)
    assert [pot.wins for pot in result.pots] == [{3: 120}, {1: 200}]


def test_8_5_an_uncontested_side_pot_shows_nothing() -> None:
    ranks = {0: (1,), 1: (2,)}
    pots = [Pot(100, (0, 1)), Pot(50, (1,))]
    assert not shows(1, ranks.__getitem__, [0], pots)
    assert [won.wins for won in award(pots, ranks.__getitem__, [1])] == [((0, 100),), ((1, 50),)]


def test_8_3_hands_are_turned_up_before_the_next_card() -> None:
    play = sit({1: 100, 2: 100, 3: 100}, button=3, hands=HANDS, board=BOARD)
    play.says("3 raises 100, 1 folds, 2 calls")
    kinds = [type(event) for event in play.events]
    assert kinds.index(HandsTabled) < kinds.index(StreetDealt)
    assert HandShown not in kinds
    assert HandMucked not in kinds
    assert result_of(play).shown == (2, 3)


def test_8_3_all_in_on_the_river_is_an_ordinary_showdown() -> None:
    play = limped().says("1 checks, 2 raises 980, 3 calls, 1 folds")
    assert not play.told(HandsTabled)
    assert result_of(play).shown == (2,)
    assert result_of(play).mucked == (3,)


@pytest.mark.parametrize(("amount", "wins"), [(100, {0: 25, 1: 50, 2: 25}), (101, {0: 26, 1: 50, 2: 25})])
def test_8_8_a_pot_of_two_halves_gives_the_odd_chip_to_the_high_half(amount: int, wins: dict[int, int]) -> None:
    ranks = {0: (1, 9), 1: (5, 1), 2: (1, 9)}
    assert dict(award([Pot(amount, (0, 1, 2))], ranks.__getitem__, [])[0].wins) == wins


def declared(holes: tuple[tuple[int, ...], ...], *, streets: str = BOARD) -> Hand:
    """A checked-down hand whose showdown is told from outside."""
    seats = tuple((seat, 1000) for seat in (1, 2, 3)[: len(holes)])
    config = HandConfig(sit(STACKS, button=3).hand.config.game, 10, 20, 3, 1, 2, seats)
    hand, _ = Hand.start_dealt(config, Deal(holes), declared_showdown=True)
    for seat in (3, 1, 2):
        hand.check_or_call(seat)
    board = cards.parse(streets)
    for fresh in (board[:3], board[3:4], board[4:]):
        assert hand.cards_due == len(fresh)
        hand.deal_board(fresh)
        for seat in (1, 2, 3):
            hand.check_or_call(seat)
    return hand


THREE = tuple(cards.parse(HANDS[seat]) for seat in (1, 2, 3))


def test_8_5_when_all_but_one_have_mucked_the_last_hand_wins_unshown() -> None:
    hand = declared(THREE)
    hand.muck(1)
    hand.muck(2)
    hand.finish_showdown()
    result = hand.result
    assert result is not None
    assert (result.shown, result.mucked) == ((), (1, 2))
    assert result.pots[0].wins == {3: 60}


def test_a_declared_showdown_follows_what_is_declared_and_then_the_rule() -> None:
    hand = declared(THREE)
    hand.show(2)
    hand.finish_showdown()
    result = hand.result
    assert result is not None
    assert (result.shown, result.mucked) == ((2, 1), (3,))


def test_unknown_cards_are_learned_when_shown_and_missed_when_needed() -> None:
    unknown = (UNKNOWN, UNKNOWN)
    hand = declared((unknown, THREE[1], THREE[2]))
    with pytest.raises(UnknownCardNeeded):
        hand.copy().finish_showdown()
    with pytest.raises(CardsError):
        hand.show(1, THREE[1])
    with pytest.raises(ShowdownError):
        hand.show(9)
    hand.show(1, THREE[0])
    hand.finish_showdown()
    assert hand.result is not None
    assert hand.result.pots[0].wins == {1: 60}


def test_cards_are_only_dealt_where_they_are_due() -> None:
    config = HandConfig(sit(STACKS, button=3).hand.config.game, 10, 20, 3, 1, 2, ((1, 1000), (2, 1000), (3, 1000)))
    hand, _ = Hand.start_dealt(config, Deal(THREE))
    with pytest.raises(CardsError):
        hand.deal_board(cards.parse("2c3c4c"))
    hand.act(3, RaiseTo(40))
    hand.check_or_call(1)
    hand.check_or_call(2)
    for wrong in ("2c3c", "2c3cAs", "2c3c??"):
        with pytest.raises(CardsError):
            hand.deal_board(cards.parse(wrong))
    hand.deal_board(cards.parse("2c3c4c"))
    assert hand.actor == 1
