"""The list of tables on offer, live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from cardroom.client.connection import Connection
from cardroom.client.following import FollowedStream
from cardroom.client.view import VersionGapError
from cardroom.contracts.lobby.v1.lobby_pb2 import Table, TableFilter, WatchTablesRequest, WatchTablesResponse
from cardroom.contracts.lobby.v1.lobby_pb2_grpc import LobbyServiceStub


@dataclass(frozen=True, slots=True)
class ListUpdate:
    """One step of the list. The session's `tables` are already like this when you get it."""

    version: int
    """Counts the steps of one stream."""
    changed: Sequence[Table]
    """Tables that are new or have changed; all of them in a snapshot."""
    removed: Sequence[str]
    """Ids of tables that are no longer in the list; empty in a snapshot."""
    is_snapshot: bool
    """Whether the list was replaced as a whole: at the start, and after anything was missed."""


class LobbySession(FollowedStream[WatchTablesResponse, ListUpdate]):
    """The tables that a filter lets through, within a second of each change: iterate over it for updates."""

    def __init__(self, connection: Connection, wanted: TableFilter) -> None:
        """Opens nothing yet; iterating does."""
        super().__init__(connection)
        self._lobby = LobbyServiceStub(connection.channel)
        self._request = WatchTablesRequest(filter=wanted)
        self._version = 0
        self.tables: dict[str, Table] = {}
        """The tables by their ids, as last heard. Read it, do not change it."""

    @property
    def in_order(self) -> list[Table]:
        """The tables by small blind, then name, as ListTables has them."""
        return sorted(self.tables.values(), key=lambda table: (table.stakes.small_blind, table.name, table.table_id))

    async def _open_stream(self) -> grpc.aio.UnaryStreamCall[Any, WatchTablesResponse]:
        return await self._connection.open_stream(self._lobby.WatchTables, self._request)

    def _take(self, message: WatchTablesResponse) -> ListUpdate | None:
        content = message.WhichOneof("content")
        if content == "snapshot":
            told = message.snapshot.tables
            self.tables = {table.table_id: table for table in told}
            self._version = message.version
            self._has_snapshot()
            return ListUpdate(message.version, told, (), is_snapshot=True)
        expected = self._version + (content == "change")
        if message.version != expected:
            raise VersionGapError(f"The list is at version {self._version}; {message.version} does not follow.")
        if content != "change":
            return None
        self._version = message.version
        change = message.change
        self.tables |= {table.table_id: table for table in change.tables}
        for table_id in change.removed_table_ids:
            self.tables.pop(table_id, None)
        return ListUpdate(message.version, change.tables, change.removed_table_ids, is_snapshot=False)
