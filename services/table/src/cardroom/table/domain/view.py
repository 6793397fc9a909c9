"""What everyone may see of a table, made from its state. It reads no hole card that was not turned face up."""

from __future__ import annotations

from typing import Final

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.engine import Hand, Status
from cardroom.engine.cards import text
from cardroom.table.domain.hand_events import STREETS
from cardroom.table.domain.state import Seat, TableState
from cardroom.table.domain.step import timestamp

__all__ = ["hand_view", "public_view", "seat_view", "void_hand_view"]

_STATUSES: Final = {
    Status.IN: pb.PLAYER_STATUS_IN,
    Status.ALL_IN: pb.PLAYER_STATUS_ALL_IN,
    Status.FOLDED: pb.PLAYER_STATUS_FOLDED,
}


def public_view(state: TableState) -> pb.PublicView:
    """Everything public about the table."""
    hand = state.hand
    stacks = {} if hand is None else hand.stacks
    return pb.PublicView(
        table_id=state.table_id,
        name=state.name,
        stakes=state.stakes,
        version=state.version,
        seats=[seat_view(state, seat, stacks.get(number, seat.stack)) for number, seat in sorted(state.seats.items())],
        hand=state.last_hand if hand is None else hand_view(state, hand),
        next_deal_at=timestamp(state.next_deal_ms) if state.next_deal_ms else None,
    )


def seat_view(state: TableState, seat: Seat, stack: int) -> pb.SeatView:
    """An occupied seat; `stack` are the chips behind."""
    return pb.SeatView(
        seat=seat.number,
        player_id=seat.player_id,
        display_name=seat.display_name,
        stack=stack,
        status=state.status_of(seat),
        time_bank_left_ms=seat.time_bank_ms,
        connected=seat.connected,
    )


def hand_view(state: TableState, hand: Hand) -> pb.HandView:
    """A hand as everyone sees it."""
    config = hand.config
    shown = hand.face_up
    hole_cards = config.game.rules.hole_cards
    mucked = hand.result.mucked if hand.result is not None else ()
    return pb.HandView(
        hand_number=state.hand_number,
        button_seat=config.button,
        small_blind_seat=config.small_blind_seat or 0,
        big_blind_seat=config.big_blind_seat,
        street=STREETS[hand.street],
        board=text(hand.board),
        pots=[pb.PotView(amount=pot.amount, eligible_seats=sorted(pot.eligible)) for pot in hand.pots()],
        players=[
            pb.HandPlayer(
                seat=seat,
                street_total=hand.street_contribution(seat),
                hand_total=hand.contribution(seat),
                status=pb.PLAYER_STATUS_FOLDED if seat in mucked else _STATUSES[hand.status(seat)],
                shown_cards=text(shown[seat]) if seat in shown else "",
                hole_card_count=hole_cards,
            )
            for seat, _ in config.seats
        ],
        turn=None if state.turn is None else state.turn.view,
        is_over=hand.is_over,
    )


def void_hand_view(state: TableState, hand: Hand) -> pb.HandView:
    """A hand that is void, as everyone sees it: who was dealt in, and the places (14.4)."""
    config = hand.config
    return pb.HandView(
        hand_number=state.hand_number,
        button_seat=config.button,
        small_blind_seat=config.small_blind_seat or 0,
        big_blind_seat=config.big_blind_seat,
        players=[pb.HandPlayer(seat=seat) for seat, _ in config.seats],
        is_over=True,
        is_void=True,
    )
