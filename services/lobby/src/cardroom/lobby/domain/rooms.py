"""Open tables as whoever needs a seat looks at them: whose each seat is, and which table comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.tables import CHIPS_MAX, SEATS_MAX, SEATS_MIN, Stakes

ANY_SEATS: Final = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a player wants to play for; `seats` is ANY_SEATS when the table's size does not matter."""

    game: int
    small_blind: int
    big_blind: int
    ante: int = 0
    seats: int = ANY_SEATS

    def fits(self, stakes: Stakes) -> bool:
        """Whether a table with these stakes is one of those meant."""
        same = (stakes.game, stakes.small_blind, stakes.big_blind, stakes.ante)
        return same == (self.game, self.small_blind, self.big_blind, self.ante) and self.seats in {
            ANY_SEATS,
            stakes.seats,
        }

    @property
    def key(self) -> tuple[int, int, int, int, int]:
        """Its parts in order, as statements take them."""
        return self.game, self.small_blind, self.big_blind, self.ante, self.seats

    @property
    def shown(self) -> str:
        """For sentences: `10/20`, `10/20 with an ante of 5 and 6 seats`."""
        more = [f"an ante of {self.ante}"] * bool(self.ante) + [f"{self.seats} seats"] * bool(self.seats)
        return f"{self.small_blind}/{self.big_blind}" + (f" with {' and '.join(more)}" if more else "")


def wanted_of(stakes: Stakes) -> Wanted:
    """Return the stakes of one table as something to want, its number of seats included."""
    return Wanted(stakes.game, stakes.small_blind, stakes.big_blind, stakes.ante, stakes.seats)


def checked_wanted(wanted: Wanted, games: frozenset[int]) -> Refusal | None:
    """Return why no table can have these stakes, or None."""
    blind = wanted.small_blind
    rules = (
        (wanted.game in games, f"game {wanted.game} is not dealt here: choose one of {sorted(games)}"),
        (1 <= blind <= CHIPS_MAX, f"a small blind of {blind} is not allowed: 1 to {CHIPS_MAX}"),
        (
            wanted.big_blind == 2 * blind,
            f"a big blind of {wanted.big_blind} is not allowed: twice the small one, {2 * blind}",
        ),
        (
            0 <= wanted.ante <= wanted.big_blind,
            f"an ante of {wanted.ante} is not allowed: 0 to the big blind, {wanted.big_blind}",
        ),
        (
            wanted.seats == ANY_SEATS or SEATS_MIN <= wanted.seats <= SEATS_MAX,
            f"{wanted.seats} seats are not allowed: {SEATS_MIN} to {SEATS_MAX}, or {ANY_SEATS} for any number",
        ),
    )
    return next((refusals.invalid_stakes(why) for holds, why in rules if not holds), None)


@dataclass(frozen=True, slots=True)
class Room:
    """An open table. `kept` says whose each seat is that is not free: who sits there, or for whom it is reserved."""

    table_id: str
    stakes: Stakes
    opened_at: datetime
    kept: Mapping[int, str]

    @property
    def free_seats(self) -> list[int]:
        """The seats that are nobody's."""
        return [seat for seat in range(1, self.stakes.seats + 1) if seat not in self.kept]

    def seat_of(self, player_id: str) -> int | None:
        """The seat that is this player's."""
        return next((seat for seat, whose in self.kept.items() if whose == player_id), None)

    def with_kept(self, seat: int, player_id: str) -> Room:
        """The same with one more seat that is somebody's."""
        return replace(self, kept={**self.kept, seat: player_id})


def liveliest_first(rooms: Iterable[Room]) -> list[Room]:
    """Return the tables in the order in which a player who does not mind gets a seat, so that games stay alive.

    The most seats taken or reserved first; among equals the one with the fewest seats left; then the oldest.
    """
    return sorted(rooms, key=lambda room: (-len(room.kept), room.stakes.seats, room.opened_at, room.table_id))


def rooms_for(player_id: str, buy_in: int, rooms: Iterable[Room]) -> list[Room]:
    """Return where a quick seat looks, in order: the seat reserved for the player, then `liveliest_first`.

    Tables that do not take the buy-in and those without a seat for this player are left out.
    """
    fitting = [
        room
        for room in rooms
        if room.stakes.min_buy_in <= buy_in <= room.stakes.max_buy_in and (room.free_seats or room.seat_of(player_id))
    ]
    return sorted(liveliest_first(fitting), key=lambda room: room.seat_of(player_id) is None)
