"""Services that sign in with a secret, and operators' tools, as the settings list them."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

PLAY_SCOPE: Final = "play"
_NOBODY: Final = hashlib.sha256(b"nobody").digest()


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its name, the SHA-256 of its secret, and what its tokens allow."""

    client_id: str
    secret_sha256: bytes
    scopes: tuple[str, ...]


class ClientDirectory:
    """Every client that there is."""

    def __init__(self, clients: Iterable[Client]) -> None:
        """Raises ValueError for a name that comes twice, or a scope that belongs to players."""
        self._by_id: dict[str, Client] = {}
        for client in clients:
            if client.client_id in self._by_id:
                raise ValueError(f"the client {client.client_id!r} is listed twice")
            if PLAY_SCOPE in client.scopes:
                raise ValueError(f"the client {client.client_id!r} has the scope 'play', which is for players only")
            self._by_id[client.client_id] = client

    def authenticate(self, client_id: str, secret: str) -> Client | None:
        """Return the client if the secret is its own, else None; both take the same time."""
        client = self._by_id.get(client_id)
        given = hashlib.sha256(secret.encode()).digest()
        matches = hmac.compare_digest(given, client.secret_sha256 if client else _NOBODY)
        return client if matches else None
