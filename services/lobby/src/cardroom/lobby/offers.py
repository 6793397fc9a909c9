"""Tables on offer: listing them, opening them, closing them."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace
from typing import Final
from uuid import UUID

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.tables import Offer, Stakes, Table, TableState, checked_name, checked_stakes
from cardroom.lobby.errands import Errands
from cardroom.lobby.errors import NotNow, Refused
from cardroom.lobby.store import TableStore

PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 100
PAGE_TOKEN_CHARS_MAX: Final = 1000
PATIENCE_SECONDS: Final = 5.0

Key = tuple[int, str, str]


class Offers:
    """What players see of the tables, and what operators do with them."""

    def __init__(self, store: TableStore, errands: Errands[Table], games: frozenset[int]) -> None:
        self._store = store
        self._errands = errands
        self._games = games

    async def page(self, size: int, token: str) -> tuple[list[Offer], str]:
        """Return open tables by small blind and name, and the token of the next page. Raises Refused."""
        if not 0 <= size <= PAGE_MAX:
            raise Refused(refusals.invalid_page_size(size, PAGE_MAX))
        limit = size or PAGE_DEFAULT
        offers = await self._store.offers(limit + 1, read_token(token) if token else None)
        more = len(offers) > limit
        return offers[:limit], write_token(offers[limit - 1]) if more else ""

    async def one(self, table_id: str) -> Offer:
        """Return one open table. Raises Refused."""
        return await self._store.offer(table_id)

    async def create(self, table: Table) -> Offer:
        """Open a table; a repeat with the same request id gets the same one. Raises Refused or NotNow."""
        asked: Stakes = table.stakes
        sound = replace(table, name=checked_name(table.name), stakes=checked_stakes(asked, self._games))
        known = await self._store.add(sound, asked)
        if known.state is TableState.OPENING:
            await self._errands.run(known.table_id, PATIENCE_SECONDS)
            known = await self._store.read(known.table_id)
        if known.refusal is not None:
            raise Refused(known.refusal)
        if known.state is TableState.OPENING:
            raise NotNow(f"table {known.table_id} is written down and is opened as soon as the table service answers")
        if known.state is TableState.OPEN:
            return await self._store.offer(known.table_id)
        return Offer(known)

    async def close(self, table_id: str) -> None:
        """Close an empty table. Closed already: nothing changes. Raises Refused or NotNow."""
        table = await self._store.begin_closing(table_id)
        if table.state is TableState.CLOSED:
            return
        await self._errands.run(table_id, PATIENCE_SECONDS)
        state = (await self._store.read(table_id)).state
        if state is TableState.OPEN:
            raise Refused(refusals.table_occupied(table_id))
        if state is not TableState.CLOSED:
            raise NotNow(f"table {table_id} is off the offer and is closed as soon as the table service answers")


def write_token(last: Offer) -> str:
    """Return the token for the page after this table."""
    key = [last.table.stakes.small_blind, last.table.name, last.table.table_id]
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def read_token(token: str) -> Key:
    """Return the key that a token stands for. Raises Refused."""
    if len(token) > PAGE_TOKEN_CHARS_MAX:
        raise Refused(refusals.invalid_page_token())
    try:
        blind, name, table_id = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        if isinstance(blind, int) and 0 <= blind < 2**63 and isinstance(name, str) and "\0" not in name:
            return blind, name, str(UUID(table_id))
    except (ValueError, TypeError, AttributeError, binascii.Error, RecursionError):
        pass
    raise Refused(refusals.invalid_page_token())
