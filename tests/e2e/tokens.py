"""Tokens as nobody should have them: signed by a stranger, expired, or of another algorithm."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

from cardroom.gateway.vault import SigningKey, Vault, decode_key
from cardroom.local import Stack
from tests.faults.owners import fetch

KEYS = "select generation, kid, signs_from, public_jwk, private_sealed from signing_keys order by generation"


async def signing_key(stack: Stack) -> ECKey:
    """The key that the running gateway signs with, opened as only the gateway can."""
    key_encryption_key = stack.processes["gateway"].env["CARDROOM_GATEWAY_KEY_ENCRYPTION_KEY"]
    first = (await fetch(stack, "gateway", KEYS))[0]
    return Vault(decode_key(key_encryption_key)).open(SigningKey(**dict(first)))


def claims(subject: str, **changes: Any) -> dict[str, Any]:
    """What a player's token says."""
    now = int(time.time())
    return {
        "iss": "https://cardroom.local",
        "aud": "cardroom",
        "sub": subject,
        "scope": "play",
        "iat": now,
        "exp": now + 600,
    } | changes


def signed(key: ECKey, said: dict[str, Any], kid: str = "") -> str:
    """A token that says so."""
    return jwt.encode({"alg": "ES256", "kid": kid or str(key.kid)}, said, key)


def unsigned(said: dict[str, Any]) -> str:
    """A token of the algorithm `none`."""
    parts = (json.dumps({"alg": "none"}), json.dumps(said))
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts) + "."
