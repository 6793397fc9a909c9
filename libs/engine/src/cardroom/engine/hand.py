"""One hand from the first ante to the last chip.

The hand is driven by its actions: every call plays on until somebody is to act, cards are due that nobody has given
yet, or the hand is over. Players are known by seat number outside and by their place left of the button inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cardroom.engine import events as ev
from cardroom.engine.actions import CALL, CHECK, FOLD, Action, ActionKind, Call, Check, Fold, RaiseTo
from cardroom.engine.betting import Betting
from cardroom.engine.cards import UNKNOWN, Card, text
from cardroom.engine.config import HandConfig
from cardroom.engine.course import Course
from cardroom.engine.deal import Deal
from cardroom.engine.errors import (
    CardsError,
    HandIsOver,
    HistoryMismatch,
    NotYourTurn,
    ShowdownError,
)
from cardroom.engine.refusals import refuse
from cardroom.engine.state import Status

__all__ = ["Hand", "Status"]


class Hand(Course):
    """A hand being played. Make one with `Hand.start`; never share one between threads.

    Two hands are equal when everything that has happened in them is equal, hole cards included. Cards still in the deck
    are not compared: they have not happened.
    """

    __slots__ = ()

    # Starting and rebuilding

    @classmethod
    def start(cls, config: HandConfig, deck: Sequence[Card]) -> tuple[Hand, list[ev.Event]]:
        """Post, deal from the top of `deck` (52 cards, `shuffle.shuffled_deck`), and come to the first turn."""
        deal = Deal.from_deck(config.rules, len(config.seats), deck)
        return cls.start_dealt(config, deal)

    @classmethod
    def start_dealt(
        cls, config: HandConfig, deal: Deal, *, declared_showdown: bool = False, record: bool = True
    ) -> tuple[Hand, list[ev.Event]]:
        """Start with cards that were dealt elsewhere.

        Where `deal` lacks board cards, the hand stops at `cards_due` and waits for `deal_board`. With
        `declared_showdown` it waits at the showdown for `show`, `muck` and `finish_showdown`, instead of following 8.5
        by itself. Without `record` no events are made.
        """
        hand = cls()
        rules = config.rules
        stacks = dict(config.seats)
        order = config.order
        hand._config = config
        hand._order = order
        hand._index = config.places
        hand._betting = Betting(
            [stacks[seat] for seat in order], config.min_bet, config.unit, pot_limit=rules.pot_limit
        )
        hand._holes = list(deal.holes)
        hand._future = deal.board
        hand._board = ()
        hand._street = 0
        hand._due = 0
        hand._manual = declared_showdown
        hand._decided = {}
        hand._tabled = False
        hand._paid = None
        hand._pots = []
        hand._ranks = {}
        hand._returned = None
        hand._over = False
        hand._events = [] if record else None
        if record:
            hand._events = [ev.HandStarted(config)]
        hand._post_everything()
        if record:
            hand._tell_the_deal()
        hand._go_on()
        return hand, hand._take_events()

    @classmethod
    def replay(cls, config: HandConfig, deck: Sequence[Card], actions: Iterable[tuple[int, Action]]) -> Hand:
        """Play (seat, action) pairs from the start. Raises IllegalAction where one is not legal."""
        hand, _ = cls.start(config, deck)
        for seat, action in actions:
            hand.advance(seat, action)
        return hand

    @classmethod
    def from_events(cls, events: Iterable[ev.Event], deck: Sequence[Card] | None = None) -> Hand:
        """Rebuild a hand from everything it has told so far, private events included.

        The rules decide again and every event must come out as recorded, else HistoryMismatch. Events do not tell the
        cards still in the deck: with the `deck` of the hand it can be played on; without, it stops where cards are due.
        """
        recorded = list(events)
        if not recorded or not isinstance(recorded[0], ev.HandStarted):
            raise HistoryMismatch("a hand's events begin with HandStarted")
        config = recorded[0].config
        if deck is None:
            given = {event.seat: event.cards for event in recorded if isinstance(event, ev.HoleCardsGiven)}
            if set(given) != set(config.order):
                raise HistoryMismatch(f"hole cards of seats {sorted(given)}, but {sorted(config.order)} are dealt in")
            hand, told = cls.start_dealt(config, Deal(tuple([given[seat] for seat in config.order])))
        else:
            hand, told = cls.start(config, deck)
        while len(told) < len(recorded):
            told += hand._follow(recorded[len(told)])
        if told != recorded:
            raise HistoryMismatch(_first_difference(told, recorded))
        return hand

    def _follow(self, event: ev.Event) -> list[ev.Event]:
        if isinstance(event, ev.ActionTaken):
            return self.act(event.seat, _ACTIONS.get(event.kind) or RaiseTo(event.total))
        if isinstance(event, ev.StreetDealt):
            return self.deal_board(event.cards)
        raise HistoryMismatch(f"{event!r} does not follow")

    def copy(self) -> Hand:
        """An independent copy, to look ahead with."""
        new = Hand()
        new._config, new._order, new._index = self._config, self._order, self._index
        new._betting, new._holes = self._betting.copy(), self._holes[:]
        new._future, new._board, new._street, new._due = self._future, self._board, self._street, self._due
        new._manual, new._decided, new._tabled = self._manual, self._decided.copy(), self._tabled
        new._paid, new._pots, new._ranks = self._paid, self._pots, self._ranks.copy()
        new._returned, new._over, new._events = self._returned, self._over, None
        return new

    # Acting

    def act(self, seat: int, action: Action) -> list[ev.Event]:
        """Play `action` for `seat`; answers everything that follows from it.

        Raises a kind of IllegalAction, and then nothing has changed.
        """
        self._events = []
        try:
            self.advance(seat, action)
        finally:
            events = self._take_events()
        return events

    def advance(self, seat: int, action: Action) -> None:
        """Like `act`, without telling what happened: for replays that only want the outcome."""
        betting = self._betting
        waiting = betting.waiting
        if not waiting or self._order[waiting[0]] != seat:
            self._refuse_turn(seat)
        kind = type(action)
        if kind is Fold:
            betting.fold()
            if self._events is not None:
                self._tell_action(seat, ActionKind.FOLD, 0)
        elif kind is RaiseTo:
            self._raise_to(seat, action.amount)  # type: ignore[union-attr]
        elif kind is Call or kind is Check:
            self._check_or_call(seat, kind)
        else:
            raise TypeError(f"{action!r} is not an action: use Fold, Check, Call or RaiseTo")
        if betting.able < 2 or not betting.waiting:  # else the next player is to act, and that is all
            self._go_on()

    def check_or_call(self, seat: int) -> None:
        """Like `advance` with a check if that is legal, else with a call."""
        betting = self._betting
        waiting = betting.waiting
        if not waiting or self._order[waiting[0]] != seat:
            self._refuse_turn(seat)
        betting.check_or_call()
        if betting.able < 2 or not betting.waiting:
            self._go_on()

    def _check_or_call(self, seat: int, kind: type[Action]) -> None:
        betting = self._betting
        facing = betting.wager > betting.bets[betting.waiting[0]]
        if facing is (kind is Check):
            refuse(betting.legal(seat), kind)
        added = betting.check_or_call()
        if self._events is not None:
            self._tell_action(seat, ActionKind.CALL if added else ActionKind.CHECK, added)

    def _raise_to(self, seat: int, amount: int) -> None:
        betting = self._betting
        limits = betting.raise_range()
        if limits is None or not (limits[0] <= amount <= limits[1]) or (amount % betting.unit and amount not in limits):
            refuse(betting.legal(seat), RaiseTo, amount)
        opening = not betting.wager
        added = betting.raise_to(amount)
        if self._events is not None:
            self._tell_action(seat, ActionKind.BET if opening else ActionKind.RAISE, added)

    def _refuse_turn(self, seat: int) -> None:
        if self._due:
            raise NotYourTurn(f"seat {seat} cannot act: {self._due} board cards are due first")
        if self.actor is None:
            raise HandIsOver(f"seat {seat} cannot act: nobody is to act in this hand any more")
        if seat not in self._index:
            raise NotYourTurn(f"seat {seat} is not dealt in; it is seat {self.actor}'s turn", self.legal())
        raise NotYourTurn(f"seat {seat} cannot act: it is seat {self.actor}'s turn", self.legal())

    def _tell_action(self, seat: int, kind: ActionKind, added: int) -> None:
        assert self._events is not None
        player = self._index[seat]
        betting = self._betting
        all_in = bool(added) and not betting.stacks[player]
        self._events.append(ev.ActionTaken(seat, kind, betting.bets[player], added, all_in))

    # Cards and showdowns that are declared from outside

    def deal_board(self, cards: Sequence[Card], *, record: bool = True) -> list[ev.Event]:
        """Give the cards that are due. Raises CardsError when none are, or for a wrong number or a card already out."""
        if not self._due or len(cards) != self._due:
            raise CardsError(f"{text(cards)!r} dealt to the board: {self._due or 'no'} cards are due")
        fresh = {*cards}
        if UNKNOWN in fresh or len(fresh) != len(cards) or not fresh.isdisjoint(self._cards_out()):
            raise CardsError(f"{text(cards)!r} dealt to the board: cards must be known, and none out already")
        self._events = [] if record else None
        self._future = (*self._board, *cards)
        self._due = 0
        self._deal_street()
        if self._betting.able < 2:  # else somebody is to act
            self._go_on()
        return self._take_events()

    def show(self, seat: int, cards: Sequence[Card] = (), *, record: bool = True) -> list[ev.Event]:
        """`seat` shows, in a hand with a declared showdown; `cards` tell hole cards that were unknown."""
        player = self._decider(seat)
        if cards:
            self._learn(player, tuple(cards))
        return self._decide(player, shows=True, record=record)

    def muck(self, seat: int, *, record: bool = True) -> list[ev.Event]:
        """`seat` gives the hand up unseen, in a hand with a declared showdown."""
        return self._decide(self._decider(seat), shows=False, record=record)

    def finish_showdown(self, *, record: bool = True) -> list[ev.Event]:
        """Let 8.5 decide for everyone who has not shown or mucked yet, and award the pots."""
        if not self.at_showdown:
            raise ShowdownError("the hand is not at a showdown")
        self._events = [] if record else None
        self._showdown()
        return self._take_events()


_ACTIONS: dict[ActionKind, Action] = {ActionKind.FOLD: FOLD, ActionKind.CHECK: CHECK, ActionKind.CALL: CALL}


def _first_difference(told: Sequence[ev.Event], recorded: Sequence[ev.Event]) -> str:
    for place, (mine, theirs) in enumerate(zip(told, recorded, strict=False)):
        if mine != theirs:
            return f"event {place} is recorded as {theirs!r}, the rules say {mine!r}"
    return f"{len(recorded)} events are recorded, the rules say {len(told)}: a record ends where a player is to act"
