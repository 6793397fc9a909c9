"""Signed tokens, and the keys that they are verified with: what of it needs libraries that are slow to load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aiohttp
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import extract_compact

if TYPE_CHECKING:
    from collections.abc import Sequence

FETCH_TIMEOUT_SECONDS: Final = 3.0
MAX_BYTES: Final = 256 * 1024
UNVERIFIABLE: Final = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What a text that is no good token makes of the functions here."""


def header(token: str) -> dict[str, Any]:
    """Return the unverified header of a JWT."""
    return dict(extract_compact(token.encode()).headers())


def claims(token: str, keys: KeySet, algorithms: Sequence[str]) -> dict[str, Any]:
    """Return what the token claims, its signature verified."""
    return dict(jwt.decode(token, keys, algorithms=list(algorithms)).claims)


async def fetch(url: str) -> KeySet:
    """Return the key set at `url`. Raises aiohttp's errors, TimeoutError, or ValueError if it is not a JWKS."""
    timeout = aiohttp.ClientTimeout(total=FETCH_TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
        response.raise_for_status()
        if (response.content_length or 0) > MAX_BYTES:
            raise ValueError(f"a JWKS of {response.content_length} bytes is too long")
        document = await response.json(content_type=None)
    keys = KeySet.import_key_set(document)
    if not keys.keys:
        raise ValueError("the JWKS has no keys")
    return keys
