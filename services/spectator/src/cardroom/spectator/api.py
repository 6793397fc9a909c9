"""The gRPC face of the spectator: translate, authorise, call."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import grpc

from cardroom.chassis import auth
from cardroom.chassis.errors import NotFound
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cardroom.chassis.admission import Admission
    from cardroom.spectator.feeds import Feeds

SERVICE: Final = "cardroom.spectator.v1.SpectatorService"
SHOWN_CHARS: Final = 80


class SpectatorApi:
    """Answers SpectatorService. Its messages come serialized: one table's watchers all get the same bytes."""

    def __init__(self, feeds: Feeds, admission: Admission, heartbeat_seconds: float) -> None:
        """Show `feeds` to whom `admission` lets in."""
        self._feeds = feeds
        self._admission = admission
        self._heartbeat_seconds = heartbeat_seconds

    async def watch(self, request: WatchRequest, _context: Any) -> AsyncIterator[bytes]:
        """Stream one table."""
        player_id = auth.caller().player_id
        table_id = _table_id(request.table_id)
        with self._admission.admit(player_id):
            watcher = await self._feeds.join(table_id)
            try:
                while True:
                    for message in await watcher.next(self._heartbeat_seconds):
                        yield message
            finally:
                self._feeds.leave(table_id, watcher)


def add_to_server(api: SpectatorApi, server: Any) -> None:
    """Register the service like generated code does, but with answers that are bytes already."""
    watch = grpc.unary_stream_rpc_method_handler(api.watch, request_deserializer=WatchRequest.FromString)
    server.add_registered_method_handlers(SERVICE, {"Watch": watch})


def _table_id(given: str) -> str:
    try:
        return str(uuid.UUID(given))
    except ValueError:
        text = (
            f"there is no table {given[:SHOWN_CHARS]!r}: a table's id is a UUID, and ListTables names those there are"
        )
        raise NotFound("TABLE_UNKNOWN", text) from None
