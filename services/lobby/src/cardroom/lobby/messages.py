"""Offers as the contract has them, and the messages of the list's streams, made once for all who watch the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from cardroom.contracts.lobby.v1 import lobby_pb2, waiting_pb2
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.domain.listing import Span, TableFilter, checked_filter
from cardroom.lobby.domain.rooms import Wanted
from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.neighbours import stakes_message

# Every game that the contract knows: which of them are dealt here may change while clients know more.
GAMES: Final = frozenset(int(number) for number in view_pb2.Game.values() if number)


def table_filter(wanted: lobby_pb2.TableFilter) -> TableFilter:
    """Return which tables are meant. Raises Refused."""
    made = TableFilter(
        games=frozenset(int(game) for game in wanted.games),
        small_blind=Span(_said(wanted, "small_blind_min"), _said(wanted, "small_blind_max")),
        seats=Span(_said(wanted, "seats_min"), _said(wanted, "seats_max")),
        players=Span(_said(wanted, "players_min"), _said(wanted, "players_max")),
        free_seats=Span(_said(wanted, "free_seats_min")),
    )
    return checked_filter(made, GAMES)


def _said(wanted: Any, name: str) -> int | None:
    return getattr(wanted, name) if wanted.HasField(name) else None


def wanted(stakes: waiting_pb2.WantedStakes) -> Wanted:
    """Return what is wanted to be played for."""
    return Wanted(int(stakes.game), stakes.small_blind, stakes.big_blind, stakes.ante, stakes.seats)


def table(offer: Offer) -> lobby_pb2.Table:
    """Return a table as players choose it."""
    return lobby_pb2.Table(
        table_id=offer.table.table_id,
        name=offer.table.name,
        stakes=stakes_message(offer.table.stakes),
        seats_taken=len(offer.taken_seats),
        average_pot=offer.average_pot,
        hands_per_hour=offer.hands_per_hour,
        free_seats=offer.free_seats,
        waiting=offer.waiting,
    )


def snapshot(version: int, offers: Iterable[Offer]) -> bytes:
    """Return the whole list, serialized."""
    content = lobby_pb2.TablesSnapshot(tables=[table(offer) for offer in offers])
    return lobby_pb2.WatchTablesResponse(version=version, snapshot=content).SerializeToString()


def change(version: int, offers: Iterable[Offer], removed: Iterable[str]) -> bytes:
    """Return what has changed in the list, serialized."""
    content = lobby_pb2.TablesChange(tables=[table(offer) for offer in offers], removed_table_ids=removed)
    return lobby_pb2.WatchTablesResponse(version=version, change=content).SerializeToString()


def heartbeat(version: int) -> bytes:
    """Return a sign of life, serialized."""
    return lobby_pb2.WatchTablesResponse(version=version, heartbeat=lobby_pb2.TablesHeartbeat()).SerializeToString()
