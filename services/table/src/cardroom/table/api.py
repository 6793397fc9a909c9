"""gRPC for players: their stream and their actions.

Requests and answers are handled as bytes, so that what belongs to another replica is passed on without being made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc

from cardroom.chassis import auth
from cardroom.contracts.table.v1.table_pb2 import (
    ActRequest,
    ActResponse,
    ComeBackRequest,
    ComeBackResponse,
    PlayRequest,
    SitOutRequest,
    SitOutResponse,
)
from cardroom.table.domain.commands import Act, ComeBack, SitOut, Token
from cardroom.table.methods import Methods, reading, table_id_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cardroom.chassis.auth import Caller
    from cardroom.table.forwarding import Context, Forwarding
    from cardroom.table.streams import Streams
    from cardroom.table.tables import Tables

__all__ = ["SERVICE", "PlayerApi"]

SERVICE: Final = "cardroom.table.v1.TableService"


class PlayerApi(Methods):
    """`TableService`. The player is the token's subject, nobody else."""

    def __init__(self, tables: Tables, streams: Streams, forwarding: Forwarding) -> None:
        super().__init__(SERVICE, forwarding)
        self._tables = tables
        self._streams = streams
        self.unary("Act", ActRequest, self._act)
        self.unary("SitOut", SitOutRequest, self._sit_out)
        self.unary("ComeBack", ComeBackRequest, self._come_back)
        self.handlers["Play"] = grpc.unary_stream_rpc_method_handler(
            self._play, request_deserializer=reading(PlayRequest), response_serializer=None
        )

    def permit(self, name: str, caller: Caller) -> None:
        """Players only."""
        assert caller.player_id, name

    async def _act(self, request: ActRequest, caller: Caller, table_id: str) -> ActResponse:
        token = Token(request.turn.hand_number, request.turn.action_number)
        command = Act(caller.player_id, token, request.action.kind, request.action.amount)
        answer: ActResponse = await self._tables.execute(table_id, command)
        return answer

    async def _sit_out(self, request: SitOutRequest, caller: Caller, table_id: str) -> SitOutResponse:
        command = SitOut(caller.player_id, request.seen_version)
        answer: SitOutResponse = await self._tables.execute(table_id, command)
        return answer

    async def _come_back(self, request: ComeBackRequest, caller: Caller, table_id: str) -> ComeBackResponse:
        command = ComeBack(caller.player_id, request.seen_version)
        answer: ComeBackResponse = await self._tables.execute(table_id, command)
        return answer

    async def _play(self, parsed: tuple[bytes, Any], context: Context) -> None:
        raw, request = parsed
        player_id = auth.caller().player_id
        table_id = table_id_of(request.table_id)

        async def here(begin: Callable[[], Awaitable[None]]) -> None:
            await self._streams.play(table_id, player_id, begin, context.write)

        await self._forwarding.stream(f"/{SERVICE}/Play", table_id, raw, context, here)
