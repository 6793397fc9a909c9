"""Who is calling: JWTs checked against the gateway's published keys.

Player ids come from here and from nowhere else.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cardroom.chassis._keys import PublishedKeys
from cardroom.chassis.errors import PermissionDenied, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable

    from joserfc.jwk import KeySet

    from cardroom.chassis.settings import ServiceSettings

ALGORITHM: Final = "ES256"
SERVICE_PREFIX: Final = "service:"
PLAY_SCOPE: Final = "play"
LEEWAY_SECONDS: Final = 5
MAX_TOKEN_CHARS: Final = 4096
MAX_NAME_CHARS: Final = 40
CACHE_SIZE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who the verified token says is calling, and what they may do. `name` is what others see; it may be empty."""

    subject: str
    scopes: frozenset[str]
    name: str = ""

    @property
    def is_service(self) -> bool:
        """Whether another service is calling, not a person."""
        return self.subject.startswith(SERVICE_PREFIX)

    @property
    def player_id(self) -> str:
        """The player's id. Raises PermissionDenied/NOT_A_PLAYER for anyone else."""
        if self.is_service or PLAY_SCOPE not in self.scopes:
            raise PermissionDenied("NOT_A_PLAYER", f"{self.subject!r} is not a player: sign in with the scope 'play'")
        return self.subject

    def require(self, scope: str) -> None:
        """Raise PermissionDenied/SCOPE_MISSING unless the caller has `scope`."""
        if scope not in self.scopes:
            has = " ".join(sorted(self.scopes)) or "none"
            raise PermissionDenied(
                "SCOPE_MISSING", f"this call needs the scope {scope!r}; the token has: {has}", scope=scope
            )


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def caller() -> Caller:
    """Return who is calling. Raises Unauthenticated/TOKEN_MISSING where a call came without a token."""
    current = _caller.get()
    if current is None:
        raise Unauthenticated("TOKEN_MISSING", "this call needs a token: send `authorization: Bearer <token>`")
    return current


def set_caller(value: Caller | None) -> None:
    """Set who is calling, for the rest of this task. The server does it; tests of handlers may."""
    _caller.set(value)


class TokenVerifier:
    """Verifies access tokens: signature, issuer, audience, expiry, subject. Remembers those it has verified."""

    def __init__(
        self, settings: ServiceSettings, *, keys: KeySet | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """Use the keys at `settings.jwks_url`, or `keys` where they are given (the gateway has its own)."""
        self._keys = PublishedKeys(settings.jwks_url, keys)
        self._issuer = settings.issuer
        self._audience = settings.audience
        self._clock = clock
        self._verified: dict[str, tuple[Caller, float]] = {}

    async def start(self) -> None:
        """Begin to fetch the keys; a gateway that is down is asked again until it answers."""
        await self._keys.start()

    async def stop(self) -> None:
        """Stop fetching."""
        await self._keys.stop()

    @property
    def ready(self) -> bool:
        """Whether keys are at hand, so that tokens can be verified at all."""
        return self._keys.current is not None

    def replace_keys(self, keys: KeySet) -> None:
        """Use other keys from now on (the gateway, when it rotates its own)."""
        self._keys.current = keys
        self._verified.clear()

    def cached(self, token: str) -> Caller | None:
        """Return the caller of a token verified before and still good, without any work; else None."""
        known = self._verified.get(token)
        return known[0] if known is not None and self._clock() < known[1] else None

    async def verify(self, token: str) -> Caller:
        """Return the caller. Raises Unauthenticated with TOKEN_MISSING, TOKEN_INVALID or TOKEN_EXPIRED."""
        known = self.cached(token)
        if known is not None:
            return known
        if not token:
            raise Unauthenticated("TOKEN_MISSING", "this call needs a token: send `authorization: Bearer <token>`")
        if len(token) > MAX_TOKEN_CHARS:
            raise _invalid(f"is {len(token)} characters long, more than {MAX_TOKEN_CHARS}")
        from cardroom.chassis import _jwts  # noqa: PLC0415 - slow import, and only on the slow path

        try:
            kid = _kid(_jwts.header(token))
            keys = await self._keys.holding(kid)
            # Off the loop would cost more than the ~0.1 ms that a P-256 verification takes.
            claims = _jwts.claims(token, keys, [ALGORITHM])
        except _jwts.UNVERIFIABLE as error:
            raise _invalid(f"cannot be verified ({type(error).__name__})") from None
        verified, expires = self._check(claims)
        self._remember(token, verified, expires)
        return verified

    def _check(self, claims: dict[str, Any]) -> tuple[Caller, float]:
        if claims.get("iss") != self._issuer:
            raise _invalid(f"has the issuer {str(claims.get('iss'))[:80]!r}, not {self._issuer!r}")
        audience = claims.get("aud")
        if self._audience not in (audience if isinstance(audience, list) else [audience]):
            raise _invalid(f"is not for the audience {self._audience!r}")
        expires = claims.get("exp")
        if not isinstance(expires, int | float) or isinstance(expires, bool):
            raise _invalid("has no expiry")
        if expires + LEEWAY_SECONDS <= self._clock():
            raise Unauthenticated("TOKEN_EXPIRED", f"the token expired at {int(expires)} (Unix time): refresh it")
        subject, scope = claims.get("sub"), claims.get("scope", "")
        if not isinstance(subject, str) or not subject:
            raise _invalid("has no subject")
        if not isinstance(scope, str):
            raise _invalid("has a scope that is not a space-separated text")
        return Caller(subject, frozenset(scope.split()), _shown_name(claims.get("name"))), expires + LEEWAY_SECONDS

    def _remember(self, token: str, verified: Caller, expires: float) -> None:
        if len(self._verified) >= CACHE_SIZE:
            # Oldest tenth first: dicts keep the order of insertion, and old tokens expire first.
            for old in list(self._verified)[: CACHE_SIZE // 10]:
                del self._verified[old]
        self._verified[token] = (verified, expires)


def bearer(value: str | bytes | None) -> str:
    """Return the token in an `authorization` header, or an empty text when there is none."""
    if not isinstance(value, str) or value[:7].lower() != "bearer ":
        return ""
    return value[7:].strip()


def _shown_name(claimed: object) -> str:
    """Return a name that is safe to show: an operator's own issuer may let people choose any text."""
    if not isinstance(claimed, str):
        return ""
    # Control characters would reach terminals, direction marks turn a line around, and no database takes them all.
    return "".join([it for it in claimed[: 4 * MAX_NAME_CHARS] if it.isprintable()]).strip()[:MAX_NAME_CHARS].strip()


def _kid(header: dict[str, Any]) -> str:
    if header.get("alg") != ALGORITHM:
        raise ValueError("alg")
    return str(header.get("kid", ""))


def _invalid(why: str) -> Unauthenticated:
    return Unauthenticated("TOKEN_INVALID", f"the token {why}: sign in again")
