"""Rows of the lobby's database in the domain's words."""

from __future__ import annotations

from typing import Any

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.rooms import Room, Wanted
from cardroom.lobby.domain.seating import Step
from cardroom.lobby.domain.tables import Stakes
from cardroom.lobby.domain.waiting import Ended, Entry, Reservation


def already_seated(stay: Any) -> Refusal:
    """Why the player of a stay that is on cannot sit or wait elsewhere."""
    is_leaving = stay["wants_out"] or stay["step"] in (Step.LEAVING, Step.CASHING_OUT)
    return refusals.already_seated(str(stay["table_id"]), stay["seat"], is_leaving=is_leaving)


def stakes(row: Any) -> Stakes:
    """What a row of `tables` is played for."""
    return Stakes(
        game=row["game"],
        small_blind=row["small_blind"],
        big_blind=row["big_blind"],
        ante=row["ante"],
        min_buy_in=row["min_buy_in"],
        max_buy_in=row["max_buy_in"],
        seats=row["seats"],
    )


def room(row: Any) -> Room:
    """A row of `tables` with the seats that are not free."""
    # In the order of seats; where one is two players' for a moment, one of them is enough.
    kept = {seat: str(whose) for seat, whose in zip(row["kept_seats"], row["kept_for"], strict=True)}
    return Room(str(row["table_id"]), stakes(row), row["created_at"], kept)


def entry(row: Any) -> Entry:
    """A row of `waiting`."""
    reservation = None
    if row["reserved_until"] is not None:
        reservation = Reservation(str(row["reserved_table_id"]), row["reserved_seat"], row["reserved_until"])
    return Entry(
        entry_id=str(row["entry_id"]),
        number=row["number"],
        player_id=str(row["player_id"]),
        table_id=str(row["table_id"]) if row["table_id"] else None,
        wanted=Wanted(row["game"], row["small_blind"], row["big_blind"], row["ante"], row["seats"]),
        joined_at=row["joined_at"],
        reservation=reservation,
        seating_id=str(row["seating_id"]) if row["seating_id"] else None,
        ended=Ended(row["ended_how"]) if row["ended_how"] else None,
    )
