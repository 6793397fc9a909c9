"""The public view of a table, kept up to date by its events. Pure: no I/O, no clock.

`apply_change(view, version, events)` turns the view at one version into the view at the next, exactly as the server's
own snapshot at that version would say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from cardroom.client.pots import pots_of
from cardroom.contracts.table.v1.view_pb2 import (
    ACTION_KIND_FOLD,
    PLAYER_STATUS_ALL_IN,
    PLAYER_STATUS_FOLDED,
    PLAYER_STATUS_IN,
    POST_KIND_ANTE,
    POST_KIND_MISSED_DEAD,
    STREET_PREFLOP,
    ActionTaken,
    CardsMucked,
    CardsShown,
    ConnectionChanged,
    HandEnded,
    HandPlayer,
    HandStarted,
    HandView,
    HoleCardsDealt,
    NextDealScheduled,
    PlayerLeft,
    PlayerSeated,
    Posted,
    PotAwarded,
    PublicView,
    SeatStatusChanged,
    SeatView,
    StackChanged,
    StreetDealt,
    TableEvent,
    TimeBankChanged,
    TimeBankStarted,
    TurnView,
    UncalledReturned,
)


class VersionGapError(Exception):
    """A change does not follow the view's version: something was missed, and a new snapshot is needed."""


def apply_change(view: PublicView, version: int, events: Iterable[TableEvent]) -> None:
    """Moves the view on by one version, in place. Raises VersionGapError, changing nothing, for any other version."""
    if version != view.version + 1:
        raise VersionGapError(f"The view is at version {view.version}; a change to version {version} does not follow.")
    for event in events:
        apply(view, event)
    view.version = version


def apply(view: PublicView, event: TableEvent) -> None:
    """Applies one event, in place. Events of a kind not known to this release are left out."""
    kind = event.WhichOneof("event")
    if kind is not None:
        _APPLY[kind](view, getattr(event, kind))


def seat_of(view: PublicView, seat: int) -> SeatView | None:
    """The occupied seat with that number."""
    return next((occupied for occupied in view.seats if occupied.seat == seat), None)


def seat_of_player(view: PublicView, player_id: str) -> SeatView | None:
    """The seat where that player sits."""
    return next((occupied for occupied in view.seats if occupied.player_id == player_id), None)


def hand_player(view: PublicView, seat: int) -> HandPlayer | None:
    """The player dealt into the running or last hand on that seat."""
    return next((player for player in view.hand.players if player.seat == seat), None)


def pot_total(view: PublicView) -> int:
    """Every chip in the pots, wagers of the running street included."""
    return sum(pot.amount for pot in view.hand.pots)


def _hand_started(view: PublicView, event: HandStarted) -> None:
    view.ClearField("next_deal_at")
    view.hand.CopyFrom(
        HandView(
            hand_number=event.hand_number,
            button_seat=event.button_seat,
            small_blind_seat=event.small_blind_seat,
            big_blind_seat=event.big_blind_seat,
            street=STREET_PREFLOP,
            players=[HandPlayer(seat=dealt_in.seat, status=PLAYER_STATUS_IN) for dealt_in in event.players],
        )
    )
    for dealt_in in event.players:
        _set_stack(view, dealt_in.seat, dealt_in.stack)


def _posted(view: PublicView, event: Posted) -> None:
    is_dead = event.kind in {POST_KIND_ANTE, POST_KIND_MISSED_DEAD}
    _put_in(view, event.seat, event.amount, 0 if is_dead else event.amount)


def _hole_cards_dealt(view: PublicView, event: HoleCardsDealt) -> None:
    player = hand_player(view, event.seat)
    if player is not None:
        player.hole_card_count += event.count


def _turn_started(view: PublicView, event: TurnView) -> None:
    view.hand.turn.CopyFrom(event)


def _action_taken(view: PublicView, event: ActionTaken) -> None:
    view.hand.ClearField("turn")
    player = hand_player(view, event.seat)
    if player is None:
        return
    if event.kind == ACTION_KIND_FOLD:
        player.status = PLAYER_STATUS_FOLDED
        _count_pots(view)
        return
    _put_in(view, event.seat, event.added, event.street_total - player.street_total)


def _street_dealt(view: PublicView, event: StreetDealt) -> None:
    hand = view.hand
    hand.ClearField("turn")
    hand.street = event.street
    hand.board += event.cards
    for player in hand.players:
        player.street_total = 0


def _uncalled_returned(view: PublicView, event: UncalledReturned) -> None:
    _put_in(view, event.seat, -event.amount, -event.amount)


def _cards_shown(view: PublicView, event: CardsShown) -> None:
    player = hand_player(view, event.seat)
    if player is not None:
        player.shown_cards = event.cards


def _cards_mucked(view: PublicView, event: CardsMucked) -> None:
    player = hand_player(view, event.seat)
    if player is not None:
        player.status = PLAYER_STATUS_FOLDED


def _pot_awarded(view: PublicView, event: PotAwarded) -> None:
    if event.pot_index == len(view.hand.pots):
        # Everything went back uncalled: an empty pot is won all the same.
        view.hand.pots.add(amount=event.amount, eligible_seats=[win.seat for win in event.wins])
    for win in event.wins:
        seat = seat_of(view, win.seat)
        if seat is not None:
            seat.stack += win.amount
            _judge_all_in(view, seat)


