"""What a hand is at any moment, and how it looks from outside."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from cardroom.engine import showdown
from cardroom.engine.betting import Betting
from cardroom.engine.cards import Card
from cardroom.engine.config import HandConfig
from cardroom.engine.events import Event
from cardroom.engine.games import Street
from cardroom.engine.legal import LegalActions
from cardroom.engine.pots import Pot, split
from cardroom.engine.result import HandResult, PotResult

__all__ = ["HandState", "Status"]


class Status(Enum):
    """Where a player stands in the hand."""

    IN = "in"
    ALL_IN = "all-in"
    FOLDED = "folded"


class HandState:
    """Everything about one hand. Players are known by seat outside and by their place left of the button inside."""

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
    _events: list[Event] | None  # being collected, None while nobody wants them

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

    def __eq__(self, other: object) -> bool:
        return self._happened() == other._happened() if isinstance(other, HandState) else NotImplemented

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

    def _contributions(self) -> list[int]:
        """What each player has in beside main-pot money, folded players included."""
        betting = self._betting
        return [a - b - c for a, b, c in zip(betting.started, betting.stacks, betting.dead)]  # noqa: B905 - speed

    def _split(self) -> list[Pot]:
        betting = self._betting
        all_in = [player for player in betting.live if not betting.stacks[player]]
        return split(self._contributions(), sum(betting.dead), betting.live, all_in)
