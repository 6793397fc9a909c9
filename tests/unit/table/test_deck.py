"""Decks do not show themselves, and are bound to their hand when they are stored."""

from __future__ import annotations

import base64
import copy
import pickle
import secrets

import pytest

from cardroom.table.deckbox import DeckBox, key_from_text, key_name
from cardroom.table.domain.deck import Deck
from cardroom.table.errors import DeckKeyMissing, DeckUnreadable
from cardroom.table.settings import TableSettings
from tests.unit.table.driver import Driver

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def deck() -> Deck:
    return Deck.shuffled(secrets.randbelow)


@pytest.mark.parametrize("shown", [repr, str, lambda deck: f"{deck}", lambda deck: f"{[deck]!r}"])
def test_2_6_a_decks_text_names_no_card(deck: Deck, shown: object) -> None:
    assert shown(deck).strip("[]") == "Deck(52 cards, face down)"  # type: ignore[operator]


def test_a_deck_is_not_pickled(deck: Deck) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(deck)
    with pytest.raises(TypeError):
        copy.deepcopy(deck)


def test_a_deck_that_is_none_is_refused_without_naming_cards() -> None:
    with pytest.raises(ValueError, match=r"^a deck must hold each of 52 cards once$"):
        Deck((1,) * 52)


def test_2_6_a_tables_text_shows_no_hole_card() -> None:
    table = Driver(1000, 1000)
    table.deal()
    assert "_holes" not in repr(table.state)
    assert "hand=" not in repr(table.state).replace("last_hand=", "")


def test_2_6_a_decisions_text_shows_no_hole_card() -> None:
    decision = Driver(1000, 1000).deal()
    assert decision.own_cards
    assert all(own.cards not in repr(decision) for own in decision.own_cards.values())


def test_a_sealed_deck_comes_back(deck: Deck) -> None:
    box = DeckBox([KEY])
    assert box.open(box.seal(deck, "t", 3), box.current, "t", 3).cards == deck.cards


def test_two_seals_of_one_deck_differ(deck: Deck) -> None:
    box = DeckBox([KEY])
    assert box.seal(deck, "t", 3) != box.seal(deck, "t", 3)


@pytest.mark.parametrize(("table", "hand"), [("t", 4), ("u", 3)])
def test_a_deck_of_another_hand_or_table_is_not_opened(deck: Deck, table: str, hand: int) -> None:
    box = DeckBox([KEY])
    with pytest.raises(DeckUnreadable):
        box.open(box.seal(deck, "t", 3), box.current, table, hand)


def test_a_deck_under_a_former_key_is_still_read(deck: Deck) -> None:
    before, after = DeckBox([OTHER]), DeckBox([KEY, OTHER])
    assert after.current != before.current
    assert after.open(before.seal(deck, "t", 3), before.current, "t", 3).cards == deck.cards


def test_14_4_a_deck_under_a_key_that_is_missing_may_be_read_elsewhere(deck: Deck) -> None:
    before = DeckBox([OTHER])
    with pytest.raises(DeckKeyMissing, match=f"hand 3 needs the deck key '{before.current}'"):
        DeckBox([KEY]).open(before.seal(deck, "t", 3), before.current, "t", 3)


def test_14_4_a_deck_under_a_key_that_is_lost_is_read_by_nobody_who_does_not_have_it(deck: Deck) -> None:
    sealed, name = DeckBox([OTHER]).seal(deck, "t", 3), key_name(OTHER)
    with pytest.raises(DeckUnreadable, match=f"its deck key '{name}' is lost"):
        DeckBox([KEY], [name]).open(sealed, name, "t", 3)
    assert DeckBox([KEY, OTHER], [name]).open(sealed, name, "t", 3).cards == deck.cards


def test_only_the_name_of_a_key_is_said_to_be_lost_and_a_key_put_there_is_not_shown() -> None:
    key, name = base64.b64encode(KEY).decode(), key_name(KEY)
    assert TableSettings(deck_key=key, deck_keys_lost=f"{name},{key_name(OTHER)}").lost_keys() == [
        name,
        key_name(OTHER),
    ]
    with pytest.raises(ValueError, match="12 hexadecimal digits") as refused:
        TableSettings(deck_key=key, deck_keys_lost=key)
    assert key not in str(refused.value)


@pytest.mark.parametrize("text", ["", "?", base64.b64encode(b"short").decode()])
def test_a_bad_key_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match="32 bytes in base64") as refused:
        key_from_text(text)
    assert not text or text not in str(refused.value)
