"""The gateway's settings hold secrets: what is wrong with one is said without showing any."""

from __future__ import annotations

import pytest

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.settings import read
from cardroom.gateway.settings import GatewaySettings

ONE = '{"client_id": "lobby", "secret": "hunter2hunter2"}'


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("CLIENTS", "hunter2hunter2", "it must be JSON"),
        ("CLIENTS", f"[{ONE}, {ONE}]", "listed twice"),
        ("CLIENTS", '[{"client_id": "lobby", "secret": "hunter2hunter2", "scopes": ["play"]}]', "players only"),
        ("CLIENTS", '[{"client_id": "lobby"}]', "either secret or secret_sha256"),
        ("KEY_REFRESH_SECONDS", "60", "below 60"),
        ("KEY_AHEAD_SECONDS", "700000", "before it signs"),
    ],
)
def test_a_wrong_setting_is_named_and_no_secret_is_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv("CARDROOM_GATEWAY_DATABASE_URL", "postgresql://u:hunter2@h/d")
    monkeypatch.setenv("CARDROOM_GATEWAY_CLIENTS", f"[{ONE}]")
    monkeypatch.setenv("CARDROOM_GATEWAY_KEY_AHEAD_SECONDS", "60")
    monkeypatch.setenv(f"CARDROOM_GATEWAY_{name}", value)
    with pytest.raises(SettingsError) as refused:
        read(GatewaySettings)
    text = str(refused.value)
    assert text.startswith(f"CARDROOM_GATEWAY_{name} is ")
    assert told in text
    assert "hunter2" not in text
