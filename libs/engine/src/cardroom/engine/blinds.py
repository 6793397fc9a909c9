"""The button and the blinds (§3): pure functions over seat numbers.

Keep a `Positions` for each table, ask `next_positions` before each hand, and store the plan's `positions` when the hand
is dealt. Tell it with `leave` and `move` when a player gives up or changes a seat between two hands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, Flag

from cardroom.engine.config import BlindKind

__all__ = ["Button", "DealPlan", "Debt", "Positions", "leave", "move", "next_positions"]


class Button(Enum):
    """How the button travels: the table option `button`."""

    DEAD = "dead"
    MOVING = "moving"


class Debt(Flag):
    """Why a player waits for the big blind. No debt: they are dealt in."""

    BIG = 1
    """Missed the big blind, or is new (3.4)."""
    SMALL = 2
    """Missed the small blind (3.4)."""
    MOVED = 4
    """Changed seats owing nothing: waits only while the blinds have just gone by the new seat (3.8)."""


NO_DEBT = Debt(0)


@dataclass(frozen=True)
class Positions:
    """Where button and blinds were in the last hand dealt, and who owes what. The default is a new table."""

    button: int | None = None
    small_blind: int | None = None
    """The seat where the small blind was due, even if nobody posted it."""
    big_blind: int | None = None
    debts: Mapping[int, Debt] = field(default_factory=dict)
    """Every seat known so far; a seat that is not here is new and owes the big blind."""

    def debt(self, seat: int) -> Debt:
        """What the player at `seat` owes."""
        return self.debts.get(seat, Debt.BIG)


@dataclass(frozen=True)
class DealPlan:
    """The next hand's places."""

    button: int
    """May be an empty seat (3.1)."""
    small_blind_seat: int | None
    """None when the small blind is dead."""
    big_blind_seat: int
    dealt_in: tuple[int, ...]
    waiting: tuple[int, ...]
    """Able to play, but waiting for the big blind (3.4)."""
    posts: tuple[tuple[int, BlindKind], ...]
    """Missed blinds to post (3.8): LIVE for a big blind, DEAD for a small one."""
    positions: Positions
    """What to remember once the hand is dealt."""


def leave(positions: Positions, seat: int) -> Positions:
    """The player at `seat` has left the table: whoever sits there next is new."""
    return replace(positions, debts={s: debt for s, debt in positions.debts.items() if s != seat})


def move(positions: Positions, old: int, new: int) -> Positions:
    """The player at `old` has changed to the empty seat `new`, and takes their debts along (3.8)."""
    debt = positions.debt(old)
    return replace(leave(positions, old), debts={**leave(positions, old).debts, new: debt or Debt.MOVED})


def next_positions(
    positions: Positions,
    seats: Mapping[int, bool],
    *,
    draw: Callable[[int], int],
    button: Button = Button.DEAD,
    posting: Collection[int] = (),
) -> DealPlan | None:
    """Places for the next hand; None when fewer than two can play (2.4).

    `seats` tells for every occupied seat whether its player can play the next hand; `draw(n)` picks a number below n at
    random (used for the first button only); `posting` are seats that post what they missed, not waiting (3.8).
    """
    able = sorted(seat for seat, plays in seats.items() if plays)
    if len(able) < 2:
        return None
    if positions.button is None or positions.big_blind is None or positions.small_blind is None:
        return _around(able[draw(len(able))], able, seats)
    if button is Button.MOVING:
        return _around(_next(positions.button, able), able, seats)
    return _dead_button(positions, positions.small_blind, positions.big_blind, seats, posting)


def _around(button: int, able: list[int], seats: Mapping[int, bool]) -> DealPlan:
    """Everyone able is dealt in, the blinds are the two left of the button; between two, the button has the small."""
    small = button if len(able) == 2 else _next(button, able)
    big = _next(small, able)
    debts = {seat: NO_DEBT if plays else Debt.BIG for seat, plays in seats.items()}
    return DealPlan(button, small, big, tuple(able), (), (), Positions(button, small, big, debts))


def _dead_button(
    before: Positions,
    last_small: int,
    last_big: int,
    seats: Mapping[int, bool],
    posting: Collection[int],
) -> DealPlan:
    able = sorted(seat for seat, plays in seats.items() if plays)
    big = _next(last_big, able)
    button, small = last_small, last_big
    posters = [seat for seat in able if seat in posting and seat != big and before.debt(seat) & (Debt.BIG | Debt.SMALL)]
    dealt_in = [seat for seat in able if seat in posters or _is_due(before, seat, button, big)]
    if len(dealt_in) < 2:
        dealt_in, posters = able, []
    if len(dealt_in) == 2:
        posters = []  # between two, everyone has a blind to post anyway
        button = small = dealt_in[0] if dealt_in[1] == big else dealt_in[1]
    elif button == big or not _between(button, small, big):
        # After a heads-up hand the last small blind may be the next big blind: the button goes behind the small blind.
        button = _previous(small, dealt_in)
    debts = {}
    for seat in seats:
        debt = before.debt(seat)
        if seat in dealt_in:
            debts[seat] = NO_DEBT
        elif debt == Debt.MOVED and seats[seat]:
            debts[seat] = debt  # waiting, they miss nothing that they owe
        else:
            debts[seat] = _debt_after(debt, passed=_between(last_big, seat, big), on_small=seat == small)
    return DealPlan(
        button=button,
        small_blind_seat=small if small in dealt_in and small not in posters else None,
        big_blind_seat=big,
        dealt_in=tuple(dealt_in),
        waiting=tuple([seat for seat in able if seat not in dealt_in]),
        posts=tuple(_posts(before, posters)),
        positions=Positions(button, small, big, debts),
    )


def _is_due(before: Positions, seat: int, button: int, big: int) -> bool:
    debt = before.debt(seat)
    if debt == Debt.MOVED:
        return seat == big or not _between(button, seat, big)
    return seat == big or not debt


def _debt_after(debt: Debt, *, passed: bool, on_small: bool) -> Debt:
    """What a player who is not dealt in owes after this hand's blinds."""
    missed = (Debt.BIG if passed else NO_DEBT) | (Debt.SMALL if on_small else NO_DEBT)
    return (debt & ~Debt.MOVED) | missed if missed else debt


def _posts(before: Positions, posters: Iterable[int]) -> Iterable[tuple[int, BlindKind]]:
    for seat in posters:
        debt = before.debt(seat)
        if debt & Debt.BIG:
            yield seat, BlindKind.LIVE
        if debt & Debt.SMALL:
            yield seat, BlindKind.DEAD


def _next(seat: int, seats: Collection[int]) -> int:
    """The first of `seats` left of `seat`."""
    return min(seats, key=lambda other: (other <= seat, other))


def _previous(seat: int, seats: Collection[int]) -> int:
    """The first of `seats` right of `seat`."""
    return max(seats, key=lambda other: (other < seat, other))


def _between(start: int, seat: int, end: int) -> bool:
    """Whether `seat` comes strictly between the others, going left from `start`. A seat to itself is a full round."""
    if start < end:
        return start < seat < end
    return seat > start or seat < end
