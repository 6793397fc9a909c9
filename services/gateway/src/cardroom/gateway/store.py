"""The gateway's database: every statement it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cardroom.gateway.domain.sessions import SIGN_IN_REPEAT, RefreshToken
from cardroom.gateway.vault import SigningKey

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

# A row comes back only if the request id is new, or its time is over; otherwise the first sign-in stands.
CLAIM_SIGN_IN: Final = """
insert into guest_sign_ins as known (request_id, player_id, asked_name, created_at) values ($1, $2, $3, $4)
on conflict (request_id) do update
set player_id = excluded.player_id, asked_name = excluded.asked_name, created_at = excluded.created_at
where known.created_at < $5
returning player_id
"""
FIRST_SIGN_IN: Final = """
select player_id::text, display_name, asked_name
from guest_sign_ins join players using (player_id)
where request_id = $1
"""
ADD_PLAYER: Final = "insert into players (player_id, display_name, created_at) values ($1, $2, $3)"
FIND_PLAYER: Final = "select player_id::text, display_name from players where player_id = $1"
ADD_SESSION: Final = "insert into sessions (session_id, player_id, created_at) values ($1, $2, $3)"
END_SESSION: Final = "update sessions set ended_at = $2 where session_id = $1 and ended_at is null"
ADD_REFRESH: Final = """
insert into refresh_tokens (token_sha256, session_id, created_at, expires_at) values ($1, $2, $3, $4)
"""
LOCK_REFRESH: Final = """
select session_id::text, player_id::text, display_name, expires_at, spent_at, ended_at is not null as session_ended
from refresh_tokens
join sessions using (session_id)
join players using (player_id)
where token_sha256 = $1
for update of refresh_tokens, sessions
"""
SPEND_REFRESH: Final = "update refresh_tokens set spent_at = $2 where token_sha256 = $1"
LOAD_KEYS: Final = """
select generation, kid, signs_from, public_jwk, private_sealed from signing_keys order by generation
"""
ADD_KEY: Final = """
insert into signing_keys (generation, kid, signs_from, public_jwk, private_sealed, created_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (generation) do nothing
"""
FORGET_KEYS: Final = "delete from signing_keys where generation = any($1::int[])"
PURGE_SESSIONS: Final = """
with gone as (
    delete from refresh_tokens where token_sha256 in
    (select token_sha256 from refresh_tokens where expires_at < $1 limit $2)
    returning session_id
)
delete from sessions
where session_id in (select session_id from gone)
and not exists (select from refresh_tokens as t where t.session_id = sessions.session_id and t.expires_at >= $1)
"""
PURGE_SIGN_INS: Final = """
delete from guest_sign_ins where request_id in (select request_id from guest_sign_ins where created_at < $1 limit $2)
"""
PURGE_BATCH: Final = 5000


@dataclass(frozen=True, slots=True)
class Player:
    """A person who plays."""

    player_id: str
    display_name: str


@dataclass(frozen=True, slots=True)
class SignIn:
    """A sign-in as it was first asked for."""

    player: Player
    asked_name: str


class Store:
    """Reads and writes. Methods that take a connection run in the caller's transaction."""

    def __init__(self, pool: Pool) -> None:
        """Use `pool`; the caller closes it."""
        self.pool = pool

    async def claim_sign_in(
        self, connection: Connection, request_id: str, player: Player, asked_name: str, now: datetime
    ) -> SignIn | None:
        """Let `request_id` stand for a player who is made in this transaction.

        Returns the first sign-in if it already stands for another player, and changes nothing then.
        """
        oldest = now - SIGN_IN_REPEAT
        if await connection.fetchrow(CLAIM_SIGN_IN, request_id, player.player_id, asked_name, now, oldest):
            return None
        row = await connection.fetchrow(FIRST_SIGN_IN, request_id)
        assert row is not None, "a sign-in that is in the way can be read"
        return SignIn(Player(row["player_id"], row["display_name"]), row["asked_name"])

    async def add_player(self, connection: Connection, player: Player, now: datetime) -> None:
        """Make a player."""
        await connection.execute(ADD_PLAYER, player.player_id, player.display_name, now)

    async def player(self, player_id: str) -> Player | None:
        """Return the player, or None."""
        row = await self.pool.fetchrow(FIND_PLAYER, player_id)
        return None if row is None else Player(row["player_id"], row["display_name"])

    async def add_session(self, connection: Connection, session_id: str, player_id: str, now: datetime) -> None:
        """Begin a session."""
        await connection.execute(ADD_SESSION, session_id, player_id, now)

    async def end_session(self, connection: Connection, session_id: str, now: datetime) -> None:
        """End a session: none of its refresh tokens is good any more."""
        await connection.execute(END_SESSION, session_id, now)

    async def add_refresh_token(
        self, connection: Connection, token_sha256: bytes, session_id: str, now: datetime, expires_at: datetime
    ) -> None:
        """Keep a refresh token's hash."""
        await connection.execute(ADD_REFRESH, token_sha256, session_id, now, expires_at)

    async def lock_refresh_token(self, connection: Connection, token_sha256: bytes) -> RefreshToken | None:
        """Return what is known of a refresh token, locked with its session until the transaction ends."""
        row = await connection.fetchrow(LOCK_REFRESH, token_sha256)
        return None if row is None else RefreshToken(**dict(row))

    async def spend_refresh_token(self, connection: Connection, token_sha256: bytes, now: datetime) -> None:
        """Mark a refresh token as used."""
        await connection.execute(SPEND_REFRESH, token_sha256, now)

    async def keys(self) -> list[SigningKey]:
        """Return every signing key, oldest first."""
        return [SigningKey(**dict(row)) for row in await self.pool.fetch(LOAD_KEYS)]

    async def add_key(self, key: SigningKey, now: datetime) -> None:
        """Keep a signing key, unless another replica has made this generation."""
        await self.pool.execute(
            ADD_KEY, key.generation, key.kid, key.signs_from, key.public_jwk, key.private_sealed, now
        )

    async def forget_keys(self, generations: list[int]) -> None:
        """Delete signing keys."""
        await self.pool.execute(FORGET_KEYS, generations)

    async def purge(self, now: datetime) -> None:
        """Delete what is over: expired tokens, sessions without tokens, sign-ins that cannot be repeated any more."""
        await self.pool.execute(PURGE_SESSIONS, now, PURGE_BATCH)
        await self.pool.execute(PURGE_SIGN_INS, now - SIGN_IN_REPEAT, PURGE_BATCH)
