"""Rule 10.6: 30 s behind, and no setting that shortens it without saying what it does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.settings import read
from cardroom.spectator.settings import SpectatorSettings


def test_10_6_watchers_are_30_s_behind() -> None:
    assert read(SpectatorSettings).delay == timedelta(seconds=30)


def test_10_6_a_shorter_delay_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_SPECTATOR_DELAY_SECONDS", "10")
    with pytest.raises(SettingsError, match=r"CARDROOM_SPECTATOR_DELAY_SECONDS"):
        read(SpectatorSettings)


def test_tests_may_shorten_it_under_a_name_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_SPECTATOR_DELAY_SECONDS_FOR_TESTS_ONLY", "0.5")
    assert read(SpectatorSettings).delay == timedelta(seconds=0.5)


def test_changes_are_kept_for_longer_than_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_SPECTATOR_RETENTION_SECONDS", "40")
    with pytest.raises(SettingsError, match=r"CARDROOM_SPECTATOR_RETENTION_SECONDS is 40\.0: at least 60: "):
        read(SpectatorSettings)
