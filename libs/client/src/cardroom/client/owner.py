"""Which server owns a table, as the table's streams say. Sent along with every call, so that none takes a detour."""

from __future__ import annotations

from typing import Any, Final

import grpc

OWNER: Final = "cardroom-owner"
"""The server's word for the owner, in a stream's first metadata."""
PASSED_ON: Final = "cardroom-forwarded"
"""Set in a stream's first metadata when it comes through a server that is not the owner."""
REPLICA: Final = "cardroom-replica"
"""The edge's word for the server that a call should go to. A server that is gone or unknown is simply not chosen."""


class Owner:
    """The owner of one table, learned from its streams. It is a hint: any server takes any call."""

    def __init__(self) -> None:
        """Knows nothing yet."""
        self._address = ""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What to send along with calls about the table."""
        return ((REPLICA, self._address),) if self._address else ()

    def forget(self) -> None:
        """Know nothing again: the owner has just sent the stream away, and whoever it names would be asked in vain."""
        self._address = ""

    async def learn(self, call: grpc.aio.UnaryStreamCall[Any, Any]) -> bool:
        """Learn from a stream that has brought its first message.

        Answers whether it takes a detour that a new stream would not take: close it then, and open another.
        """
        said = {str(key): value for key, value in await call.initial_metadata() or ()}
        before, self._address = self._address, str(said.get(OWNER, ""))
        return PASSED_ON in said and self._address not in {"", before}
