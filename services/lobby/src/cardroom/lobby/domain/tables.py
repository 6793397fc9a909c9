"""Tables on offer: what they are played for, whether that is sound, and the numbers that describe their play."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.errors import Refused

NAME_LENGTH_MAX: Final = 40
SEATS_MIN, SEATS_MAX = 2, 9
BUY_IN_MIN_BIG_BLINDS: Final = 40
BUY_IN_MAX_BIG_BLINDS: Final = 100
CHIPS_MAX: Final = 1_000_000_000
AVERAGED_HANDS: Final = 50
RATED_SECONDS: Final = 3600
# A table that has played for seconds only would otherwise promise thousands of hands an hour.
RATED_SECONDS_MIN: Final = 60


class TableState(StrEnum):
    """Where a table is between the operator's wish and its end. Only OPEN ones are on offer."""

    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Stakes:
    """What a table plays for, in whole chips. `game` is the number of the contract's enum."""

    game: int
    small_blind: int
    big_blind: int
    ante: int
    min_buy_in: int
    max_buy_in: int
    seats: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table's description and how far it is; `revision` counts the writes of its row."""

    table_id: str
    request_id: str
    name: str
    stakes: Stakes
    state: TableState = TableState.OPENING
    refusal: Refusal | None = None
    # How the work on it goes is nothing that players see: two tables that differ in it only are equal.
    attempts: int = field(default=0, compare=False)
    revision: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Offer:
    """A table as players choose it."""

    table: Table
    taken_seats: tuple[int, ...] = field(default=())
    average_pot: int = 0
    hands_per_hour: int = 0
    waiting: int = 0
    """Entries in line on the table's own list."""

    @property
    def free_seats(self) -> tuple[int, ...]:
        """The numbers of the seats that nobody has."""
        taken = set(self.taken_seats)
        return tuple(seat for seat in range(1, self.table.stakes.seats + 1) if seat not in taken)

    def offers_the_same_as(self, other: Offer) -> bool:
        """Whether the two differ in nothing but how the hands go: average pot and hands per hour."""
        return self == replace(other, average_pot=self.average_pot, hands_per_hour=self.hands_per_hour)


def checked_name(name: str) -> str:
    """Return the name if it is one. Raises Refused."""
    if not 1 <= len(name) <= NAME_LENGTH_MAX or not name.isprintable() or name != name.strip():
        raise Refused(refusals.invalid_name(name, NAME_LENGTH_MAX))
    return name


def checked_stakes(stakes: Stakes, games: frozenset[int]) -> Stakes:
    """Return sound stakes, with the usual buy-in limits where they are 0. Raises Refused with what would be right."""
    filled = replace(
        stakes,
        min_buy_in=stakes.min_buy_in or BUY_IN_MIN_BIG_BLINDS * stakes.big_blind,
        max_buy_in=stakes.max_buy_in or BUY_IN_MAX_BIG_BLINDS * stakes.big_blind,
    )
    wrong = _fault(filled, games)
    if wrong:
        raise Refused(refusals.invalid_stakes(wrong))
    return filled


def _fault(stakes: Stakes, games: frozenset[int]) -> str | None:
    rules = (
        (stakes.game in games, f"game {stakes.game} is not dealt here: choose one of {sorted(games)}"),
        (
            1 <= stakes.small_blind <= CHIPS_MAX,
            f"a small blind of {stakes.small_blind} is not allowed: 1 to {CHIPS_MAX}",
        ),
        (
            stakes.big_blind == 2 * stakes.small_blind,
            f"a big blind of {stakes.big_blind} is not allowed: twice the small one, {2 * stakes.small_blind}",
        ),
        (
            0 <= stakes.ante <= stakes.big_blind,
            f"an ante of {stakes.ante} is not allowed: 0 to the big blind, {stakes.big_blind}",
        ),
        (
            SEATS_MIN <= stakes.seats <= SEATS_MAX,
            f"{stakes.seats} seats are not allowed: {SEATS_MIN} to {SEATS_MAX}",
        ),
        (
            stakes.big_blind <= stakes.min_buy_in <= stakes.max_buy_in <= CHIPS_MAX * 1000,
            f"buy-ins from {stakes.min_buy_in} to {stakes.max_buy_in} are not allowed: "
            f"from {stakes.big_blind} on, the smallest not above the biggest",
        ),
    )
    return next((text for holds, text in rules if not holds), None)


def checked_seat(seat: int, stakes: Stakes) -> Refusal | None:
    """Return why this seat cannot be asked for, or None. 0 stands for any."""
    return None if 0 <= seat <= stakes.seats else refusals.invalid_seat(seat, stakes.seats)


def checked_buy_in(buy_in: int, stakes: Stakes) -> Refusal | None:
    """Return why nobody may sit down with this many chips, or None."""
    if stakes.min_buy_in <= buy_in <= stakes.max_buy_in:
        return None
    return refusals.buy_in_out_of_range(buy_in, stakes.min_buy_in, stakes.max_buy_in)


def hands_per_hour(hands_in_last_hour: int, seconds_since_first_hand: float) -> int:
    """Return the rate: what the last hour had, scaled up while the table has played for less."""
    if hands_in_last_hour <= 0:
        return 0
    seconds = min(RATED_SECONDS, max(RATED_SECONDS_MIN, seconds_since_first_hand))
    return round(hands_in_last_hour * RATED_SECONDS / seconds)
