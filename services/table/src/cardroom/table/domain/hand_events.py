"""The engine's events in the words of the public contract. Private ones never pass through here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.engine import events as ev
from cardroom.engine.actions import ActionKind
from cardroom.engine.cards import text
from cardroom.engine.config import BlindKind
from cardroom.engine.games import Street
from cardroom.engine.legal import LegalActions

__all__ = ["STREETS", "legal_actions", "public"]

STREETS: Final = {
    Street.PREFLOP: pb.STREET_PREFLOP,
    Street.FLOP: pb.STREET_FLOP,
    Street.TURN: pb.STREET_TURN,
    Street.RIVER: pb.STREET_RIVER,
}
_POSTS: Final = {
    BlindKind.SMALL: pb.POST_KIND_SMALL_BLIND,
    BlindKind.BIG: pb.POST_KIND_BIG_BLIND,
    BlindKind.LIVE: pb.POST_KIND_MISSED_LIVE,
    BlindKind.DEAD: pb.POST_KIND_MISSED_DEAD,
}
_ACTIONS: Final = {
    ActionKind.FOLD: pb.ACTION_KIND_FOLD,
    ActionKind.CHECK: pb.ACTION_KIND_CHECK,
    ActionKind.CALL: pb.ACTION_KIND_CALL,
    ActionKind.BET: pb.ACTION_KIND_RAISE,
    ActionKind.RAISE: pb.ACTION_KIND_RAISE,
}


def public(events: Iterable[ev.Event], action_number: int, cause: pb.ActionCause.ValueType) -> Iterator[pb.TableEvent]:
    """What everyone may hear of `events`, in order.

    `action_number` and `cause` belong to the action among them, if there is one. A hand's start and end are told by the
    table, which knows the players and their stacks.
    """
    for event in events:
        told = _action(event, action_number, cause) if type(event) is ev.ActionTaken else _other(event)
        yield from told


def _action(event: ev.ActionTaken, action_number: int, cause: pb.ActionCause.ValueType) -> tuple[pb.TableEvent, ...]:
    taken = pb.ActionTaken(
        seat=event.seat,
        action_number=action_number,
        kind=_ACTIONS[event.kind],
        street_total=event.total,
        added=event.added,
        is_all_in=event.all_in,
        cause=cause,
    )
    return (pb.TableEvent(action_taken=taken),)


def _other(event: ev.Event) -> tuple[pb.TableEvent, ...]:  # noqa: PLR0911 - one line for each kind of event
    match event:
        case ev.AntePosted(seat, amount):
            return (_posted(seat, pb.POST_KIND_ANTE, amount),)
        case ev.BlindPosted(seat, kind, amount):
            return (_posted(seat, _POSTS[kind], amount),)
        case ev.HoleCardsDealt(seat, count):
            return (pb.TableEvent(hole_cards_dealt=pb.HoleCardsDealt(seat=seat, count=count)),)
        case ev.StreetDealt(street, cards):
            return (pb.TableEvent(street_dealt=pb.StreetDealt(street=STREETS[street], cards=text(cards))),)
        case ev.UncalledReturned(seat, amount):
            return (pb.TableEvent(uncalled_returned=pb.UncalledReturned(seat=seat, amount=amount)),)
        case ev.HandsTabled(hands):
            return tuple([_shown(seat, text(cards)) for seat, cards in hands])
        case ev.HandShown(seat, cards):
            return (_shown(seat, text(cards)),)
        case ev.HandMucked(seat):
            return (pb.TableEvent(cards_mucked=pb.CardsMucked(seat=seat)),)
        case ev.PotAwarded(pot, amount, _, wins):
            parts = [pb.PotAwarded.Win(seat=seat, amount=chips) for seat, chips in wins]
            return (pb.TableEvent(pot_awarded=pb.PotAwarded(pot_index=pot, amount=amount, wins=parts)),)
        case _:
            return ()


def _posted(seat: int, kind: pb.PostKind.ValueType, amount: int) -> pb.TableEvent:
    return pb.TableEvent(posted=pb.Posted(seat=seat, kind=kind, amount=amount))


def _shown(seat: int, cards: str) -> pb.TableEvent:
    return pb.TableEvent(cards_shown=pb.CardsShown(seat=seat, cards=cards))


def legal_actions(legal: LegalActions) -> pb.LegalActions:
    """What the actor may do (7.2)."""
    presets = legal.presets
    return pb.LegalActions(
        can_fold=legal.can_fold,
        can_check=legal.can_check,
        call_amount=legal.call_amount,
        raise_min=legal.raise_min,
        raise_max=legal.raise_max,
        is_bet=legal.is_bet,
        unit=legal.unit,
        preset_half_pot=None if presets is None else presets.half_pot,
        preset_three_quarter_pot=None if presets is None else presets.three_quarter_pot,
        preset_pot=None if presets is None else presets.pot,
        all_in_total=legal.all_in,
    )
