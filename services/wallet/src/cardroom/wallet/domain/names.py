"""Readable account names, and what they say: kind, currency, player, table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from cardroom.wallet.errors import Refused

PLAY: Final = "PLAY"
LEAGUE_PREFIX: Final = "LEAGUE/"
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID_ONLY: Final = re.compile(_UUID)
_CURRENCY: Final = rf"(?P<play>play)|league/(?P<game>{_UUID})"
_NAME: Final = re.compile(
    rf"player/(?P<player>{_UUID})/(?:{_CURRENCY})"
    rf"|escrow/(?P<table>{_UUID})/(?P<seated>{_UUID})"
    rf"|house/(?P<house>[a-z0-9.-]{{1,40}})/(?:{_CURRENCY.replace('<play>', '<play2>').replace('<game>', '<game2>')})"
    rf"|(?P<source>grants|adjustments)/(?:{_CURRENCY.replace('<play>', '<play3>').replace('<game>', '<game3>')})"
)
FORMS: Final = (
    "player/<id>/play, player/<id>/league/<game>, escrow/<table>/<player>, house/<name>/play or"
    " house/<name>/league/<game>, with ids as lower-case UUIDs"
)


class Kind(StrEnum):
    """What an account is for."""

    PLAYER = "player"
    ESCROW = "escrow"
    HOUSE = "house"
    GRANTS = "grants"
    ADJUSTMENTS = "adjustments"


@dataclass(frozen=True, slots=True)
class AccountName:
    """A well-formed account name. An escrow's currency is its table's, so the name alone does not tell it."""

    text: str
    kind: Kind
    currency: str | None
    player_id: str | None = None
    table_id: str | None = None

    @property
    def is_source(self) -> bool:
        """Whether chips are made here; only these accounts go below zero."""
        return self.kind in (Kind.GRANTS, Kind.ADJUSTMENTS)


@lru_cache(maxsize=65536)
def parse(text: str, field: str = "account") -> AccountName:
    """Return what an account name says. Raises Refused ACCOUNT_INVALID."""
    found = _NAME.fullmatch(text)
    if found is None:
        raise Refused(
            "ACCOUNT_INVALID", f"{field} is {text[:120]!r}, not one of {FORMS}", field=field, account=text[:120]
        )
    part = found.groupdict()
    game = part["game"] or part["game2"] or part["game3"]
    currency = f"{LEAGUE_PREFIX}{game}" if game else PLAY
    if part["player"]:
        return AccountName(text, Kind.PLAYER, currency, player_id=part["player"])
    if part["table"]:
        return AccountName(text, Kind.ESCROW, None, player_id=part["seated"], table_id=part["table"])
    if part["house"]:
        return AccountName(text, Kind.HOUSE, currency)
    return AccountName(text, Kind(part["source"]), currency)


def is_uuid(text: str) -> bool:
    """Return whether it is a lower-case UUID with dashes."""
    return _UUID_ONLY.fullmatch(text) is not None


def check_uuid(text: str, field: str) -> str:
    """Return the id. Raises Refused FIELD_INVALID unless it is a lower-case UUID."""
    if not is_uuid(text):
        raise Refused("FIELD_INVALID", f"{field} is {text[:80]!r}, not a lower-case UUID", field=field)
    return text


def check_currency(text: str, field: str = "currency") -> str:
    """Return the currency, `PLAY` for an empty text. Raises Refused FIELD_INVALID."""
    if text in ("", PLAY):
        return PLAY
    if text.startswith(LEAGUE_PREFIX) and is_uuid(text.removeprefix(LEAGUE_PREFIX)):
        return text
    raise Refused("FIELD_INVALID", f"{field} is {text[:80]!r}, neither PLAY nor LEAGUE/<game id>", field=field)


def league(game_id: str) -> str:
    """Return the currency of a private game."""
    return f"{LEAGUE_PREFIX}{game_id}"


def _tail(currency: str) -> str:
    return "play" if currency == PLAY else "league/" + currency.removeprefix(LEAGUE_PREFIX)


def player_account(player_id: str, currency: str = PLAY) -> str:
    """Return the name of a player's account."""
    return f"player/{player_id}/{_tail(currency)}"


def escrow_account(table_id: str, player_id: str) -> str:
    """Return the name of the account of what a player has at a table."""
    return f"escrow/{table_id}/{player_id}"


def grants_account(currency: str) -> str:
    """Return the name of the account that grants come from."""
    return f"grants/{_tail(currency)}"


def adjustments_account(currency: str) -> str:
    """Return the name of the account on the other side of corrections."""
    return f"adjustments/{_tail(currency)}"