def _hand_ended(view: PublicView, event: HandEnded) -> None:
    view.hand.ClearField("turn")
    view.hand.is_over = True
    if event.is_void:
        _void_hand(view.hand)
    for outcome in event.outcomes:
        seat = _set_stack(view, outcome.seat, outcome.stack)
        if seat is not None and not event.is_void:
            _judge_all_in(view, seat)


def _void_hand(hand: HandView) -> None:
    """Nothing stays of it but its number, who was dealt in, and where button and blinds were (rule 14.4)."""
    hand.CopyFrom(
        HandView(
            hand_number=hand.hand_number,
            button_seat=hand.button_seat,
            small_blind_seat=hand.small_blind_seat,
            big_blind_seat=hand.big_blind_seat,
            players=[HandPlayer(seat=player.seat) for player in hand.players],
            is_over=True,
            is_void=True,
        )
    )


def _time_bank_started(view: PublicView, event: TimeBankStarted) -> None:
    if view.hand.HasField("turn") and view.hand.turn.token == event.token:
        view.hand.turn.bank_deadline.CopyFrom(event.bank_deadline)


def _time_bank_changed(view: PublicView, event: TimeBankChanged) -> None:
    seat = seat_of(view, event.seat)
    if seat is not None:
        seat.time_bank_left_ms = event.time_bank_left_ms
    turn = view.hand.turn
    if view.hand.HasField("turn") and turn.seat == event.seat and not turn.HasField("bank_deadline"):
        turn.time_bank_left_ms = event.time_bank_left_ms


def _player_seated(view: PublicView, event: PlayerSeated) -> None:
    seats = [seat for seat in view.seats if seat.seat != event.seat.seat]
    seats.append(event.seat)
    seats.sort(key=lambda seat: seat.seat)
    _replace_seats(view, seats)


def _player_left(view: PublicView, event: PlayerLeft) -> None:
    _replace_seats(view, [seat for seat in view.seats if seat.seat != event.seat])


def _seat_status_changed(view: PublicView, event: SeatStatusChanged) -> None:
    seat = seat_of(view, event.seat)
    if seat is not None:
        seat.status = event.status


def _connection_changed(view: PublicView, event: ConnectionChanged) -> None:
    seat = seat_of(view, event.seat)
    if seat is not None:
        seat.connected = event.connected


def _stack_changed(view: PublicView, event: StackChanged) -> None:
    _set_stack(view, event.seat, event.stack)


def _next_deal_scheduled(view: PublicView, event: NextDealScheduled) -> None:
    if event.HasField("at"):
        view.next_deal_at.CopyFrom(event.at)
    else:
        view.ClearField("next_deal_at")


def _put_in(view: PublicView, seat_number: int, added: int, added_to_street: int) -> None:
    """Moves chips from a stack into the pots; negative amounts go back."""
    player = hand_player(view, seat_number)
    seat = seat_of(view, seat_number)
    if player is None or seat is None:
        return
    seat.stack -= added
    player.hand_total += added
    player.street_total += added_to_street
    _judge_all_in(view, seat)
    _count_pots(view)


def _judge_all_in(view: PublicView, seat: SeatView) -> None:
    """All-in is who has no chips behind: also again and no longer, when chips come back."""
    player = hand_player(view, seat.seat)
    if player is not None and player.status != PLAYER_STATUS_FOLDED:
        player.status = PLAYER_STATUS_IN if seat.stack else PLAYER_STATUS_ALL_IN


def _count_pots(view: PublicView) -> None:
    pots = pots_of(view.hand.players)
    del view.hand.pots[:]
    view.hand.pots.extend(pots)


def _set_stack(view: PublicView, seat_number: int, stack: int) -> SeatView | None:
    seat = seat_of(view, seat_number)
    if seat is not None:
        seat.stack = stack
    return seat


def _replace_seats(view: PublicView, seats: list[SeatView]) -> None:
    copies = [SeatView.FromString(seat.SerializeToString()) for seat in seats]
    del view.seats[:]
    view.seats.extend(copies)


# The oneof's field names; each handler takes that field's message.
_APPLY: Final[dict[str, Callable[[PublicView, Any], None]]] = {
    "hand_started": _hand_started,
    "posted": _posted,
    "hole_cards_dealt": _hole_cards_dealt,
    "turn_started": _turn_started,
    "action_taken": _action_taken,
    "street_dealt": _street_dealt,
    "uncalled_returned": _uncalled_returned,
    "cards_shown": _cards_shown,
    "cards_mucked": _cards_mucked,
    "pot_awarded": _pot_awarded,
    "hand_ended": _hand_ended,
    "time_bank_started": _time_bank_started,
    "time_bank_changed": _time_bank_changed,
    "player_seated": _player_seated,
    "player_left": _player_left,
    "seat_status_changed": _seat_status_changed,
    "connection_changed": _connection_changed,
    "stack_changed": _stack_changed,
    "next_deal_scheduled": _next_deal_scheduled,
}
