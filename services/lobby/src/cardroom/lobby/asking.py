"""What callers and their requests say, as far as every method reads it alike: ids, checked."""

from __future__ import annotations

from uuid import UUID

from cardroom.chassis import auth
from cardroom.chassis import errors as answers
from cardroom.lobby.answering import answer
from cardroom.lobby.domain import refusals


def uuid_or_none(text: str) -> str | None:
    """Return the UUID that the text is, in its usual form, or None."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def table_id(text: str) -> str:
    """Return a table's id. Raises NOT_FOUND/TABLE_UNKNOWN: what is no UUID names no table."""
    known = uuid_or_none(text)
    if known is None:
        raise answer(refusals.invalid_table_id(text))
    return known


def request_id(text: str) -> str:
    """Return the key of a write. Raises INVALID_ARGUMENT/REQUEST_ID_MISSING."""
    known = uuid_or_none(text)
    if known is None:
        raise answer(refusals.request_id_missing(text))
    return known


def player_id(caller: auth.Caller) -> str:
    """Return the player who calls. Raises PERMISSION_DENIED/NOT_A_PLAYER."""
    known = uuid_or_none(caller.player_id)
    if known is None:
        raise answers.PermissionDenied("NOT_A_PLAYER", f"{caller.player_id[:80]!r} is no player's id: a UUID would be")
    return known
