"""Tokens are verified in full; a player's id comes from nowhere else."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis import auth
from cardroom.chassis.auth import Caller, TokenVerifier
from cardroom.chassis.errors import PermissionDenied, Unauthenticated
from cardroom.chassis.settings import ServiceSettings
from tests.unit.chassis.tokens import KEY, KEYS, signed


def verifier() -> TokenVerifier:
    return TokenVerifier(ServiceSettings(), keys=KEYS)


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


async def refused(token: str) -> str:
    with pytest.raises(Unauthenticated) as error:
        await verifier().verify(token)
    return error.value.reason


async def test_a_good_token_names_the_caller_and_its_scopes() -> None:
    caller = await verifier().verify(signed(scope="play operator", aud=["cardroom", "other"]))
    assert caller == Caller("player-1", frozenset({"play", "operator"}))
    assert caller.player_id == "player-1"


@pytest.mark.parametrize(
    ("claimed", "shown"),
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("\x1b[2Jroot\n", "[2Jroot"),
        ("\u202egnp.exe", "gnp.exe"),
        ("nul\0", "nul"),
        ("  \u200b ", ""),
        ("x" * 39 + " and more", "x" * 39),
        (17, ""),
        (None, ""),
    ],
)
async def test_a_name_of_any_issuer_is_made_safe_to_show(claimed: object, shown: str) -> None:
    assert (await verifier().verify(signed(name=claimed))).name == shown


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"exp": None},
        {"exp": "soon"},
        {"scope": ["play"]},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(claims: dict[str, Any]) -> None:
    assert await refused(signed(**claims)) == "TOKEN_INVALID"


async def test_an_expired_token_says_so_after_a_small_leeway() -> None:
    now = time.time()
    assert await refused(signed(exp=int(now) - 6)) == "TOKEN_EXPIRED"
    assert (await verifier().verify(signed(exp=int(now) - 2))).subject == "player-1"


async def test_a_forged_token_is_refused() -> None:
    other = ECKey.generate_key("P-256", {"kid": "k1"})
    assert await refused(signed(other)) == "TOKEN_INVALID"
    assert await refused(signed(kid="k2")) == "TOKEN_INVALID"


async def test_another_algorithm_is_refused() -> None:
    body = signed().split(".")[1]
    symmetric, none = (encoded(json.dumps({"alg": alg, "kid": "k1"}).encode()) for alg in ("HS256", "none"))
    confused = f"{symmetric}.{body}"
    mac = hmac.digest(KEY.as_pem(private=False), confused.encode(), "sha256")
    assert await refused(f"{confused}.{encoded(mac)}") == "TOKEN_INVALID"
    assert await refused(f"{none}.{body}.") == "TOKEN_INVALID"


async def test_a_token_with_a_changed_body_is_refused() -> None:
    header, body, signature = signed().split(".")
    assert await refused(f"{header}.{body[:-2]}AA.{signature}") == "TOKEN_INVALID"


async def test_no_token_is_missing_and_a_huge_one_is_invalid() -> None:
    assert await refused("") == "TOKEN_MISSING"
    assert await refused("x" * 5000) == "TOKEN_INVALID"


ONE = TokenVerifier(ServiceSettings(), keys=KEYS)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.one_of(st.text(), st.from_regex(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*", fullmatch=True)))
def test_no_text_whatever_breaks_the_verifier(token: str) -> None:
    # The coroutine never waits with keys at hand, so it can be driven without a loop.
    with pytest.raises(Unauthenticated):
        ONE.verify(token).send(None)


async def test_a_verified_token_is_remembered_until_it_expires() -> None:
    now = [time.time()]
    one = TokenVerifier(ServiceSettings(), keys=KEYS, clock=lambda: now[0])
    token = signed(exp=int(now[0]) + 60)
    assert one.cached(token) is None
    caller = await one.verify(token)
    assert one.cached(token) is caller
    now[0] += 66
    assert one.cached(token) is None


async def test_the_memory_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "CACHE_SIZE", 10)
    one = verifier()
    tokens = [signed(sub=f"player-{number}") for number in range(25)]
    for token in tokens:
        await one.verify(token)
    assert len(one._verified) <= 10
    assert one.cached(tokens[-1]) is not None
    assert one.cached(tokens[0]) is None


async def test_rotated_keys_count_at_once() -> None:
    one, token = verifier(), signed()
    await one.verify(token)
    fresh = ECKey.generate_key("P-256", {"kid": "k9"})
    one.replace_keys(KeySet([fresh]))
    assert one.cached(token) is None
    assert (await one.verify(signed(fresh, kid="k9"))).subject == "player-1"


def test_a_service_is_not_a_player() -> None:
    for caller in (Caller("service:lobby", frozenset({"play"})), Caller("someone", frozenset({"operator"}))):
        with pytest.raises(PermissionDenied) as denied:
            _ = caller.player_id
        assert denied.value.reason == "NOT_A_PLAYER"


def test_a_missing_scope_is_named() -> None:
    with pytest.raises(PermissionDenied) as denied:
        Caller("service:x", frozenset({"wallet.read"})).require("wallet.hold")
    assert (denied.value.reason, denied.value.metadata) == ("SCOPE_MISSING", {"scope": "wallet.hold"})
    Caller("service:x", frozenset({"wallet.hold"})).require("wallet.hold")


async def test_outside_a_call_there_is_no_caller() -> None:
    auth.set_caller(None)
    with pytest.raises(Unauthenticated):
        auth.caller()
    auth.set_caller(Caller("p", frozenset()))
    assert auth.caller().subject == "p"
    auth.set_caller(None)


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", ""), ("", ""), (None, ""), (b"Bearer x", "")],
)
def test_the_token_is_what_follows_bearer(header: str | bytes | None, token: str) -> None:
    assert auth.bearer(header) == token
