"""What is settled before the cards are in the air: who plays, from which seat, for what stakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cardroom.engine.errors import ConfigError
from cardroom.engine.games import Game, Rules

__all__ = ["BlindKind", "HandConfig", "Post"]


class BlindKind(Enum):
    """Why chips were posted before the deal."""

    SMALL = "small blind"
    BIG = "big blind"
    LIVE = "missed big blind"
    """Posted live: it counts toward a call (3.8)."""
    DEAD = "missed small blind"
    """Posted dead: it goes into the main pot and counts toward no call (3.8)."""
    STRADDLE = "straddle"
    """A third blind. House tables have none; foreign hands do."""
    DEAD_ANTE = "ante for the table"
    """An ante that counts as main-pot money, such as a big-blind ante. House tables have none; foreign hands do."""


@dataclass(frozen=True, slots=True)
class Post:
    """Chips that a seat posts beside the blinds and antes of everyone."""

    seat: int
    kind: BlindKind
    amount: int


@dataclass(frozen=True, slots=True)
class HandConfig:
    """One hand, before the deal. Checked when made; raises ConfigError.

    `seats` holds (seat number, stack) of everyone dealt in, by ascending seat number; `button` may be an empty seat
    (3.1); `small_blind_seat` is None when the small blind is dead. `unit` is the betting unit, the small blind by
    default (7.1), and `min_bet` the smallest bet, the big blind by default (5.2).
    """

    game: Game
    small_blind: int
    big_blind: int
    button: int
    small_blind_seat: int | None
    big_blind_seat: int
    seats: tuple[tuple[int, int], ...]
    ante: int = 0
    unit: int = 0
    posts: tuple[Post, ...] = ()
    min_bet: int = 0
    rules: Rules = field(init=False, repr=False, compare=False)
    """How the game is played."""
    order: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The seats dealt in, left of the button first: the order of the deal and of the odd chips."""
    places: dict[int, int] = field(init=False, repr=False, compare=False)
    """The place of each seat in `order`."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rules", self.game.rules)
        numbers = [seat for seat, _ in self.seats]
        self._check(numbers)
        if not self.unit:
            put(self, "unit", self.small_blind or 1)
        if not self.min_bet:
            put(self, "min_bet", self.big_blind)
        button = self.button
        order = [n for n in numbers if n > button] + [n for n in numbers if n <= button]
        put(self, "order", tuple(order))
        put(self, "places", {seat: place for place, seat in enumerate(order)})

    def _check(self, numbers: list[int]) -> None:
        count = len(numbers)
        if count < 2:
            raise ConfigError(f"{count} player(s) dealt in: a hand needs at least two (2.4)")
        if self.rules.cards_needed(count) > 52:
            raise ConfigError(f"{count} players: one deck is too small for {self.game.value}")
        if sorted(set(numbers)) != numbers:
            raise ConfigError(f"seats {numbers} are not in ascending order, each once")
        if min([stack for _, stack in self.seats]) < 1:
            raise ConfigError(f"stacks {dict(self.seats)}: everyone dealt in needs at least 1 chip")
        if not 0 <= self.small_blind <= self.big_blind or self.big_blind < 1:
            raise ConfigError(f"blinds {self.small_blind}/{self.big_blind}: the big blind is 1 or more and the larger")
        if self.ante < 0 or self.unit < 0 or self.min_bet < 0:
            raise ConfigError(f"ante {self.ante}, unit {self.unit}, min_bet {self.min_bet}: none may be negative")
        if self.big_blind_seat not in numbers:
            raise ConfigError(f"big blind at seat {self.big_blind_seat}, which is not dealt in")
        if self.small_blind_seat is not None and self.small_blind_seat not in numbers:
            raise ConfigError(f"small blind at seat {self.small_blind_seat}, which is not dealt in; None means dead")
        if self.small_blind_seat == self.big_blind_seat:
            raise ConfigError(f"both blinds at seat {self.big_blind_seat}")
        if self.posts and any(post.seat not in numbers or post.amount < 1 for post in self.posts):
            raise ConfigError(f"posts {self.posts}: each needs a seat that is dealt in and at least 1 chip")
