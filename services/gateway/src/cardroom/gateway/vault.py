"""Keys at rest: signing keys are made here, and sealed with AES-GCM before they are stored."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from joserfc.jwk import ECKey

from cardroom.chassis.errors import SettingsError

ALGORITHM: Final = "ES256"
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key as it is stored: the private half sealed."""

    generation: int
    kid: str
    signs_from: datetime
    public_jwk: str
    private_sealed: bytes


class Vault:
    """Seals and opens private keys."""

    def __init__(self, key: bytes) -> None:
        """`key` has 32 bytes."""
        self._aead = AESGCM(key)

    def make(self, generation: int, signs_from: datetime) -> SigningKey:
        """Return a new signing key."""
        kid = f"{generation}-{secrets.token_hex(6)}"
        key = ECKey.generate_key("P-256", parameters={"kid": kid, "use": "sig", "alg": ALGORITHM})
        nonce = secrets.token_bytes(_NONCE_BYTES)
        private = json.dumps(key.as_dict(private=True)).encode()
        sealed = nonce + self._aead.encrypt(nonce, private, kid.encode())
        return SigningKey(generation, kid, signs_from, json.dumps(key.as_dict(private=False)), sealed)

    def open(self, key: SigningKey) -> ECKey:
        """Return the private key. Raises SettingsError when it was sealed with another key."""
        nonce, sealed = key.private_sealed[:_NONCE_BYTES], key.private_sealed[_NONCE_BYTES:]
        try:
            private = self._aead.decrypt(nonce, sealed, key.kid.encode())
        except InvalidTag:
            text = f"CARDROOM_GATEWAY_KEY_ENCRYPTION_KEY does not open the stored key {key.kid!r}: set the one before"
            raise SettingsError(text) from None
        return ECKey.import_key(json.loads(private))


def public_key(key: SigningKey) -> ECKey:
    """Return the half that everyone may have."""
    return ECKey.import_key(json.loads(key.public_jwk))


def decode_key(text: str) -> bytes:
    """Return the 32 bytes that `text` has in base64. Raises ValueError for anything else."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ValueError("is not 32 bytes in base64 (make one with: openssl rand -base64 32)")
    return key
