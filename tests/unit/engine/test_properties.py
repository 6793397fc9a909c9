"""What holds in every hand, whoever plays it and however wildly."""

from __future__ import annotations

from dataclasses import fields
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardroom.engine import (
    CALL,
    CHECK,
    FOLD,
    Action,
    Card,
    Hand,
    HandConfig,
    IllegalAction,
    LegalActions,
    RaiseTo,
    Status,
    shuffle,
)
from cardroom.engine import events as ev
from cardroom.engine.errors import HandIsOver
from tests.unit.engine.tables import random_action, random_config

bounded = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32)


def deal(random: Random) -> tuple[HandConfig, tuple[Card, ...]]:
    return random_config(random), shuffle.shuffled_deck(random.randrange)


def play_out(random: Random) -> tuple[Hand, list[ev.Event]]:
    hand, events = Hand.start(*deal(random))
    while not hand.is_over:
        events += hand.act(*random_action(random, hand))
    return hand, events


class Books:
    """Chips kept by events alone, independently of the engine."""

    def __init__(self, config: HandConfig) -> None:
        self.stacks = dict(config.seats)
        self.pot = 0
        self.total = sum(self.stacks.values())

    def enter(self, event: ev.Event) -> None:
        match event:
            case ev.AntePosted(seat, amount) | ev.BlindPosted(seat, _, amount) | ev.ActionTaken(seat, _, _, amount):
                self._move(seat, -amount)
            case ev.UncalledReturned(seat, amount):
                self._move(seat, amount)
            case ev.PotAwarded(_, amount, _, wins):
                assert amount == sum(chips for _, chips in wins)
                for seat, chips in wins:
                    self._move(seat, chips)
            case ev.HandEnded(stacks):
                assert dict(stacks) == self.stacks
                assert self.pot == 0

    def _move(self, seat: int, chips: int) -> None:
        self.stacks[seat] += chips
        self.pot -= chips
        assert self.stacks[seat] >= 0
        assert self.pot >= 0
        assert sum(self.stacks.values()) + self.pot == self.total


@bounded
@given(seeds)
def test_1_3_chips_are_conserved_at_every_event(seed: int) -> None:
    hand, events = play_out(Random(seed))
    books = Books(hand.config)
    for event in events:
        books.enter(event)
    assert hand.stacks == books.stacks


@bounded
@given(seeds)
def test_7_2_exactly_what_is_offered_is_accepted(seed: int) -> None:
    random = Random(seed)
    hand, _ = Hand.start(*deal(random))
    while not hand.is_over:
        legal = hand.legal()
        assert legal is not None
        for action, offered in offers(legal, random):
            trial = hand.copy()
            refused = refusal(trial, legal.seat, action)
            assert offered == (refused is None), f"{action} at {legal}: {refused}"
            if refused is not None:
                assert trial == hand
                assert all(legal.allows(total) for total in refused.nearest)
        hand.act(*random_action(random, hand))
    assert hand.legal() is None
    for action in (FOLD, CHECK, CALL, RaiseTo(100)):
        for seat in hand.seats:
            before = hand.copy()
            assert isinstance(refusal(hand, seat, action), HandIsOver)
            assert hand == before


def refusal(hand: Hand, seat: int, action: Action) -> IllegalAction | None:
    try:
        hand.act(seat, action)
    except IllegalAction as refused:
        return refused
    return None


def offers(legal: LegalActions, random: Random) -> list[tuple[Action, bool]]:
    """Actions of every kind, legal or not, and whether the legal actions offer them."""
    totals = {0, 1, legal.all_in - 1, legal.all_in, legal.all_in + 1}
    for edge in (legal.raise_min, legal.raise_max):
        if edge is not None:
            totals |= {edge - 1, edge, edge + 1}
    totals |= {random.randint(0, legal.all_in + 2) for _ in range(4)}
    raises = [(RaiseTo(total), legal.allows(total)) for total in sorted(totals)]
    return [(FOLD, True), (CHECK, legal.can_check), (CALL, legal.can_call), *raises]


@bounded
@given(seeds)
def test_7_2_presets_and_typed_amounts_are_legal(seed: int) -> None:
    random = Random(seed)
    hand, _ = Hand.start(*deal(random))
    while not hand.is_over:
        legal = hand.legal()
        assert legal is not None
        assert (legal.presets is None) == (legal.raise_min is None) == (legal.raise_max is None)
        if legal.presets is not None and legal.raise_max is not None:
            half, three_quarters, pot = legal.presets.half_pot, legal.presets.three_quarter_pot, legal.presets.pot
            assert half <= three_quarters <= pot
            assert all(legal.allows(total) for total in (half, three_quarters, pot))
            typed = legal.nearest(random.randint(-5, legal.raise_max + 50))
            assert typed is not None
            assert legal.allows(typed)
        hand.act(*random_action(random, hand))


