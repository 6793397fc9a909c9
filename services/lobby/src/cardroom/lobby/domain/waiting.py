"""Waiting for a seat: who is next, for how long a seat is kept, and what ends a wait.

An entry is one player's place on one list: that of a table, or that of stakes. Lists are one line: who joined earlier
goes first, on whichever list, wherever both want the seat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.rooms import Room, Wanted, liveliest_first
from cardroom.lobby.domain.tables import Stakes

KEPT_FOR: Final = timedelta(seconds=60)
WAIT_MAX: Final = timedelta(hours=12)
LISTS_MAX: Final = 10
LIST_LENGTH_MAX: Final = 500


class Ended(StrEnum):
    """How a wait came to its end."""

    SEATED = "seated"
    LEFT = "left"
    LAPSED = "lapsed"
    TABLE_CLOSED = "table_closed"
    EXPIRED = "expired"


class Stay(Enum):
    """What has become of a stay that the waiting player began, at any table."""

    NONE = "none"
    BEGUN = "begun"
    SAT = "sat"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A seat that is kept for one player."""

    table_id: str
    seat: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A place on a list. `number` is the order of joining; `table_id` is None on a list of stakes.

    On a table's list `wanted` holds the table's own stakes. `seating_id` is the stay that the player has begun
    meanwhile: until that is decided the entry is out of the line.
    """

    entry_id: str
    number: int
    player_id: str
    table_id: str | None
    wanted: Wanted
    joined_at: datetime
    reservation: Reservation | None = None
    seating_id: str | None = None
    ended: Ended | None = None

    @property
    def is_in_line(self) -> bool:
        """Whether the next seat may be this one's."""
        return self.ended is None and self.reservation is None and self.seating_id is None

    def wants(self, table_id: str, stakes: Stakes) -> bool:
        """Whether a seat at this table is one that the entry waits for."""
        return table_id == self.table_id if self.table_id is not None else self.wanted.fits(stakes)


@dataclass(frozen=True, slots=True)
class Facts:
    """What an entry's fate depends on. `stay_id` is the player's stay that `stay` is about."""

    stay: Stay = Stay.NONE
    stay_id: str | None = None
    sits_on_the_kept_seat: bool = False
    list_is_closed: bool = False
    kept_seats_table_is_open: bool = True


def looked_at(entry: Entry, facts: Facts, now: datetime) -> Entry:
    """Return the entry as the facts make it: ended, without its kept seat, back in line, or just as it was."""
    if entry.ended is not None:
        return entry
    entry = _after_stay(entry, facts)
    if entry.ended is not None or entry.seating_id is not None:
        return entry
    if facts.list_is_closed:
        return replace(entry, ended=Ended.TABLE_CLOSED)
    if entry.reservation is not None and not facts.kept_seats_table_is_open:
        entry = replace(entry, reservation=None)
    if entry.reservation is not None:
        return replace(entry, ended=Ended.LAPSED) if entry.reservation.until <= now else entry
    return replace(entry, ended=Ended.EXPIRED) if now - entry.joined_at > WAIT_MAX else entry


def _after_stay(entry: Entry, facts: Facts) -> Entry:
    if facts.stay is Stay.NONE:
        return entry
    if facts.stay is Stay.REFUSED:
        return replace(entry, seating_id=None)
    # Rule 10.5: who takes a seat gives up the one that is kept elsewhere.
    kept = entry.reservation if facts.sits_on_the_kept_seat else None
    if facts.stay is Stay.SAT:
        return replace(entry, seating_id=facts.stay_id, reservation=kept, ended=Ended.SEATED)
    return replace(entry, seating_id=facts.stay_id, reservation=kept)


def next_reservations(line: Iterable[Entry], rooms: Iterable[Room], until: datetime) -> list[Entry]:
    """Return the entries that get a free seat now, with it. Nobody gets two, on however many lists they are."""
    entries, open_rooms = list(line), {room.table_id: room for room in rooms}
    served = {entry.player_id for entry in entries if entry.ended is None and not entry.is_in_line}
    found = []
    for entry in sorted(entries, key=lambda entry: entry.number):
        if not entry.is_in_line or entry.player_id in served:
            continue
        fitting = [room for room in open_rooms.values() if room.free_seats and entry.wants(room.table_id, room.stakes)]
        if not fitting:
            continue
        room = liveliest_first(fitting)[0]
        seat = room.free_seats[0]
        open_rooms[room.table_id] = room.with_kept(seat, entry.player_id)
        served.add(entry.player_id)
        found.append(replace(entry, reservation=Reservation(room.table_id, seat, until)))
    return found


def seat_to_take(asked: int, player_id: str, room: Room, line: Iterable[Entry]) -> int | Refusal | None:
    """Return the seat that the player may take (asked for: 0 for any), why there is none, or None: ask again.

    None means that seats are free but that those in line must be served first; `line` is who waits for this table.
    """
    own = room.seat_of(player_id)
    free = room.free_seats if own is None else [own, *room.free_seats]
    if not free:
        return refusals.table_full(room.table_id, room.stakes.seats)
    if asked and asked not in free:
        return refusals.seat_taken(room.table_id, asked)
    if own is None and len(free) <= _ahead(player_id, room, line):
        return None
    return asked or free[0]


def _ahead(player_id: str, room: Room, line: Iterable[Entry]) -> int:
    """How many others get a seat here before this player does."""
    before: set[str] = set()
    for entry in sorted(line, key=lambda entry: entry.number):
        if entry.is_in_line and entry.wants(room.table_id, room.stakes):
            if entry.player_id == player_id:
                break
            before.add(entry.player_id)
    return len(before)


def places(entries: Iterable[Entry]) -> dict[str, int]:
    """Return the place of each entry that is in line, by its id: 1 plus the players who get a seat there first.

    Of a table's list: who joined earlier its own list, or one of stakes that fit it. Of stakes: who joined earlier a
    list of the same stakes, whatever the number of seats on either, unless both name one and it differs.
    """
    ordered = sorted((entry for entry in entries if entry.ended is None), key=lambda entry: entry.number)
    # Who has a seat in prospect stands in nobody's way.
    served = {entry.player_id for entry in ordered if not entry.is_in_line}
    own = [_Line.of(entry) for entry in ordered]
    # Who stands in each line, and how many were before them when they came.
    lines: dict[_Line, dict[str, int]] = {line: {} for line in own}
    joined_by_wish = defaultdict(list)
    for line in lines:
        joined_by_wish[line.wish].append(line)
    # The lines where who waits in one may get a seat.
    stood_in = {line: [lines[one] for one in joined_by_wish[line.wish] if line.stands_in(one)] for line in lines}
    found = {}
    for entry, line in zip(ordered, own, strict=True):
        if entry.player_id not in served:
            for players in stood_in[line]:
                players.setdefault(entry.player_id, len(players))
        if entry.is_in_line:
            found[entry.entry_id] = 1 + lines[line].get(entry.player_id, len(lines[line]))
    return found


class _Line(NamedTuple):
    wish: tuple[int, int, int, int]
    seats: int
    table_id: str | None

    @classmethod
    def of(cls, entry: Entry) -> _Line:
        wanted = entry.wanted
        wish = (wanted.game, wanted.small_blind, wanted.big_blind, wanted.ante)
        return cls(wish, wanted.seats, entry.table_id)

    def stands_in(self, other: _Line) -> bool:
        """Whether who waits here may get a seat that the other line waits for."""
        if self.table_id is not None:
            return self.table_id == other.table_id
        return 0 in {self.seats, other.seats} or self.seats == other.seats
