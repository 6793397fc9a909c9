"""Tables and places in line, made short."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cardroom.lobby.domain.rooms import ANY_SEATS, Room, Wanted
from cardroom.lobby.domain.tables import Stakes
from cardroom.lobby.domain.waiting import Entry, Reservation

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TEN_TWENTY = Wanted(1, 10, 20)


def stakes(seats: int = 6, blind: int = 10, ante: int = 0) -> Stakes:
    """Stakes with buy-ins of 40 to 100 big blinds."""
    return Stakes(1, blind, 2 * blind, ante, 80 * blind, 200 * blind, seats)


def room(table_id: str = "A", *, kept: str = "", seats: int = 6, age: int = 0, **changes: Any) -> Room:
    """An open table whose first seats are those of the players named, a letter each; a dot is a free seat."""
    owners = {seat: who for seat, who in enumerate(kept, 1) if who != "."}
    return Room(table_id, changes.pop("stakes", stakes(seats)), NOW - timedelta(days=age), owners)


def at_table(number: int, player: str, table_id: str = "A", seats: int = 6) -> Entry:
    """A place on a table's own list."""
    return Entry(f"e{number}", number, player, table_id, replace(TEN_TWENTY, seats=seats), NOW)


def for_stakes(number: int, player: str, seats: int = ANY_SEATS) -> Entry:
    """A place on a list of 10/20."""
    return Entry(f"e{number}", number, player, None, replace(TEN_TWENTY, seats=seats), NOW)


def kept(entry: Entry, table_id: str = "A", seat: int = 6, seconds: float = 60) -> Entry:
    """The same with a seat that is kept."""
    return replace(entry, reservation=Reservation(table_id, seat, NOW + timedelta(seconds=seconds)))
