"""Services sign in with their own secret, and never get what belongs to players."""

from __future__ import annotations

import hashlib

import pytest

from cardroom.gateway.domain.clients import Client, ClientDirectory

WALLET = Client("wallet", hashlib.sha256(b"open sesame").digest(), ("wallet.read",))


def test_only_the_right_secret_opens() -> None:
    directory = ClientDirectory([WALLET])
    assert directory.authenticate("wallet", "open sesame") == WALLET
    for client_id, secret in [("wallet", "open"), ("wallet", ""), ("other", "open sesame"), ("", ""), ("x", "nobody")]:
        assert directory.authenticate(client_id, secret) is None


def test_a_name_comes_once() -> None:
    with pytest.raises(ValueError, match="listed twice"):
        ClientDirectory([WALLET, WALLET])


def test_no_client_may_play() -> None:
    with pytest.raises(ValueError, match="players only"):
        ClientDirectory([Client("bot", WALLET.secret_sha256, ("play",))])