@bounded
@given(seeds)
def test_a_hand_is_rebuilt_from_its_actions_and_from_its_events(seed: int) -> None:
    random = Random(seed)
    config, deck = deal(random)
    hand, events = Hand.start(config, deck)
    actions = []
    while not hand.is_over:
        assert Hand.from_events(events) == hand
        seat, action = random_action(random, hand)
        actions.append((seat, action))
        events += hand.act(seat, action)
        assert Hand.replay(config, deck, actions) == hand == hand.copy()
    rebuilt = Hand.from_events(events, deck)
    assert rebuilt == hand
    assert rebuilt.result == hand.result


@bounded
@given(seeds)
def test_8_1_pots_are_what_each_can_win_from_whom(seed: int) -> None:
    hand, _ = play_out(Random(seed))
    result = hand.result
    assert result is not None
    live = [seat for seat in hand.seats if hand.status(seat) is not Status.FOLDED]
    if len(live) == 1:
        assert [pot.eligible for pot in result.pots] == [tuple(live)]
        return
    paid = {seat: hand.contribution(seat) for seat in hand.seats}
    pots: dict[tuple[int, ...], int] = {}
    for chip in range(1, max(paid.values()) + 1):  # the chip-by-chip definition
        contenders = tuple(seat for seat in live if paid[seat] >= chip)
        pots[contenders] = pots.get(contenders, 0) + sum(1 for chips in paid.values() if chips >= chip)
    assert [(pot.eligible, pot.amount) for pot in result.pots] == list(pots.items())
    for seat in live:
        won = sum(pot.wins.get(seat, 0) for pot in result.pots)
        assert won <= sum(min(chips, paid[seat]) for chips in paid.values())


@bounded
@given(seeds)
def test_2_6_public_events_tell_only_the_board_and_hands_turned_up(seed: int) -> None:
    hand, events = play_out(Random(seed))
    result = hand.result
    assert result is not None
    told: set[Card] = set()
    for event in events:
        if isinstance(event, (ev.StreetDealt, ev.HandShown)):
            told.update(event.cards)
        if isinstance(event, ev.HandsTabled):
            told.update(card for _, cards in event.hands for card in cards)
    turned_up = {card for seat in result.shown for card in hand.hole_cards(seat)}
    assert told == set(hand.board) | turned_up
    for seat in hand.seats:
        if seat not in result.shown:
            assert told.isdisjoint(hand.hole_cards(seat))


def test_2_6_no_other_public_type_has_a_field_for_cards() -> None:
    with_cards = {
        kind.__name__ for kind in ev.PublicEvent.__args__ if {"cards", "hands"} & {f.name for f in fields(kind)}
    }
    assert with_cards == {"StreetDealt", "HandShown", "HandsTabled"}
    assert ev.HoleCardsGiven not in ev.PublicEvent.__args__


@bounded
@given(seeds)
def test_4_4_whoever_is_asked_has_a_choice_that_matters(seed: int) -> None:
    random = Random(seed)
    hand, _ = Hand.start(*deal(random))
    while not hand.is_over:
        actor = hand.actor
        assert actor is not None
        assert hand.status(actor) is Status.IN
        others = [seat for seat in hand.seats if seat != actor and hand.status(seat) is not Status.FOLDED]
        mine = hand.street_contribution(actor)
        can_act = any(hand.status(seat) is Status.IN for seat in others)
        assert can_act or any(hand.street_contribution(seat) > mine for seat in others)
        hand.act(*random_action(random, hand))


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_2_1_a_shuffle_is_a_permutation(seed: int) -> None:
    assert sorted(shuffle.shuffled_deck(Random(seed).randrange)) == list(range(52))


@pytest.mark.slow
def test_2_1_every_card_comes_to_every_place_equally_often() -> None:
    random, shuffles = Random(52), 5_200
    counts = [[0] * 52 for _ in range(52)]
    for _ in range(shuffles):
        for place, card in enumerate(shuffle.shuffled_deck(random.randrange)):
            counts[place][card] += 1
    expected = shuffles / 52
    chi_square = sum((count - expected) ** 2 / expected for row in counts for count in row)
    # 51 * 51 degrees of freedom: mean 2601, standard deviation 72.
    assert 2601 - 5 * 72 < chi_square < 2601 + 5 * 72


def test_2_1_each_order_has_exactly_one_sequence_of_draws() -> None:
    asked: list[int] = []

    def draw(below: int) -> int:
        asked.append(below)
        return 0

    shuffle.shuffled_deck(draw)
    assert asked == list(range(52, 1, -1))
