"""Settings come from the environment, each service's with its own prefix; a wrong one is named."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import Field

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.settings import ServiceSettings, load, read


class CroupierSettings(ServiceSettings):
    service: ClassVar[str] = "croupier"
    grpc_port: int = Field(default=7900, ge=0, le=65535)
    tables_max: int = Field(default=9, ge=1, description="Most tables.")


def test_each_service_reads_variables_with_its_own_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_CROUPIER_TABLES_MAX", "3")
    monkeypatch.setenv("TABLES_MAX", "4")
    assert read(CroupierSettings).tables_max == 3
    assert ServiceSettings.env_prefix() == "CARDROOM_SERVICE_"


def test_the_ops_port_and_the_advertised_address_follow_the_grpc_port(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = CroupierSettings()
    assert (settings.ops_port, settings.advertise_address) == (8900, "127.0.0.1:7900")
    monkeypatch.setenv("CARDROOM_CROUPIER_GRPC_PORT", "7102")
    assert read(CroupierSettings).ops_port == 8102


def test_a_wrong_value_is_refused_with_the_variable_the_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARDROOM_CROUPIER_TABLES_MAX", "none")
    monkeypatch.setenv("CARDROOM_CROUPIER_LOG_LEVEL", "loud")
    with pytest.raises(SettingsError) as refused:
        read(CroupierSettings)
    text = str(refused.value)
    assert "CARDROOM_CROUPIER_TABLES_MAX is 'none'" in text
    assert "Most tables." in text
    assert "CARDROOM_CROUPIER_LOG_LEVEL is 'loud'" in text
    assert "'debug', 'info', 'warning' or 'error'" in text


def test_a_service_with_wrong_settings_exits_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CARDROOM_CROUPIER_GRPC_PORT", "70000")
    with pytest.raises(SystemExit) as exited:
        load(CroupierSettings)
    assert exited.value.code == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1, "not of the settings that follow from it"
    assert told[0].startswith("CARDROOM_CROUPIER_GRPC_PORT is '70000'")


class StrictSecretSettings(ServiceSettings):
    service: ClassVar[str] = "strict"
    client_secret: str = Field(default="", min_length=30, repr=False, json_schema_extra={"secret": True})


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_STRICT_CLIENT_SECRET", "hunter2")
    with pytest.raises(SettingsError) as refused:
        read(StrictSecretSettings)
    assert "CARDROOM_STRICT_CLIENT_SECRET" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    shown = repr(CroupierSettings(database_url="postgresql://u:hunter2@h/d", client_secret="hunter2"))
    assert "hunter2" not in shown
