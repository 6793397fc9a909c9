"""What a person may type at the table."""

from __future__ import annotations

import pytest

from cardroom.cli.play.commands import Misunderstood, MoreChips, Move, Wish, offer, understand
from cardroom.client import call, check, fold, raise_to
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import LegalActions

FACING_A_BET = LegalActions(
    can_fold=True,
    call_amount=20,
    raise_min=40,
    raise_max=1000,
    unit=5,
    preset_half_pot=55,
    preset_three_quarter_pot=70,
    preset_pot=90,
    all_in_total=1000,
)
FREE = LegalActions(can_fold=True, can_check=True, raise_min=10, raise_max=15, is_bet=True, unit=5, all_in_total=15)
CALL_ONLY = LegalActions(can_fold=True, call_amount=20, all_in_total=20)


@pytest.mark.parametrize(
    ("typed", "action"),
    [
        ("f", fold()),
        ("fold", fold()),
        ("c", call()),
        (" CALL ", call()),
        ("r 120", raise_to(120)),
        ("r120", raise_to(120)),
        ("raise to 1,000", raise_to(1000)),
        ("120", raise_to(120)),
        ("bet 45", raise_to(45)),
        ("½", raise_to(55)),
        ("1/2", raise_to(55)),
        ("¾", raise_to(70)),
        ("3/4", raise_to(70)),
        ("p", raise_to(90)),
        ("a", raise_to(1000)),
    ],
)
def test_actions_are_understood(typed: str, action: Action) -> None:
    assert understand(typed, FACING_A_BET) == Move(action)


@pytest.mark.parametrize(
    ("typed", "amount"), [("t 500", 500), ("t500", 500), ("top up 1,000", 1000), ("t", 0), ("top up", 0)]
)
@pytest.mark.parametrize("legal", [FACING_A_BET, None])
def test_10_4_more_chips_can_be_asked_for_at_any_time(typed: str, amount: int, legal: LegalActions | None) -> None:
    assert understand(typed, legal) == MoreChips(amount)


def test_c_checks_where_there_is_nothing_to_call() -> None:
    assert understand("c", FREE) == Move(check())


def test_7_2_a_typed_amount_that_is_moved_says_so() -> None:
    move = understand("r 123", FACING_A_BET)
    assert move == Move(raise_to(125), "123 is not legal here; the nearest is 125.")


@pytest.mark.parametrize(
    ("typed", "wish"),
    [("s", Wish.SIT_OUT), ("b", Wish.BACK), ("n", Wish.NEW_BUY_IN), ("q", Wish.LEAVE), ("?", Wish.HELP)],
)
def test_wishes_are_understood_at_any_time(typed: str, wish: Wish) -> None:
    assert understand(typed, None) is understand(typed, FREE) is wish


@pytest.mark.parametrize("typed", ["f", "c", "r 100", "p", "a"])
def test_actions_out_of_turn_are_answered_with_a_sentence(typed: str) -> None:
    assert understand(typed, None) == Misunderstood("It is not your turn.")


@pytest.mark.parametrize("typed", ["x", "raise", "r -5", "r 1e9", "fold please", "½½"])
def test_other_text_is_answered_with_what_can_be_typed(typed: str) -> None:
    answer = understand(typed, FACING_A_BET)
    assert isinstance(answer, Misunderstood)
    assert typed in answer.sentence


def test_all_in_without_a_raise_is_a_call() -> None:
    assert understand("a", CALL_ONLY) == Move(call(), "You can only call.")
    assert understand("r 100", CALL_ONLY) == Misunderstood("You cannot raise now.")


def test_an_absurd_amount_is_the_most_there_is() -> None:
    move = understand("9" * 400, FACING_A_BET)
    assert isinstance(move, Move)
    assert move.action == raise_to(1000)


def test_the_offer_names_what_is_legal_with_amounts() -> None:
    assert offer(FACING_A_BET) == "f fold · c call 20 · r 40-1,000 raise to · ½ 55 · ¾ 70 · p 90 · a all-in 1,000"
    assert offer(CALL_ONLY) == "f fold · c call 20"
    assert offer(FREE).startswith("f fold · c check · r 10-15 bet")
