"""A finished hand as PHH text that an independent reader replays to the same stacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cardroom.engine import events as ev
from cardroom.engine.actions import ActionKind
from cardroom.engine.cards import text
from cardroom.engine.config import BlindKind, HandConfig
from cardroom.engine.errors import PhhError, PhhUnsupported
from cardroom.engine.games import Game
from cardroom.engine.phh.documents import dumps

__all__ = ["export"]

_VARIANTS = {Game.NO_LIMIT_HOLDEM: "NT", Game.POT_LIMIT_OMAHA: "PO"}
_WORDS = {ActionKind.FOLD: "f", ActionKind.CHECK: "cc", ActionKind.CALL: "cc"}


def export(events: Iterable[ev.Event], *, players: Mapping[int, str] | None = None) -> str:
    """The events of a finished hand as a `.phh` document.

    Hole cards that the events do not give are written `????`: what a reader may see is decided by what is passed in
    (11.8). `players` are names by seat. Raises PhhError when the hand is not over, PhhUnsupported for posts that PHH
    cannot tell.
    """
    told = list(events)
    if not told or not isinstance(told[0], ev.HandStarted) or not isinstance(told[-1], ev.HandEnded):
        raise PhhError("only a finished hand can be exported: its events run from HandStarted to HandEnded")
    config = told[0].config
    order = config.order
    place = {seat: number for number, seat in enumerate(order)}
    starting, finishing = dict(config.seats), dict(told[-1].stacks)
    fields: dict[str, Any] = {"variant": _VARIANTS[config.game], "ante_trimming_status": not _has_dead_money(config)}
    fields["antes"] = _phh_order(_antes(config, place))
    fields["blinds_or_straddles"] = _phh_order(_blinds(config, place))
    fields["min_bet"] = config.min_bet
    fields["starting_stacks"] = [starting[seat] for seat in order]
    fields["actions"] = _actions(told, place)
    fields["finishing_stacks"] = [finishing[seat] for seat in order]
    fields["seats"] = list(order)
    if players is not None:
        fields["players"] = [players.get(seat, f"seat {seat}") for seat in order]
    fields["_small_blind"] = config.small_blind
    return dumps(fields)


def _has_dead_money(config: HandConfig) -> bool:
    return any(post.kind in (BlindKind.DEAD, BlindKind.DEAD_ANTE) for post in config.posts)


def _antes(config: HandConfig, place: Mapping[int, int]) -> list[int]:
    antes = [config.ante] * len(place)
    dead = _has_dead_money(config)
    if dead and config.ante and any(stack < config.ante for _, stack in config.seats):
        raise PhhUnsupported("PHH cannot tell a short ante beside dead money")
    for post in config.posts:
        if post.kind in (BlindKind.DEAD, BlindKind.DEAD_ANTE):
            antes[place[post.seat]] += post.amount
    return antes


def _blinds(config: HandConfig, place: Mapping[int, int]) -> list[int]:
    blinds = [0] * len(place)
    if config.small_blind_seat is not None:
        blinds[place[config.small_blind_seat]] = config.small_blind
    blinds[place[config.big_blind_seat]] = config.big_blind
    for post in config.posts:
        if post.kind in (BlindKind.LIVE, BlindKind.STRADDLE):
            if blinds[place[post.seat]]:
                raise PhhUnsupported(f"seat {post.seat} posts twice, which PHH cannot tell")
            blinds[place[post.seat]] = -post.amount if post.kind is BlindKind.LIVE else post.amount
    return blinds


def _phh_order(chips: list[int]) -> list[int]:
    return chips[::-1] if len(chips) == 2 else chips


def _actions(told: Iterable[ev.Event], place: Mapping[int, int]) -> list[str]:
    told = list(told)
    given = {event.seat: event.cards for event in told if isinstance(event, ev.HoleCardsGiven)}
    lines: list[str] = []
    for event in told:
        match event:
            case ev.HoleCardsDealt(seat, count):
                known = text(given[seat]) if seat in given else "??" * count
                lines.append(f"d dh p{place[seat] + 1} {known}")
            case ev.ActionTaken(seat, kind, total):
                lines.append(f"p{place[seat] + 1} {_WORDS.get(kind) or f'cbr {total}'}")
            case ev.StreetDealt(_, dealt):
                lines.append(f"d db {text(dealt)}")
            case ev.HandsTabled(hands):
                lines += [f"p{place[seat] + 1} sm {text(hole)}" for seat, hole in hands]
            case ev.HandShown(seat, hole):
                lines.append(f"p{place[seat] + 1} sm {text(hole)}")
            case ev.HandMucked(seat):
                lines.append(f"p{place[seat] + 1} sm")
            case _:
                pass
    return lines
