"""Decks encrypted for the database: AES-GCM, bound to their table and hand."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cardroom.table.domain.deck import Deck
from cardroom.table.errors import DeckKeyMissing, DeckUnreadable

__all__ = ["KEY_BYTES", "DeckBox", "key_from_text", "key_name"]

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


def key_from_text(text: str) -> bytes:
    """The key in base64 text. Raises ValueError, without the text in it, for anything but 32 bytes."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"a deck key is {KEY_BYTES} bytes in base64; this is not base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"a deck key is {KEY_BYTES} bytes in base64; this one has {len(key)}")
    return key


class DeckBox:
    """Encrypts with the first key and reads with any, so that keys can be changed while hands run.

    `lost` names keys that nobody has any more.
    """

    def __init__(self, keys: Sequence[bytes], lost: Iterable[str] = ()) -> None:
        assert keys, "at least one deck key"
        self._boxes = {key_name(key): AESGCM(key) for key in keys}
        self._lost = frozenset(lost)
        self.current = key_name(keys[0])

    def seal(self, deck: Deck, table_id: str, hand_number: int) -> bytes:
        """The deck, encrypted under the key named `current`."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._boxes[self.current].encrypt(nonce, deck.to_bytes(), _bound_to(table_id, hand_number))

    def open(self, sealed: bytes, key: str, table_id: str, hand_number: int) -> Deck:
        """The deck sealed for this table and hand. Raises DeckKeyMissing, or DeckUnreadable where no key helps."""
        box = self._boxes.get(key)
        if box is None and key in self._lost:
            raise DeckUnreadable(f"table {table_id}, hand {hand_number}: its deck key {key!r} is lost")
        if box is None:
            raise DeckKeyMissing(
                f"hand {hand_number} needs the deck key {key!r}: add it to the old keys, or to the lost"
            )
        try:
            opened = box.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _bound_to(table_id, hand_number))
        except InvalidTag:
            raise DeckUnreadable(f"table {table_id}, hand {hand_number}: the stored deck is not genuine") from None
        return Deck.from_bytes(opened)


def key_name(key: bytes) -> str:
    """A name for a key that tells nothing about it."""
    return hashlib.sha256(b"deck key " + key).hexdigest()[:12]


def _bound_to(table_id: str, hand_number: int) -> bytes:
    return f"{table_id}/{hand_number}".encode()
