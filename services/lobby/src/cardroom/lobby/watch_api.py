"""LobbyService.WatchTables: its messages come serialized, so that all who watch the same get the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from prometheus_client import Gauge

from cardroom.chassis import auth
from cardroom.contracts.lobby.v1 import lobby_pb2, lobby_pb2_grpc
from cardroom.lobby import messages
from cardroom.lobby.answering import told

if TYPE_CHECKING:
    from cardroom.chassis.admission import Admission
    from cardroom.lobby.api import LobbyApi
    from cardroom.lobby.feeds import Feeds

SERVICE: Final = "cardroom.lobby.v1.LobbyService"
WATCHERS: Final = Gauge("cardroom_lobby_watchers", "Watchers of the list on this replica.")


class WatchApi:
    """The one method of LobbyService that is a stream."""

    def __init__(self, feeds: Feeds, admission: Admission) -> None:
        """Show `feeds` to whom `admission` lets in."""
        self._feeds = feeds
        self._admission = admission

    async def watch_tables(self, request: lobby_pb2.WatchTablesRequest, context: Any) -> None:
        """Stream the list."""
        with self._admission.admit(auth.caller().player_id):
            await told(self._watch(request, context), "LIST_UNFINISHED")

    async def _watch(self, request: lobby_pb2.WatchTablesRequest, context: Any) -> None:
        await self._feeds.watch(messages.table_filter(request.filter), context.write)


def add_to_server(api: LobbyApi, server: Any) -> None:
    """Register LobbyService as generated code does, but WatchTables with answers that are bytes already."""
    lobby_pb2_grpc.add_LobbyServiceServicer_to_server(api, server)
    watch = grpc.unary_stream_rpc_method_handler(
        api.WatchTables, request_deserializer=lobby_pb2.WatchTablesRequest.FromString
    )
    server.add_registered_method_handlers(SERVICE, {"WatchTables": watch})
