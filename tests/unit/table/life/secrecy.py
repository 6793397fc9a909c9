"""What is written on the cards, by the deck: nobody is told of one before it is turned (rules 2.2, 2.3, 2.6)."""

from __future__ import annotations

import re

from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange, LoggedCommand, TableSnapshot
from cardroom.engine.cards import text
from tests.unit.table.life.room import Committed, Room

__all__ = ["Secrecy"]

BOARD_FROM = {pb.STREET_FLOP: (1, 4), pb.STREET_TURN: (5, 6), pb.STREET_RIVER: (7, 8)}
"""Where a street's cards lie in the deck after the hole cards, the burned ones before them."""
CARDS = re.compile(r"(?<!\w)(?:[2-9TJQKA][cdhs])+(?!\w)")


class Secrecy:
    """Follows one hand after the other with the deck in hand."""

    def __init__(self) -> None:
        self.cards: list[str] = []
        self.holes: dict[int, str] = {}
        self.players: dict[int, str] = {}
        self.folded: set[int] = set()
        self.open: set[str] = set()
        self.betting_is_over = False
        self.order: list[int] = []

    def saw(self, one: Committed) -> None:
        """Everything that leaves the table because of a decision is looked through."""
        for event in one.decision.events:
            if event.HasField("hand_started"):
                assert one.decision.deck is not None
                self._deal(event.hand_started, [text([card]) for card in one.decision.deck.cards])
            self._see(event)
        told = {player: own.cards for player, own in one.decision.own_cards.items()}
        dealt = {self.players[seat]: cards for seat, cards in self.holes.items()}
        assert told == (dealt if one.decision.deck is not None else {}), "2.2, 2.6: to each their own, once"
        self._look_through(one)

    def _deal(self, hand: pb.HandStarted, cards: list[str]) -> None:
        """2.2: one card at a time, from the first player left of the button."""
        self.players = {player.seat: player.player_id for player in hand.players}
        self.order = sorted(self.players, key=lambda seat: (seat - hand.button_seat - 1) % 10)
        self.cards, self.holes, self.folded, self.open = cards, {}, set(), set()
        self.betting_is_over = False

    def _see(self, event: pb.TableEvent) -> None:
        kind = event.WhichOneof("event")
        if kind == "hole_cards_dealt":
            place, count = self.order.index(event.hole_cards_dealt.seat), event.hole_cards_dealt.count
            mine = [self.cards[place + turn * len(self.order)] for turn in range(count)]
            self.holes[event.hole_cards_dealt.seat] = "".join(mine)
        elif kind == "action_taken" and event.action_taken.kind == pb.ACTION_KIND_FOLD:
            self.folded.add(event.action_taken.seat)
        elif kind == "street_dealt":
            first, end = BOARD_FROM[event.street_dealt.street]
            below = sum(len(hole) for hole in self.holes.values()) // 2
            assert event.street_dealt.cards == "".join(self.cards[below + first : below + end]), "2.3: one is burned"
            self.open |= set(_each(event.street_dealt.cards))
        elif kind == "turn_started":
            assert not self.betting_is_over, "8.3: hands are turned up when the betting is over"
        elif kind == "cards_shown":
            shown = event.cards_shown
            assert shown.cards == self.holes[shown.seat]
            assert shown.seat not in self.folded, "2.6: a folded hand is never shown"
            assert len(set(self.holes) - self.folded) > 1, "8.4: who is left alone shows nothing"
            self.betting_is_over = True
            self.open |= set(_each(shown.cards))

    def _look_through(self, one: Committed) -> None:
        hidden = set(self.cards) - self.open
        for where, told in _leaving(one):
            named = {card for cards in CARDS.findall(told) for card in _each(cards)}
            assert not named & hidden, f"2.6: hidden cards in the {where}: {sorted(named & hidden)}"

    def check(self, room: Room) -> None:
        """2.6: each player sees their own cards of the running hand, and no others."""
        for number, seat in room.state.seats.items():
            own = room.state.own_cards(seat.player_id).cards
            is_on = room.state.hand is not None and self.players.get(number) == seat.player_id
            assert own == (self.holes[number] if is_on else "")


def _each(cards: str) -> list[str]:
    return [cards[place : place + 2] for place in range(0, len(cards), 2)]


def _leaving(one: Committed) -> list[tuple[str, str]]:
    """Everything that a decision gives away, but for players' own cards, as text."""
    told = [("answer", repr(one.decision.answer)), ("printed decision", repr(one.decision))]
    if one.write is None or one.write.log is None:
        return told
    told.append(("log", str(LoggedCommand.FromString(one.write.log.command))))
    told.append(("log", str(LoggedChange.FromString(one.write.log.change))))
    if one.write.changed is not None:
        told.append(("public change", str(TableChanged.FromString(one.write.changed.event))))
    if one.write.snapshot is not None:
        told.append(("snapshot", str(TableSnapshot.FromString(one.write.snapshot.snapshot))))
    if one.decision.settlement is not None:
        told.append(("settlement", str(one.decision.settlement)))
    return told
