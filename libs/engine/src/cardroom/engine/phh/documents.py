"""PHH documents: TOML text to hands and back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from cardroom.engine.errors import PhhError, PhhHalfChips, PhhUnsupported

__all__ = ["PhhHand", "dumps", "loads", "read"]


@dataclass(frozen=True, slots=True)
class PhhHand:
    """One hand as recorded. Lists are by player, p1 first; between two players p1 has the big blind."""

    label: str | int | None
    """The section in a `.phhs` document, the field `hand` in a `.phh` document."""
    variant: str
    ante_trimming: bool
    """False: antes are main-pot money. True: an all-in player can win only as much ante as they paid (8.1)."""
    antes: tuple[int, ...]
    blinds: tuple[int, ...]
    """Blinds and straddles, the small blind first between two players too. Negative: a missed blind, posted live."""
    min_bet: int
    stacks: tuple[int, ...]
    actions: tuple[str, ...]
    finishing_stacks: tuple[int, ...] | None
    small_blind: int | None
    """The nominal small blind where it is dead: the user-defined field `_small_blind`."""

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], label: str | int | None = None) -> PhhHand:
        """Check the fields of a hand. Raises PhhError, or PhhUnsupported for what the engine does not play."""
        variant = fields.get("variant")
        if variant not in ("NT", "PO"):
            raise PhhUnsupported(f"variant {variant!r}: only NT and PO are played here")
        try:
            stacks, actions = fields["starting_stacks"], fields["actions"]
            antes, blinds, min_bet = fields["antes"], fields["blinds_or_straddles"], fields["min_bet"]
        except KeyError as error:
            raise PhhError(f"the field {error.args[0]!r} is missing") from None
        finishing, small = fields.get("finishing_stacks"), fields.get("_small_blind")
        if not isinstance(actions, list) or not set(map(type, actions)) <= {str}:
            raise PhhError(f"actions {actions!r:.60}: a list of texts is expected")
        hand = cls(
            label=label if label is not None else fields.get("hand"),
            variant=variant,
            ante_trimming=bool(fields.get("ante_trimming_status", False)),
            antes=_chips("antes", antes),
            blinds=_chips("blinds_or_straddles", blinds),
            min_bet=_chips("min_bet", [min_bet])[0],
            stacks=_chips("starting_stacks", stacks),
            actions=tuple(actions),
            finishing_stacks=None if finishing is None else _chips("finishing_stacks", finishing),
            small_blind=None if small is None else _chips("_small_blind", [small])[0],
        )
        count = len(hand.stacks)
        lengths = (len(hand.antes), len(hand.blinds), count if finishing is None else len(finishing))
        if lengths != (count, count, count):
            raise PhhError(f"{count} starting stacks, but {lengths} antes, blinds and finishing stacks")
        return hand


def _chips(name: str, values: Any) -> tuple[int, ...]:
    """Whole chips. A record in fractions of a chip is another unit of account: told apart, never rounded."""
    if not isinstance(values, list):
        raise PhhError(f"{name} {values!r}: a list of chips is expected")
    kinds = set(map(type, values))
    if kinds <= {int}:
        return tuple(values)
    if not kinds <= {int, float} or not all(map(isfinite, values)):
        raise PhhError(f"{name} {values}: chips are numbers")
    if any(value != int(value) for value in values):
        raise PhhHalfChips(f"{name} {values} holds parts of a chip; chips are whole here")
    return tuple([int(value) for value in values])


def read(path: str | Path) -> Iterator[tuple[str | int | None, PhhHand | PhhError]]:
    """The hands of a file with their labels; in place of a hand that cannot be read, the reason.

    Raises PhhError when the file is not PHH at all, OSError when it cannot be opened.
    """
    try:
        document = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PhhError(f"{path} is not UTF-8 text: {error}") from None
    return loads(document)


def loads(document: str) -> Iterator[tuple[str | int | None, PhhHand | PhhError]]:
    """The hands of a `.phh` or `.phhs` document; like `read`."""
    for label, fields in _sections(document):
        try:
            yield label, PhhHand.from_fields(fields, label)
        except PhhError as error:
            yield label, error


_HEADER = re.compile(r"^\[([0-9A-Za-z_-]+)\][ \t]*$", re.MULTILINE)
_PLAIN_LINE = re.compile(r"([A-Za-z0-9_-]+) *= *(.+?)\s*$")


def _sections(document: str) -> Iterable[tuple[str | int | None, Mapping[str, Any]]]:
    pieces = _HEADER.split(document)
    labels = pieces[1::2]
    plain = None
    if labels and not pieces[0].strip() and len(set(labels)) == len(labels):
        plain = [_plain_fields(body) for body in pieces[2::2]]
    if plain is not None and None not in plain:
        return [(_label(name), fields) for name, fields in zip(labels, plain, strict=True) if fields is not None]
    try:
        table = tomllib.loads(document)
    except tomllib.TOMLDecodeError as error:
        raise PhhError(f"not a PHH document: {error}") from None
    if "variant" in table or "actions" in table or not table:
        return [(table.get("hand"), table)]
    return [(_label(name), fields if isinstance(fields, dict) else {}) for name, fields in table.items()]


def _label(name: str) -> str | int:
    return int(name) if name.isdecimal() else name


def _plain_fields(body: str) -> dict[str, Any] | None:
    """The fields of a hand in the plain form that PHH writers write: one a line, in literals TOML and JSON share.

    None for anything else, which is left to the TOML reader: that takes ten times as long.
    """
    if '"' in body or "\\" in body or "#" in body or "null" in body:
        return None
    lines = body.split("\n")
    rows = [line.partition(" = ") for line in lines if line]
    try:
        text = ",".join([f'"{key}":{value}' for key, _, value in rows])
        fields = json.loads("{" + text.replace("'", '"') + "}")
    except ValueError:
        return None
    if len(fields) != len(rows):
        return None
    result: dict[str, Any] = fields
    return result


def dumps(fields: Mapping[str, Any]) -> str:
    """One hand as PHH text, in the plain form. Texts must need no escaping."""
    return "".join([f"{key} = {_literal(value)}\n" for key, value in fields.items()])


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if "'" in value or not value.isprintable():
            raise PhhError(f"{value!r} cannot be written as a plain TOML text")
        return f"'{value}'"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([_literal(item) for item in value]) + "]"
    return str(value)
