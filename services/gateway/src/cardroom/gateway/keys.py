"""The signing keys at work: loaded from the database, rotated when it is time, and used to sign tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.jwk import KeySet

from cardroom.chassis import logs
from cardroom.chassis.errors import Unavailable
from cardroom.gateway.domain import keyring
from cardroom.gateway.vault import ALGORITHM, SigningKey, Vault, public_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from joserfc.jwk import ECKey

    from cardroom.chassis.auth import TokenVerifier
    from cardroom.gateway.domain.keyring import RotationPolicy
    from cardroom.gateway.store import Store

log = logs.get("keys")


class KeyKeeper:
    """Keeps this replica's copy of the keys fresh. A part of the App: `start` needs the database."""

    def __init__(
        self, store: Store, vault: Vault, policy: RotationPolicy, verifier: TokenVerifier, clock: Callable[[], datetime]
    ) -> None:
        """`verifier` is given the published keys, so that the gateway need not ask itself for them."""
        self._store = store
        self._vault = vault
        self._policy = policy
        self._verifier = verifier
        self._clock = clock
        self._keys: list[SigningKey] = []
        self._loaded_at: datetime | None = None
        self._opened: dict[str, ECKey] = {}
        self.jwks: dict[str, Any] = {"keys": []}

    async def start(self) -> None:
        """Load the keys; the very first replica makes the first one. Raises SettingsError if they do not open."""
        await self.refresh()

    async def stop(self) -> None:
        """Forget the opened private keys."""
        self._opened.clear()

    @property
    def ready(self) -> bool:
        """Whether tokens can be signed."""
        return self._is_fresh(self._clock())

    async def refresh(self) -> None:
        """Look for new keys, make the next one if it is time, and forget those that no token needs any more."""
        now = self._clock()
        keys = await self._store.keys()
        begin = keyring.next_begin(keys, now, self._policy)
        if begin is not None:
            generation = max((key.generation for key in keys), default=0) + 1
            await self._store.add_key(self._vault.make(generation, begin), now)
            keys = await self._store.keys()
            log.info("a signing key was made", generation=generation, signs_from=begin.isoformat())
        over = keyring.expired(keys, now, self._policy)
        if over:
            await self._store.forget_keys([key.generation for key in over])
            keys = [key for key in keys if key not in over]
        self._use(keys, now)

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a JWT. Raises Unavailable/KEYS_STALE when the keys could not be refreshed for too long."""
        now = self._clock()
        if not self._is_fresh(now):
            raise Unavailable("KEYS_STALE", "the signing keys could not be read from the database lately: try again")
        key = keyring.signer(self._keys, now)
        return jwt.encode({"alg": ALGORITHM, "kid": key.kid}, dict(claims), self._opened[key.kid])

    def _use(self, keys: list[SigningKey], now: datetime) -> None:
        if [key.kid for key in keys] != [key.kid for key in self._keys]:
            self._opened = {key.kid: self._opened.get(key.kid) or self._vault.open(key) for key in keys}
            published = KeySet([public_key(key) for key in keys])
            self.jwks = dict(published.as_dict(private=False))
            self._verifier.replace_keys(published)
        self._keys = keys
        self._loaded_at = now

    def _is_fresh(self, now: datetime) -> bool:
        # A replica that has not looked for that long could go on with a key that others have stopped publishing.
        return self._loaded_at is not None and now - self._loaded_at < self._policy.ahead
