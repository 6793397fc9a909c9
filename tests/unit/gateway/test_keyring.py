"""Signing keys: published before they sign, and until the last token they signed has expired."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.gateway.domain.keyring import RotationPolicy, expired, next_begin, signer

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
POLICY = RotationPolicy(
    period=timedelta(days=7), ahead=timedelta(hours=1), token_life=timedelta(hours=1), leeway=timedelta(minutes=1)
)


@dataclass(frozen=True)
class Key:
    """A key, as far as the schedule knows it."""

    signs_from: datetime
    made_at: datetime = BEGAN


def test_the_first_key_signs_at_once() -> None:
    assert next_begin([], BEGAN, POLICY) == BEGAN


def test_the_next_key_is_made_an_hour_before_it_signs() -> None:
    due = BEGAN + timedelta(days=7)
    keys = [Key(BEGAN)]
    assert next_begin(keys, due - timedelta(hours=1, seconds=1), POLICY) is None
    assert next_begin(keys, due - timedelta(hours=1), POLICY) == due
    assert next_begin([*keys, Key(due)], due, POLICY) is None


def test_after_a_long_stop_the_old_key_signs_until_the_new_one_is_known() -> None:
    now = BEGAN + timedelta(days=30)
    begin = next_begin([Key(BEGAN)], now, POLICY)
    assert begin == now + timedelta(hours=1)
    assert signer([Key(BEGAN), Key(begin)], now) == Key(BEGAN)
    assert signer([Key(BEGAN), Key(begin)], begin) == Key(begin)


def test_a_key_stays_published_until_its_last_token_has_expired() -> None:
    old, new = Key(BEGAN), Key(BEGAN + timedelta(days=7))
    over = new.signs_from + timedelta(hours=1, minutes=1)
    assert expired([new, old], over - timedelta(seconds=1), POLICY) == []
    assert expired([new, old], over, POLICY) == [old]
    assert expired([new], over + timedelta(days=90), POLICY) == []


def test_without_a_key_whose_time_has_come_nothing_is_signed() -> None:
    with pytest.raises(ValueError, match="none of 1 keys"):
        signer([Key(BEGAN)], BEGAN - timedelta(seconds=1))


def test_a_key_must_be_published_before_it_signs() -> None:
    for ahead in (timedelta(0), timedelta(days=7)):
        with pytest.raises(ValueError, match="published between"):
            RotationPolicy(timedelta(days=7), ahead, timedelta(hours=1), timedelta(0))


@pytest.mark.slow
@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=60))
def test_whenever_replicas_look_every_living_token_can_be_checked(pauses: list[int]) -> None:
    """Pauses are minutes between two looks; a token is signed at each."""
    now, keys, tokens = BEGAN, list[Key](), list[tuple[Key, datetime]]()
    for pause in pauses:
        begin = next_begin(keys, now, POLICY)
        if begin is not None:
            keys.append(Key(begin, now))
        keys = [key for key in keys if key not in expired(keys, now, POLICY)]
        key = signer(keys, now)
        assert key.signs_from - key.made_at >= POLICY.ahead or key.made_at == BEGAN
        tokens = [(used, at) for used, at in tokens if now - at < POLICY.token_life]
        assert all(used in keys for used, _ in tokens)
        tokens.append((key, now))
        now += timedelta(minutes=pause)
