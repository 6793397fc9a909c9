"""What all methods about a table share: reading the request, whose table it is, and answering with bytes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc
from google.protobuf.message import Message

from cardroom.chassis import auth
from cardroom.chassis.errors import InvalidArgument
from cardroom.table.errors import TableUnknown

if TYPE_CHECKING:
    from cardroom.chassis.auth import Caller
    from cardroom.table.forwarding import Context, Forwarding

__all__ = ["Methods", "reading", "table_id_of", "uuid_of"]

M = TypeVar("M", bound=Message)

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SHOWN: Final = 64


def table_id_of(text: str) -> str:
    """A table's id as it is written everywhere. Raises TableUnknown for what can be no table's id."""
    if _UUID.fullmatch(text):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise TableUnknown(text[:_SHOWN]) from None


def uuid_of(field: str, text: str) -> str:
    """Another id. Raises InvalidArgument/INVALID_ID for what is not a UUID."""
    if _UUID.fullmatch(text):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise InvalidArgument("INVALID_ID", f"{field} is {text[:_SHOWN]!r}: send a UUID", field=field) from None


def reading(kind: type[M]) -> Callable[[bytes], tuple[bytes, M]]:
    """A deserializer that keeps the bytes beside the message, to pass them on as they came."""
    return lambda raw: (raw, kind.FromString(raw))


class Methods:
    """The methods of one service, each about one table: handled by the table's owner, wherever it is."""

    def __init__(self, service: str, forwarding: Forwarding) -> None:
        self.service = service
        self.handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        self._forwarding = forwarding

    def permit(self, name: str, caller: Caller) -> None:
        """Raise PermissionDenied unless the caller may call the method."""
        raise NotImplementedError

    def unary(self, name: str, kind: type[M], handle: Callable[[M, Caller, str], Awaitable[Message]]) -> None:
        """Serve a method: `handle(request, caller, table id)` is called where the table is owned."""
        method = f"/{self.service}/{name}"

        async def serve(parsed: tuple[bytes, Any], context: Context) -> bytes:
            raw, request = parsed
            caller = auth.caller()
            self.permit(name, caller)
            table_id = table_id_of(request.table_id)

            async def here() -> bytes:
                return (await handle(request, caller, table_id)).SerializeToString()

            return await self._forwarding.unary(method, table_id, raw, context, here)

        self.handlers[name] = grpc.unary_unary_rpc_method_handler(
            serve, request_deserializer=reading(kind), response_serializer=None
        )

    def served(self) -> tuple[Methods, Callable[[Any, Any], None], str]:
        """What the chassis' server takes: the servicer, how it is added, and the service's name."""

        def add(_: Any, server: Any) -> None:
            server.add_registered_method_handlers(self.service, self.handlers)

        return self, add, self.service
