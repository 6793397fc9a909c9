"""Events as JSON, for records that outlive a release.

One object an event: `{"event": "ActionTaken", "seat": 3, "kind": "call", …}`; cards as text, kinds by their names.
Fields may be added in later releases, with a default; none is ever renamed or dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, get_args

from cardroom.engine import cards
from cardroom.engine import events as ev
from cardroom.engine.actions import ActionKind
from cardroom.engine.config import BlindKind, HandConfig, Post
from cardroom.engine.errors import HistoryMismatch
from cardroom.engine.games import Game, Street

__all__ = ["decode", "dump_lines", "encode", "load_lines"]

_KINDS: Mapping[str, Any] = {kind.__name__: kind for kind in (*get_args(ev.PublicEvent), ev.HoleCardsGiven)}
_ENUMS: Mapping[tuple[str, str], type[Enum]] = {
    ("ActionTaken", "kind"): ActionKind,
    ("BlindPosted", "kind"): BlindKind,
    ("StreetDealt", "street"): Street,
}


def encode(event: ev.Event) -> dict[str, Any]:
    """An event as a JSON object."""
    row = {field.name: getattr(event, field.name) for field in fields(event)}
    return {"event": type(event).__name__, **{name: _plain(name, value) for name, value in row.items()}}


def decode(row: Mapping[str, Any]) -> ev.Event:
    """The event of a JSON object. Raises HistoryMismatch for what is none."""
    try:
        kind = _KINDS[row["event"]]
        values = {name: _rich(kind.__name__, name, value) for name, value in row.items() if name != "event"}
        event: ev.Event = kind(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise HistoryMismatch(f"{row!r:.120} is not an event of a hand: {error!r}") from None
    return event


def dump_lines(events: Iterable[ev.Event]) -> str:
    """Events as JSON lines."""
    return "".join([json.dumps(encode(event)) + "\n" for event in events])


def load_lines(lines: Iterable[str]) -> Iterator[list[ev.Event]]:
    """The events of each hand in JSON lines; a hand begins with HandStarted."""
    hand: list[ev.Event] = []
    for line in lines:
        if not line.strip():
            continue
        try:
            event = decode(json.loads(line))
        except ValueError:
            raise HistoryMismatch(f"{line.strip():.120} is not JSON") from None
        if isinstance(event, ev.HandStarted) and hand:
            yield hand
            hand = []
        hand.append(event)
    if hand:
        yield hand


def _plain(name: str, value: Any) -> Any:
    if name == "cards":
        return cards.text(value)
    if name == "hands":
        return [[seat, cards.text(hand)] for seat, hand in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, HandConfig):
        row = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        posts = [[post.seat, post.kind.value, post.amount] for post in value.posts]
        return {**row, "game": value.game.value, "posts": posts}
    return value


def _rich(kind: str, name: str, value: Any) -> Any:
    if name == "cards":
        return cards.parse(value)
    if name == "hands":
        return tuple([(seat, cards.parse(hand)) for seat, hand in value])
    if name == "config":
        posts = tuple([Post(seat, BlindKind(post), amount) for seat, post, amount in value["posts"]])
        seats = tuple([(seat, stack) for seat, stack in value["seats"]])
        return HandConfig(**{**value, "game": Game(value["game"]), "posts": posts, "seats": seats})
    if (kind, name) in _ENUMS:
        return _ENUMS[kind, name](value)
    if isinstance(value, list):
        return tuple([tuple(item) if isinstance(item, list) else item for item in value])
    return value
