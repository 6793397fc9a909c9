"""Signing keys at rest are sealed."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cardroom.chassis.errors import SettingsError
from cardroom.gateway.vault import Vault, decode_key, public_key

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_a_key_can_be_opened_with_what_sealed_it_only() -> None:
    key = Vault(b"a" * 32).make(1, NOW)
    assert Vault(b"a" * 32).open(key).kid == key.kid == public_key(key).kid
    with pytest.raises(SettingsError, match="KEY_ENCRYPTION_KEY"):
        Vault(b"b" * 32).open(key)


def test_a_sealed_key_cannot_stand_for_another() -> None:
    vault = Vault(b"a" * 32)
    first, second = vault.make(1, NOW), vault.make(2, NOW)
    with pytest.raises(SettingsError):
        vault.open(replace(first, private_sealed=second.private_sealed))


def test_what_is_stored_in_the_open_is_public() -> None:
    key = Vault(b"a" * 32).make(1, NOW)
    assert "d" not in json.loads(key.public_jwk)


@pytest.mark.parametrize("text", ["", "short", "!!!!", base64.b64encode(b"a" * 31).decode()])
def test_only_32_bytes_in_base64_are_a_key(text: str) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        decode_key(text)
