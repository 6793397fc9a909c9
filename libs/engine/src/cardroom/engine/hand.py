"""One hand from the first ante to the last chip.

The hand is driven by its actions: every call plays on until somebody is to act, cards are due that nobody has given
yet, or the hand is over. Players are known by seat number outside and by their place left of the button inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from cardroom.engine import events as ev
from cardroom.engine import showdown
from cardroom.engine.actions import CALL, CHECK, FOLD, Action, ActionKind, Call, Check, Fold, RaiseTo
from cardroom.engine.betting import Betting
from cardroom.engine.cards import UNKNOWN, Card, text
from cardroom.engine.config import BlindKind, HandConfig
from cardroom.engine.deal import Deal
from cardroom.engine.errors import (
    CardsError,
    HandIsOver,
    HistoryMismatch,
    NotYourTurn,
    ShowdownError,
    UnknownCardNeeded,
)
from cardroom.engine.games import Street
from cardroom.engine.legal import LegalActions
from cardroom.engine.pots import Pot, split, uncalled
from cardroom.engine.refusals import refuse
from cardroom.engine.result import HandResult, PotResult

__all__ = ["Hand", "Status"]


class Status(Enum):
    """Where a player stands in the hand."""

    IN = "in"
    ALL_IN = "all-in"
    FOLDED = "folded"


class Hand:
    """A hand being played. Make one with `Hand.start`; never share one between threads.

    Two hands are equal when everything that has happened in them is equal, hole cards included. Cards still in the deck
    are not compared: they have not happened.
    """

    __slots__ = (
        "_betting",
        "_board",
        "_config",
        "_decided",
        "_due",
        "_events",
        "_future",
        "_holes",
        "_index",
        "_manual",
        "_order",
        "_over",
        "_paid",
        "_pots",
        "_ranks",
        "_returned",
        "_street",
        "_tabled",
    )

    # Starting

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
        hand = cls.__new__(cls)
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

    _config: HandConfig
    _order: tuple[int, ...]
    _index: dict[int, int]
    _betting: Betting
    _holes: list[tuple[Card, ...]]
    _future: tuple[Card, ...]
    _board: tuple[Card, ...]
    _street: int
    _due: int  # cards that the board waits for
    _manual: bool
    _decided: dict[int, bool]  # player: shows (True) or mucks, in the order it happened
    _tabled: bool
    _paid: list[int] | None  # what each player put in, once the hand is over
    _pots: list[showdown.Award]  # as they were won
    _ranks: dict[int, tuple[int, ...]]  # as far as they were asked for
    _returned: tuple[int, int] | None
    _over: bool
    _events: list[ev.Event] | None  # being collected, None while nobody wants them

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
        new = Hand.__new__(Hand)
        for name in Hand.__slots__:
            setattr(new, name, getattr(self, name))
        new._betting = self._betting.copy()
        new._holes = self._holes[:]
        new._decided = self._decided.copy()
        new._ranks = self._ranks.copy()
        return new

    def __eq__(self, other: object) -> bool:
        return self._happened() == other._happened() if isinstance(other, Hand) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _happened(self) -> tuple[object, ...]:
        return (
            self._config,
            self._betting.state(),
            self._holes,
            self._board,
            self._street,
            list(self._decided.items()),
            self._tabled,
            self._pots,
            self._returned,
            self._over,
        )

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

    # Playing on

    def _go_on(self) -> None:
        """Play on until somebody is to act, cards are due, a showdown waits, or the hand is over."""
        betting = self._betting
        while not self._over and not self._due:
            if len(betting.live) == 1:
                self._give_back_uncalled()
                self._settle([Pot(sum(betting.started) - sum(betting.stacks), tuple(betting.live))])
                return
            if betting.asks():
                return
            betting.waiting = []
            if betting.able < 2:
                self._give_back_uncalled()
            if self._street + 1 == len(self._config.rules.streets):
                if not self._manual or len(self._decided) == len(betting.live):
                    self._showdown()
                return
            if betting.able < 2 and not self._tabled:
                self._table_hands()
            self._deal_street()

    def _deal_street(self) -> None:
        board_sizes = self._config.rules.board_sizes
        have, want = len(self._board), board_sizes[self._street + 1]
        if len(self._future) < want:
            self._due = want - have
            return
        self._street += 1
        self._board = self._future[:want]
        self._betting.next_street()
        if self._events is not None:
            self._events.append(ev.StreetDealt(self.street, self._board[have:]))

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

    def _cards_out(self) -> list[Card]:
        out = list(self._board)
        for hole in self._holes:
            out += hole
        return out

    def _give_back_uncalled(self) -> None:
        betting = self._betting
        player, amount = uncalled(self._contributions())
        if not amount:
            return
        if player in betting.live and not betting.stacks[player]:
            betting.able += 1
        betting.stacks[player] += amount
        betting.bets[player] = max(0, betting.bets[player] - amount)
        self._returned = (player, amount)
        if self._events is not None:
            self._events.append(ev.UncalledReturned(self._order[player], amount))

    def _table_hands(self) -> None:
        """Betting is over with cards to come: every hand still in is turned face up (8.3)."""
        self._tabled = True
        if self._manual:
            return
        live = self._betting.live
        self._decided = dict.fromkeys(live, True)
        if self._events is not None:
            self._events.append(ev.HandsTabled(tuple([(self._order[p], self._holes[p]) for p in live])))

    # Showdown

    def show(self, seat: int, cards: Sequence[Card] = (), *, record: bool = True) -> list[ev.Event]:
        """`seat` shows, in a hand with a declared showdown; `cards` tell hole cards that were unknown."""
        player = self._decider(seat)
        if cards:
            self._learn(player, tuple(cards))
        return self._decide(player, shows=True, record=record)

    def muck(self, seat: int, *, record: bool = True) -> list[ev.Event]:
        """`seat` gives the hand up unseen, in a hand with a declared showdown."""
        return self._decide(self._decider(seat), shows=False, record=record)

    def _decider(self, seat: int) -> int:
        player = self._index.get(seat, -1)
        if player not in self._betting.live or player in self._decided:
            raise ShowdownError(f"seat {seat} has no hand to show or muck")
        if not self._manual or self._over or not (self._tabled or self.at_showdown):
            raise ShowdownError(f"seat {seat} cannot show or muck now")
        return player

    def _learn(self, player: int, cards: tuple[Card, ...]) -> None:
        known = [card for card in self._holes[player] if card != UNKNOWN]
        others = {card for p, hole in enumerate(self._holes) if p != player for card in hole}.union(self._board)
        others.discard(UNKNOWN)
        fits = len(cards) == len(self._holes[player]) and set(known) <= set(cards) and UNKNOWN not in cards
        if not fits or not others.isdisjoint(cards):
            dealt = text(self._holes[player])
            raise CardsError(f"seat {self._order[player]} shows {text(cards)!r}, but was dealt {dealt!r}")
        self._holes[player] = cards

    def _decide(self, player: int, *, shows: bool, record: bool) -> list[ev.Event]:
        self._events = [] if record else None
        self._declare(player, shows=shows)
        self._go_on()
        return self._take_events()

    def _declare(self, player: int, *, shows: bool) -> None:
        self._decided[player] = shows
        if self._events is not None:
            seat = self._order[player]
            self._events.append(ev.HandShown(seat, self._holes[player]) if shows else ev.HandMucked(seat))

    def finish_showdown(self, *, record: bool = True) -> list[ev.Event]:
        """Let 8.5 decide for everyone who has not shown or mucked yet, and award the pots."""
        if not self.at_showdown:
            raise ShowdownError("the hand is not at a showdown")
        self._events = [] if record else None
        self._showdown()
        return self._take_events()

    def _showdown(self) -> None:
        betting, decided = self._betting, self._decided
        live = betting.live
        pots = self._split()
        if len(decided) < len(live):
            shown = [player for player, shows in decided.items() if shows]
            for player in showdown.order_of_showing(live, betting.raiser):
                if player in decided:
                    continue
                if not shown and len(decided) + 1 == len(live):
                    break  # all the others mucked: the last hand wins unshown
                shows = self._tabled or not shown or showdown.shows(player, self._rank, shown, pots)
                if shows:
                    shown.append(player)
                self._declare(player, shows=shows)
        self._settle(pots)

    def _rank(self, player: int) -> tuple[int, ...]:
        """The player's hand, one rank for each part of a pot."""
        known = self._ranks.get(player)
        if known is not None:
            return known
        hole = self._holes[player]
        if UNKNOWN in hole:
            raise UnknownCardNeeded(f"seat {self._order[player]} is at the showdown with unknown cards {text(hole)!r}")
        ranks = tuple([ranking(hole, self._board) for ranking in self._config.rules.rankings])
        self._ranks[player] = ranks
        return ranks

    # Settling

    def _contributions(self) -> list[int]:
        """What each player has in beside main-pot money, folded players included."""
        betting = self._betting
        return [a - b - c for a, b, c in zip(betting.started, betting.stacks, betting.dead, strict=True)]

    def _split(self) -> list[Pot]:
        betting = self._betting
        all_in = [player for player in betting.live if not betting.stacks[player]]
        return split(self._contributions(), sum(betting.dead), betting.live, all_in)

    def _settle(self, pots: Sequence[Pot]) -> None:
        betting, order = self._betting, self._order
        self._paid = [a - b for a, b in zip(betting.started, betting.stacks, strict=True)]
        mucked = [player for player, shows in self._decided.items() if not shows]
        self._pots = showdown.award(pots, self._rank, mucked)
        for pot in self._pots:
            for player, chips in pot.wins:
                betting.stacks[player] += chips
        self._over = True
        assert sum(betting.stacks) == sum(betting.started), "chips were created or destroyed"
        if self._events is not None:
            for number, pot in enumerate(self._pots):
                wins = tuple([(order[player], chips) for player, chips in pot.wins])
                eligible = tuple([order[player] for player in pot.eligible])
                self._events.append(ev.PotAwarded(number, pot.amount, eligible, wins))
            self._events.append(ev.HandEnded(tuple(self.stacks.items())))

    # Before the deal

    def _post_everything(self) -> None:
        config, index = self._config, self._index
        small, big = config.small_blind_seat, index[config.big_blind_seat]
        if config.posts:
            self._post_extra(lambda kind: kind is BlindKind.DEAD_ANTE)
        if config.ante:
            for player in range(len(self._order)):
                self._post_ante(player)
        in_full = config.small_blind + config.big_blind
        if small is not None and config.small_blind:
            in_full -= self._post(index[small], BlindKind.SMALL, config.small_blind)
        in_full -= self._post(big, BlindKind.BIG, config.big_blind)
        wager, last = config.big_blind, big
        if config.posts:
            # A missed small blind posts after the live one, which it may leave no chips for.
            self._post_extra(lambda kind: kind in (BlindKind.LIVE, BlindKind.STRADDLE))
            self._post_extra(lambda kind: kind is BlindKind.DEAD)
            for post in config.posts:
                if post.kind is BlindKind.STRADDLE and post.amount > wager:
                    wager, last = post.amount, index[post.seat]
        self._betting.open(wager, (last + 1) % len(self._order), in_full)

    def _post_extra(self, chosen: Callable[[BlindKind], bool]) -> None:
        for post in self._config.posts:
            if chosen(post.kind):
                dead = post.kind in (BlindKind.DEAD, BlindKind.DEAD_ANTE)
                self._post(self._index[post.seat], post.kind, post.amount, dead=dead)

    def _post(self, player: int, kind: BlindKind, amount: int, *, dead: bool = False) -> int:
        paid = self._betting.post(player, amount, wager=not dead, dead=dead)
        if paid and self._events is not None:
            all_in = not self._betting.stacks[player]
            self._events.append(ev.BlindPosted(self._order[player], kind, paid, all_in))
        return paid

    def _post_ante(self, player: int) -> None:
        paid = self._betting.post(player, self._config.ante, wager=False)
        if self._events is not None:
            self._events.append(ev.AntePosted(self._order[player], paid, not self._betting.stacks[player]))

    # Telling

    def _take_events(self) -> list[ev.Event]:
        events = self._events
        self._events = None
        return events if events is not None else []

    def _tell_the_deal(self) -> None:
        assert self._events is not None
        self._events += [
            ev.HoleCardsDealt(seat, len(hole)) for seat, hole in zip(self._order, self._holes, strict=True)
        ]
        self._events += [ev.HoleCardsGiven(seat, hole) for seat, hole in zip(self._order, self._holes, strict=True)]

    def _tell_action(self, seat: int, kind: ActionKind, added: int) -> None:
        assert self._events is not None
        player = self._index[seat]
        betting = self._betting
        all_in = bool(added) and not betting.stacks[player]
        self._events.append(ev.ActionTaken(seat, kind, betting.bets[player], added, all_in))

    # Looking

    @property
    def config(self) -> HandConfig:
        """What the hand was started with."""
        return self._config

    @property
    def is_over(self) -> bool:
        """Every chip has gone where it belongs."""
        return self._over

    @property
    def actor(self) -> int | None:
        """The seat to act, or None."""
        waiting = self._betting.waiting
        return self._order[waiting[0]] if waiting and not self._over else None

    @property
    def to_call(self) -> int:
        """What the actor would have to add to match the wager, their stack aside; 0 when a check is legal."""
        betting = self._betting
        return betting.wager - betting.bets[betting.waiting[0]] if betting.waiting else 0

    @property
    def cards_due(self) -> int:
        """Board cards that the hand waits for; 0 in a hand that was started with a deck."""
        return self._due

    @property
    def at_showdown(self) -> bool:
        """Betting and board are complete, and more than one player is in: only in a hand with a declared showdown."""
        last = self._street + 1 == len(self._config.rules.streets)
        return last and not self._betting.waiting and not self._over and len(self._betting.live) > 1

    @property
    def street(self) -> Street:
        """The round that the hand is in, or ended in."""
        return self._config.rules.streets[self._street]

    @property
    def board(self) -> tuple[Card, ...]:
        """The cards on the board."""
        return self._board

    def hole_cards(self, seat: int) -> tuple[Card, ...]:
        """What `seat` was dealt: for its owner's eyes only (2.6)."""
        return self._holes[self._index[seat]]

    @property
    def seats(self) -> tuple[int, ...]:
        """Everyone dealt in, left of the button first."""
        return self._order

    @property
    def stacks(self) -> dict[int, int]:
        """Chips in front of each seat and not in play, in seat order."""
        return {seat: self._betting.stacks[self._index[seat]] for seat, _ in self._config.seats}

    @property
    def chips(self) -> tuple[int, ...]:
        """The stacks, left of the button first: by place in `seats`."""
        return tuple(self._betting.stacks)

    def stack(self, seat: int) -> int:
        """Chips in front of `seat` and not in play."""
        return self._betting.stacks[self._index[seat]]

    def status(self, seat: int) -> Status:
        """Where `seat` stands."""
        player = self._index[seat]
        if player not in self._betting.live:
            return Status.FOLDED
        return Status.IN if self._betting.stacks[player] else Status.ALL_IN

    def street_contribution(self, seat: int) -> int:
        """The seat's wager on this street."""
        return self._betting.bets[self._index[seat]]

    def contribution(self, seat: int) -> int:
        """Everything the seat has put into the hand, antes included, returned chips excluded."""
        player = self._index[seat]
        if self._paid is not None:
            return self._paid[player]
        return self._betting.started[player] - self._betting.stacks[player]

    def pots(self) -> tuple[Pot, ...]:
        """Main pot and side pots as they stand, this street's wagers included; once over, as they were won."""
        pots: Iterable[Pot | showdown.Award] = self._pots if self._over else self._split()
        order = self._order
        return tuple([Pot(pot.amount, tuple([order[player] for player in pot.eligible])) for pot in pots])

    @property
    def face_up(self) -> dict[int, tuple[Card, ...]]:
        """Hands that everyone has seen, by seat, in the order they were shown."""
        return {self._order[player]: self._holes[player] for player, shows in self._decided.items() if shows}

    def legal(self) -> LegalActions | None:
        """What the actor may do (7.2); None when nobody is to act."""
        actor = self.actor
        return None if actor is None else self._betting.legal(actor)

    @property
    def result(self) -> HandResult | None:
        """How it came out; None before the hand is over."""
        if not self._over:
            return None
        order = self._order
        stacks = self.stacks
        returned = {} if self._returned is None else {order[self._returned[0]]: self._returned[1]}
        return HandResult(
            stacks=stacks,
            deltas={seat: stacks[seat] - started for seat, started in self._config.seats},
            pots=tuple(
                [
                    PotResult(
                        pot.amount,
                        tuple([order[player] for player in pot.eligible]),
                        {order[player]: chips for player, chips in pot.wins},
                    )
                    for pot in self._pots
                ]
            ),
            returned=returned,
            shown=tuple([order[player] for player, shows in self._decided.items() if shows]),
            mucked=tuple([order[player] for player, shows in self._decided.items() if not shows]),
        )


_ACTIONS: dict[ActionKind, Action] = {ActionKind.FOLD: FOLD, ActionKind.CHECK: CHECK, ActionKind.CALL: CALL}


def _first_difference(told: Sequence[ev.Event], recorded: Sequence[ev.Event]) -> str:
    for place, (mine, theirs) in enumerate(zip(told, recorded, strict=False)):
        if mine != theirs:
            return f"event {place} is recorded as {theirs!r}, the rules say {mine!r}"
    return f"{len(recorded)} events are recorded, the rules say {len(told)}: a record ends where a player is to act"
