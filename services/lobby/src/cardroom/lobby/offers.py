"""Tables on offer: listing them, opening them, closing them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from cardroom.lobby.board import Board
from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.listing import Query
from cardroom.lobby.domain.tables import Offer, Stakes, Table, TableState, checked_name, checked_stakes
from cardroom.lobby.errands import Errands
from cardroom.lobby.errors import NotNow, Refused
from cardroom.lobby.store import TableStore

PATIENCE_SECONDS: Final = 5.0


class Offers:
    """What players see of the tables, and what operators do with them."""

    def __init__(self, store: TableStore, board: Board, errands: Errands[Table], games: frozenset[int]) -> None:
        self._store = store
        self._board = board
        self._errands = errands
        self._games = games

    async def page(self, query: Query) -> tuple[list[Offer], str]:
        """Return a page of open tables, and the token of the next one. Raises Refused."""
        await self._board.freshen()
        return query.page(self._board.offers.values())

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
