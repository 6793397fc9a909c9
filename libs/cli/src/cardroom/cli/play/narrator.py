"""A table's events as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cardroom.client import Update
from cardroom.contracts.table.v1 import view_pb2 as pb

_SUITS: Final = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
_POSTS: Final = {
    pb.POST_KIND_SMALL_BLIND: "the small blind",
    pb.POST_KIND_BIG_BLIND: "the big blind",
    pb.POST_KIND_ANTE: "an ante of",
    pb.POST_KIND_MISSED_LIVE: "a missed big blind,",
    pb.POST_KIND_MISSED_DEAD: "a missed small blind,",
}
_CAUSES: Final = {pb.ACTION_CAUSE_TIMEOUT: " (out of time)", pb.ACTION_CAUSE_ABSENT: " (away)"}
_STATUSES: Final = {
    pb.SEAT_STATUS_PLAYING: "plays",
    pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND: "waits for the big blind",
    pb.SEAT_STATUS_SITTING_OUT: "sits out",
    pb.SEAT_STATUS_LEAVING: "leaves after this hand",
}
_REASONS: Final = {
    pb.STATUS_REASON_TIMEOUTS: " after two timeouts",
    pb.STATUS_REASON_CONNECTION_LOST: ": the connection was lost",
    pb.STATUS_REASON_OUT_OF_CHIPS: ": no chips left",
}
STREETS: Final = {
    pb.STREET_PREFLOP: "Preflop",
    pb.STREET_FLOP: "Flop",
    pb.STREET_TURN: "Turn",
    pb.STREET_RIVER: "River",
}


def pretty(cards: str) -> str:
    """`"AhTd"` as `A♥ T♦`."""
    return " ".join(cards[at] + _SUITS.get(cards[at + 1], "?") for at in range(0, len(cards) - 1, 2))


class Narrator:
    """Tells what happens. It remembers names, because who has left is no longer in the view."""

    def __init__(self) -> None:
        """Knows nobody yet."""
        self._names: dict[int, str] = {}
        self._has_wager = False
        self._turn = pb.TurnView()

    def lines(self, view: pb.PublicView, update: Update) -> list[str]:
        """Sentences for an update; `view` is the one after it."""
        self._names.update({seat.seat: seat.display_name for seat in view.seats})
        self._turn = view.hand.turn
        if update.is_snapshot:
            self._has_wager = any(player.street_total for player in view.hand.players)
        return [line for event in update.events for line in self._tell(event)]

    def _name(self, seat: int) -> str:
        return self._names.get(seat) or f"Seat {seat}"

    def _tell(self, event: pb.TableEvent) -> Iterator[str]:
        kind = event.WhichOneof("event")
        if kind == "hand_started":
            self._has_wager = True
            yield f"Hand {event.hand_started.hand_number} begins."
        elif kind == "posted":
            yield f"{self._name(event.posted.seat)} posts {_POSTS.get(event.posted.kind, '')} {event.posted.amount:,}."
        elif kind == "action_taken":
            yield self._action(event.action_taken)
        elif kind == "street_dealt":
            self._has_wager = False
            yield f"{STREETS.get(event.street_dealt.street, '')}: {pretty(event.street_dealt.cards)}"
        elif kind == "hand_ended" and event.hand_ended.is_void:
            yield "The hand could not be completed and is void: every chip put in is back."
        elif kind == "hand_ended" and not event.hand_ended.had_showdown:
            yield "The hand is over."
        else:
            yield from self._tell_of_chips_and_cards(event)

    def _tell_of_chips_and_cards(self, event: pb.TableEvent) -> Iterator[str]:
        kind = event.WhichOneof("event")
        if kind == "uncalled_returned":
            returned = event.uncalled_returned
            yield f"{returned.amount:,} go back to {self._name(returned.seat)}, uncalled."
        elif kind == "cards_shown":
            yield f"{self._name(event.cards_shown.seat)} shows {pretty(event.cards_shown.cards)}."
        elif kind == "cards_mucked":
            yield f"{self._name(event.cards_mucked.seat)} mucks."
        elif kind == "pot_awarded":
            pot = "the pot" if event.pot_awarded.pot_index == 0 else f"side pot {event.pot_awarded.pot_index}"
            for win in event.pot_awarded.wins:
                yield f"{self._name(win.seat)} wins {win.amount:,} from {pot}."
        else:
            yield from self._tell_of_seats(event)

    def _tell_of_seats(self, event: pb.TableEvent) -> Iterator[str]:
        kind = event.WhichOneof("event")
        if kind == "player_seated":
            seat = event.player_seated.seat
            yield f"{seat.display_name} sits down on seat {seat.seat} with {seat.stack:,}."
        elif kind == "player_left":
            yield f"{self._name(event.player_left.seat)} leaves."
        elif kind == "seat_status_changed":
            changed = event.seat_status_changed
            why = _REASONS.get(changed.reason, "")
            yield f"{self._name(changed.seat)} {_STATUSES.get(changed.status, 'is away')}{why}."
        elif kind == "time_bank_started":
            yield self._bank(event.time_bank_started)

    def _bank(self, started: pb.TimeBankStarted) -> str:
        left = f": {self._turn.time_bank_left_ms / 1000:.0f} s are left" if self._turn.token == started.token else ""
        return f"{self._name(started.seat)}'s time bank runs{left}."

    def _action(self, taken: pb.ActionTaken) -> str:
        name = self._name(taken.seat)
        if taken.kind == pb.ACTION_KIND_FOLD:
            did = "folds"
        elif taken.kind == pb.ACTION_KIND_CHECK:
            did = "checks"
        elif taken.kind == pb.ACTION_KIND_CALL:
            did = f"calls {taken.added:,}"
        else:
            did = f"{'raises to' if self._has_wager else 'bets'} {taken.street_total:,}"
            self._has_wager = True
        all_in = " and is all-in" if taken.is_all_in else ""
        return f"{name} {did}{all_in}{_CAUSES.get(taken.cause, '')}."
