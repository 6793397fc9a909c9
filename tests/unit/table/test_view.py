"""The public view: what the events change is what a fresh snapshot says, and nothing hidden is in either."""

from __future__ import annotations

import random

import pytest

from cardroom.client.view import apply_change
from cardroom.contracts.table.v1.view_pb2 import PublicView
from cardroom.engine.cards import text
from cardroom.table.domain import commands as do
from cardroom.table.domain.step import Decision
from cardroom.table.domain.view import public_view
from tests.unit.table.driver import FOLD, SEAT_2_WINS, Driver, player_id
from tests.unit.table.play import some_action


class Follower:
    """A client that knows the table by its first snapshot and by events only."""

    def __init__(self, table: Driver) -> None:
        self.table = table
        self.view = public_view(table.state)

    def follow(self, decision: Decision) -> None:
        """Apply a decision's events and compare with the server's own view."""
        if decision.changes:
            apply_change(self.view, decision.state.version, decision.events)
        assert self.view == public_view(self.table.state)


@pytest.mark.parametrize("seed", range(12))
def test_a_view_kept_up_by_events_equals_a_fresh_snapshot(seed: int) -> None:
    chance = random.Random(seed)
    table = Driver(*[chance.choice([60, 500, 2000]) for _ in range(chance.randint(2, 6))])
    follower = Follower(table)
    for _ in range(150):
        if table.state.hand is not None:
            if chance.random() < 0.05:
                follower.follow(table.time_out())
            else:
                follower.follow(table.act(*some_action(table.turn.view.legal, chance)))
        elif table.state.next_deal_ms:
            deck = list(range(52))
            chance.shuffle(deck)
            follower.follow(table.deal(type(SEAT_2_WINS)(tuple(deck))))
        for number, seat in list(table.state.seats.items()):
            if chance.random() < 0.02:
                follower.follow(table.do(do.SitOut(seat.player_id)))
            if seat.is_sitting_out and seat.stack:
                follower.follow(table.do(do.ComeBack(seat.player_id)))
            elif seat.is_sitting_out:
                follower.follow(table.leave(number))
        free = [number for number in range(1, 7) if number not in table.state.seats]
        if free and chance.random() < 0.2:
            follower.follow(table.seat(free[0], 500, player=table.state.version + 10))


def test_2_6_no_hidden_card_is_in_a_view_or_an_event() -> None:
    table = Driver(1000, 1000, 1000)
    table.deal()
    hand = table.state.hand
    assert hand is not None
    hidden = {text([card]) for seat in hand.seats for card in hand.hole_cards(seat)}
    table.act(FOLD)
    decision = table.act(FOLD)
    assert table.state.hand is None
    seen = str(public_view(table.state)) + "".join(str(event) for _, _, _, d in table.history for event in d.events)
    assert "cards" not in seen.replace("hole_cards_dealt", "").replace("hole_card_count", "")
    assert decision.own_cards == {}
    assert not any(f'"{card}' in seen for card in hidden)


def test_a_view_has_no_field_for_a_hidden_card() -> None:
    names = {field.name for field in PublicView.DESCRIPTOR.fields}
    assert not {name for name in names if "card" in name}


def test_a_player_sees_their_own_cards_only() -> None:
    table = Driver(1000, 1000)
    table.deal(SEAT_2_WINS)
    assert table.state.own_cards(player_id(1)).cards == "7c2d"
    assert "7c2d" not in str(table.state.own_cards(player_id(2)))
