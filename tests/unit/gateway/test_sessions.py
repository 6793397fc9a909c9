"""Refresh tokens are good once; a second use soon is a lost answer, later it is a thief's or the robbed one's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cardroom.gateway.domain.sessions import RefreshToken, Verdict, fingerprint, judge

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FRESH = RefreshToken("s", "p", "Ada", NOW + timedelta(days=30), spent_at=None, session_ended=False)


def test_a_fresh_token_is_granted() -> None:
    assert judge(FRESH, NOW) is Verdict.GRANT


def test_a_repeat_within_a_minute_is_answered_again() -> None:
    assert judge(replace(FRESH, spent_at=NOW - timedelta(seconds=60)), NOW) is Verdict.REPEAT


def test_a_spent_token_shown_later_ends_the_session() -> None:
    assert judge(replace(FRESH, spent_at=NOW - timedelta(seconds=61)), NOW) is Verdict.END_SESSION


def test_unknown_expired_and_signed_out_tokens_are_refused() -> None:
    assert judge(None, NOW) is Verdict.REFUSE
    assert judge(replace(FRESH, expires_at=NOW), NOW) is Verdict.REFUSE
    assert judge(replace(FRESH, session_ended=True), NOW) is Verdict.REFUSE


def test_only_a_fingerprint_is_kept() -> None:
    assert fingerprint("secret") == fingerprint("secret") != fingerprint("Secret")
    assert b"secret" not in fingerprint("secret")
