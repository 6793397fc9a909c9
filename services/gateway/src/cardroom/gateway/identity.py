"""Sign-ins and sessions: the work behind the API, each in one transaction."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cardroom.chassis.errors import AlreadyExists, InvalidArgument, Unauthenticated
from cardroom.gateway.domain import names, sessions
from cardroom.gateway.domain.clients import PLAY_SCOPE, Client, ClientDirectory
from cardroom.gateway.domain.sessions import Verdict
from cardroom.gateway.store import Player, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from cardroom.gateway.keys import KeyKeeper
    from cardroom.gateway.store import Connection

SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens are good."""

    access: timedelta
    service: timedelta
    refresh: timedelta


@dataclass(frozen=True, slots=True)
class Issued:
    """Tokens, just made."""

    access_token: str
    expires_in_seconds: int
    refresh_token: str = ""


class Identity:
    """Signs people and services in."""

    def __init__(
        self,
        store: Store,
        keys: KeyKeeper,
        clients: ClientDirectory,
        lifetimes: Lifetimes,
        *,
        issuer: str,
        audience: str,
        clock: Callable[[], datetime],
    ) -> None:
        """Everything it needs; `clock` is the only source of time."""
        self._store = store
        self._keys = keys
        self._clients = clients
        self._lifetimes = lifetimes
        self._issuer = issuer
        self._audience = audience
        self._clock = clock

    async def sign_in_guest(self, asked_name: str, request_id: str) -> tuple[Player, Issued]:
        """Make a guest and sign them in; a repeat of `request_id` signs the same guest in again."""
        new = Player(str(uuid.uuid4()), _name(asked_name))
        request = _request_id(request_id)
        now = self._clock()
        async with self._store.pool.acquire() as connection, connection.transaction():
            first = None
            if request is not None:
                first = await self._store.claim_sign_in(connection, request, new, asked_name, now)
            if first is None:
                await self._store.add_player(connection, new, now)
            elif first.asked_name != asked_name:
                text = f"request_id {request} has signed another name in: use a new UUID for a new guest"
                raise AlreadyExists("REQUEST_ID_REUSED", text)
            player = new if first is None else first.player
            session_id = str(uuid.uuid4())
            await self._store.add_session(connection, session_id, player.player_id, now)
            refresh_token = await self._add_refresh_token(connection, session_id, now)
        return player, self._access(player, refresh_token, now)

    async def refresh(self, token: str) -> tuple[Player, Issued]:
        """Trade a refresh token for a new pair."""
        shown = sessions.fingerprint(token)
        now = self._clock()
        refresh_token = ""
        async with self._store.pool.acquire() as connection, connection.transaction():
            known = await self._store.lock_refresh_token(connection, shown)
            verdict = sessions.judge(known, now)
            # No raise in here: the end of a session must be committed.
            if known is not None and verdict is Verdict.END_SESSION:
                await self._store.end_session(connection, known.session_id, now)
            if known is not None and verdict in {Verdict.GRANT, Verdict.REPEAT}:
                if verdict is Verdict.GRANT:
                    await self._store.spend_refresh_token(connection, shown, now)
                refresh_token = await self._add_refresh_token(connection, known.session_id, now)
        if known is None or not refresh_token:
            raise Unauthenticated(
                "REFRESH_TOKEN_INVALID", "the refresh token is unknown, spent, expired or signed out: sign in again"
            )
        player = Player(known.player_id, known.display_name)
        return player, self._access(player, refresh_token, now)

    def sign_in_service(self, client_id: str, secret: str) -> tuple[Client, Issued]:
        """Give a service its token."""
        client = self._clients.authenticate(client_id, secret)
        if client is None:
            text = f"there is no client {client_id[:SHOWN_CHARS]!r} with this secret: check both"
            raise Unauthenticated("CLIENT_UNKNOWN", text)
        claims = {"sub": f"service:{client.client_id}", "scope": " ".join(client.scopes)}
        life = self._lifetimes.service
        return client, Issued(self._sign(claims, self._clock(), life), int(life.total_seconds()))

    async def player(self, player_id: str) -> Player | None:
        """Return the player, or None for a subject that this gateway has not signed in."""
        try:
            return await self._store.player(str(uuid.UUID(player_id)))
        except ValueError:
            return None

    async def _add_refresh_token(self, connection: Connection, session_id: str, now: datetime) -> str:
        token = secrets.token_urlsafe(32)
        expires_at = now + self._lifetimes.refresh
        await self._store.add_refresh_token(connection, sessions.fingerprint(token), session_id, now, expires_at)
        return token

    def _access(self, player: Player, refresh_token: str, now: datetime) -> Issued:
        claims = {"sub": player.player_id, "scope": PLAY_SCOPE, "name": player.display_name}
        life = self._lifetimes.access
        return Issued(self._sign(claims, now, life), int(life.total_seconds()), refresh_token)

    def _sign(self, claims: dict[str, str], now: datetime, life: timedelta) -> str:
        issued_at = int(now.timestamp())
        times = {"iat": issued_at, "exp": issued_at + int(life.total_seconds())}
        return self._keys.sign({"iss": self._issuer, "aud": self._audience, **claims, **times})


def _name(asked: str) -> str:
    if not asked:
        return names.made_up(secrets.randbelow(1_000_000))
    try:
        return names.clean(asked)
    except ValueError as error:
        text = f"the display name {asked[:SHOWN_CHARS]!r} {error}: give 1 to {names.LENGTH_MAX} letters or digits"
        raise InvalidArgument("INVALID_DISPLAY_NAME", text) from None


def _request_id(given: str) -> str | None:
    if not given:
        return None
    try:
        return str(uuid.UUID(given))
    except ValueError:
        text = f"request_id {given[:SHOWN_CHARS]!r} is not a UUID: send one, or none"
        raise InvalidArgument("INVALID_REQUEST_ID", text) from None
