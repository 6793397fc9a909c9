"""A table's events as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cardroom.contracts.table.v1 import view_pb2 as v

_SUITS = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}
_STREETS = {v.STREET_FLOP: "flop", v.STREET_TURN: "turn", v.STREET_RIVER: "river"}


def cards(text: str) -> str:
    """`QhTd` as `Q♥ T♦`."""
    return " ".join(text[at] + _SUITS.get(text[at + 1], "?") for at in range(0, len(text), 2))


def sentences(view: v.PublicView, events: Sequence[v.TableEvent]) -> Iterator[str]:
    """What a commentator would say about `events`; `view` is the table after them."""
    names = {seat.seat: seat.display_name for seat in view.seats}
    for event in events:
        if (sentence := _sentence(event, view, names)) is not None:
            yield sentence


def _sentence(event: v.TableEvent, view: v.PublicView, names: dict[int, str]) -> str | None:  # noqa: PLR0911
    def who(seat: int) -> str:
        return names.get(seat, f"seat {seat}")

    match event.WhichOneof("event"):
        case "hand_started":
            return f"hand {event.hand_started.hand_number}"
        case "action_taken":
            return f"{who(event.action_taken.seat)} {_action(event.action_taken, view)}"
        case "street_dealt":
            street = event.street_dealt
            return f"{_STREETS.get(street.street, 'board')}: {cards(street.cards)}"
        case "cards_shown":
            return f"{who(event.cards_shown.seat)} shows {cards(event.cards_shown.cards)}"
        case "cards_mucked":
            return f"{who(event.cards_mucked.seat)} mucks"
        case "pot_awarded":
            return ", ".join(f"{who(win.seat)} wins {win.amount}" for win in event.pot_awarded.wins)
        case "player_seated":
            return f"{event.player_seated.seat.display_name} sits down with {event.player_seated.seat.stack}"
        case "player_left":
            return f"seat {event.player_left.seat} is free"
        case _:
            return None


def _action(action: v.ActionTaken, view: v.PublicView) -> str:
    late = " (time is up)" if action.cause == v.ACTION_CAUSE_TIMEOUT else ""
    if action.kind == v.ACTION_KIND_FOLD:
        return "folds" + late
    if action.kind == v.ACTION_KIND_CHECK:
        return "checks" + late
    all_in = ", all-in" if action.is_all_in else ""
    if action.kind == v.ACTION_KIND_CALL:
        return f"calls {action.added}{all_in}"
    # Whoever wagers where nobody else has yet bets.
    others = any(player.street_total for player in view.hand.players if player.seat != action.seat)
    return f"{'raises to' if others else 'bets'} {action.street_total}{all_in}"
