"""The table's settings: leases that are renewed in time, and keys that are never shown."""

from __future__ import annotations

import base64

import pytest

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.settings import read
from cardroom.table.settings import TableSettings

KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_TABLE_DECK_KEY", KEY)


def test_leases_that_are_renewed_too_slowly_are_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_TABLE_LEASE_RENEW_SECONDS", "1.25")
    assert read(TableSettings).lease_renew_seconds == 1.25
    monkeypatch.setenv("CARDROOM_TABLE_LEASE_RENEW_SECONDS", "1.3")
    with pytest.raises(SettingsError, match=r"CARDROOM_TABLE_LEASE_RENEW_SECONDS is 1\.3: at most 1\.25"):
        read(TableSettings)


@pytest.mark.parametrize("name", ["DECK_KEY", "DECK_KEYS_OLD", "DECK_KEYS_LOST"])
def test_a_deck_key_is_not_shown_wherever_it_was_put_by_mistake(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"CARDROOM_TABLE_{name}", KEY[:-5])
    with pytest.raises(SettingsError) as refused:
        read(TableSettings)
    assert str(refused.value).startswith(f"CARDROOM_TABLE_{name} is a value that is not shown")
    assert KEY[:20] not in str(refused.value)
