"""Short ways to set up and play hands in tests."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from cardroom.engine import CALL, CHECK, FOLD, Action, Deal, Game, Hand, HandConfig, Post, RaiseTo, cards
from cardroom.engine.events import Event

__all__ = ["Play", "may_only_call_or_fold", "random_action", "random_config", "sit"]

_WORDS: dict[str, Action] = {"folds": FOLD, "checks": CHECK, "calls": CALL}


class Play:
    """A hand with everything that it has told."""

    def __init__(self, config: HandConfig, deal: Deal) -> None:
        self.hand, self.events = Hand.start_dealt(config, deal)

    def says(self, script: str) -> Play:
        """`"3 raises 16, 6 calls"`: seats and words, or a total after `bets`, `raises` or `to`."""
        for line in script.split(","):
            seat, word, *amount = line.split()
            action = RaiseTo(int(amount[0])) if amount else _WORDS[word]
            self.events += self.hand.act(int(seat), action)
        return self

    def told(self, kind: type[Event]) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


def sit(
    stacks: Mapping[int, int],
    *,
    blinds: tuple[int, int] = (10, 20),
    small: int | None = -1,
    big: int | None = None,
    button: int,
    game: Game = Game.NO_LIMIT_HOLDEM,
    ante: int = 0,
    unit: int = 1,
    posts: tuple[Post, ...] = (),
    hands: Mapping[int, str] | None = None,
    board: str = "2c7d9hJsKc",
) -> Play:
    """Start a hand. Blinds are next to the button unless told; hands that nobody names are dealt from what is left."""
    order = [seat for seat in sorted(stacks) if seat > button] + [seat for seat in sorted(stacks) if seat <= button]
    if small == -1:
        small = button if len(order) == 2 else order[0]
    if big is None:
        big = order[0] if len(order) == 2 else order[1 if small is not None else 0]
    named = {seat: cards.parse(text) for seat, text in (hands or {}).items()}
    taken = {card for hand in named.values() for card in hand} | set(cards.parse(board))
    left = [card for card in range(51, -1, -1) if card not in taken]
    size = game.rules.hole_cards
    holes = []
    for place, seat in enumerate(order):
        holes.append(named.get(seat) or tuple(left[place * size : (place + 1) * size]))
    config = HandConfig(
        game, *blinds, button, small, big, tuple(sorted(stacks.items())), ante=ante, unit=unit, posts=posts
    )
    return Play(config, Deal(tuple(holes), cards.parse(board)))


def may_only_call_or_fold(hand: Hand, seat: int) -> bool:
    """Whether it is the seat's turn, with no raise on offer."""
    legal = hand.legal()
    assert legal is not None
    assert legal.seat == seat, f"it is seat {legal.seat}'s turn"
    return legal.can_call and not legal.can_raise


def random_config(random: Random, *, omaha: float = 0.5, most: int = 9) -> HandConfig:
    """Any hand that a table could deal, short stacks as likely as deep ones."""
    count = random.randint(2, most)
    order = sorted(random.sample(range(10), count))
    deep = random.choice((15, 60, 300, 2_000))
    seats = tuple((seat, random.randint(1, deep)) for seat in order)
    at = random.randrange(count)
    button, left = order[at], order[at + 1 :] + order[:at]
    small: int | None = button if count == 2 else left[0]
    big = left[0] if count == 2 else left[1]
    if count > 2 and random.random() < 0.2:
        small, big = None, left[0]
    return HandConfig(
        game=Game.POT_LIMIT_OMAHA if random.random() < omaha else Game.NO_LIMIT_HOLDEM,
        small_blind=5,
        big_blind=10,
        button=button,
        small_blind_seat=small,
        big_blind_seat=big,
        seats=seats,
        ante=random.choice((0, 0, 1, 10)),
        unit=random.choice((1, 5)),
    )


def random_action(random: Random, hand: Hand, *, folds: int = 1) -> tuple[int, Action]:
    """Something legal for the actor, wilder than people play; the more `folds`, the tamer."""
    legal = hand.legal()
    assert legal is not None
    choices: list[Action] = [CHECK if legal.can_check else CALL] * 3
    # Accepted at any turn (5.9); a player who has left folds where they could check (10.3).
    choices += [FOLD] * (1 if legal.can_check else folds)
    if legal.raise_min is not None and legal.raise_max is not None:
        typed = legal.nearest(random.randint(legal.raise_min, legal.raise_max))
        assert typed is not None
        choices += [RaiseTo(typed), RaiseTo(legal.raise_min), RaiseTo(legal.raise_max)]
    return legal.seat, random.choice(choices)
