"""Recovery: the log decided again comes to the same table, or the table stands still."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.contracts.table.v1.view_pb2 import PlayerLeft, TableEvent
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import ReplayMismatch
from cardroom.table.domain.replay import Entry, replay
from cardroom.table.domain.view import public_view
from cardroom.table.records import pack_command, pack_table, unpack_command, unpack_table
from tests.unit.table.driver import CALL, SEAT_2_WINS, Driver, player_id
from tests.unit.table.play import some_action


def entries(table: Driver, since: int = 0) -> list[Entry]:
    """The table's log after a version, as it would be read from the database."""
    return [
        Entry(
            decision.state.version,
            now,
            unpack_command(pack_command(command)),
            LoggedChange.FromString(LoggedChange(events=decision.events).SerializeToString()),
        )
        for command, now, _, decision in table.history
        if decision.state.version > since
    ]


def decks(table: Driver) -> dict[int, Deck]:
    """The deck of every hand."""
    return {one.state.hand_number: one.deck for _, _, _, one in table.history if one.deck is not None}


@pytest.mark.parametrize("seed", range(8))
def test_a_table_is_rebuilt_from_the_middle_of_any_hand(seed: int) -> None:
    chance = random.Random(seed)
    table = Driver(800, 1000, 400)
    while table.state.next_deal_ms and table.state.hand_number < 3:
        snapshot, since = pack_table(table.state), table.state.version
        table.deal(Deck.shuffled(chance.randrange))
        while table.state.hand is not None:
            rebuilt = replay(unpack_table(snapshot), entries(table, since), decks(table).get)
            assert rebuilt is not None
            assert rebuilt.hand == table.state.hand
            assert public_view(rebuilt) == public_view(table.state)
            assert rebuilt.own_cards(player_id(1)) == table.state.own_cards(player_id(1))
            assert rebuilt == table.state
            table.act(*some_action(table.turn.view.legal, chance))


def test_a_whole_life_is_rebuilt_from_its_first_command() -> None:
    table = Driver(1000, 1000)
    for _ in range(5):
        table.deal()
        table.fold_out()
    assert replay(None, entries(table), decks(table).get) == table.state


def test_a_rebuilt_table_still_knows_the_answers_of_the_running_hand() -> None:
    table = Driver(1000, 1000)
    snapshot, since = pack_table(table.state), table.state.version
    table.deal()
    first = table.act(CALL)
    rebuilt = replay(unpack_table(snapshot), entries(table, since), decks(table).get)
    assert rebuilt is not None
    assert rebuilt.answered[1].answer == first.answer


def test_other_cards_than_those_that_were_played_are_a_mismatch() -> None:
    table = Driver(1000, 1000)
    since, snapshot = table.state.version, pack_table(table.state)
    table.deal(SEAT_2_WINS)
    while table.state.hand is not None:
        table.act(*some_action(table.turn.view.legal, random.Random(3)))
    with pytest.raises(ReplayMismatch):
        replay(unpack_table(snapshot), entries(table, since), lambda _: Deck(tuple(range(52))))


def test_a_gap_in_the_log_is_a_mismatch() -> None:
    table = Driver(1000, 1000)
    log = entries(table)
    with pytest.raises(ReplayMismatch):
        replay(None, log[:1] + log[2:], decks(table).get)


def test_an_event_that_the_rules_do_not_lead_to_is_a_mismatch() -> None:
    table = Driver(1000, 1000)
    log = entries(table)
    log[-1] = replace(log[-1], events=LoggedChange(events=[TableEvent(player_left=PlayerLeft(seat=1))]))
    with pytest.raises(ReplayMismatch):
        replay(None, log, decks(table).get)


def test_a_log_that_does_not_begin_with_the_opening_is_a_mismatch() -> None:
    with pytest.raises(ReplayMismatch):
        replay(None, entries(Driver(1000))[1:], lambda _: None)


def test_no_log_is_no_table() -> None:
    assert replay(None, [], lambda _: None) is None
