"""Tokens as the gateway signs them."""

from __future__ import annotations

import time
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

KEY = ECKey.generate_key("P-256", {"kid": "k1", "alg": "ES256", "use": "sig"})
KEYS = KeySet([KEY])


def signed(key: ECKey = KEY, kid: str = "k1", alg: str = "ES256", **claims: Any) -> str:
    """Return a player's token, with `claims` changed or (where None) left out."""
    usual = {
        "iss": "https://cardroom.local",
        "aud": "cardroom",
        "sub": "player-1",
        "scope": "play",
        "exp": int(time.time()) + 600,
    }
    content = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    return jwt.encode({"alg": alg, "kid": kid}, content, key, algorithms=[alg])
