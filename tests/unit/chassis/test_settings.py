"""Settings come from the environment, each service's with its own prefix; a wrong one is named."""

from __future__ import annotations

from typing import ClassVar, Self

import pytest
from pydantic import Field, model_validator

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.service import LAST_SECONDS
from cardroom.chassis.setting_kinds import Addresses, Json, misfit
from cardroom.chassis.settings import ServiceSettings, load, read, secret


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
    monkeypatch.setenv("CARDROOM_CROUPIER_GRPC_PORT", "0")
    assert read(CroupierSettings).grpc_port == 0


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


class ListingSettings(ServiceSettings):
    service: ClassVar[str] = "listing"
    table_address: Addresses = Field(default="127.0.0.1:7101", description="Where tables are.")
    clients: Json[tuple[int, ...]] = secret((), "JSON list of clients.")
    keep_seconds: int = 10
    sweep_seconds: int = 5

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.keep_seconds == 13:
            raise ValueError("thirteen is not for us")
        if self.sweep_seconds >= self.keep_seconds:
            raise misfit("sweep_seconds", self.sweep_seconds, f"below {self.keep_seconds}")
        return self


def refusal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(f"CARDROOM_LISTING_{name.upper()}", value)
    with pytest.raises(SettingsError) as refused:
        read(ListingSettings)
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("advertise_address", "table", "host:port"),
        ("advertise_address", "table:0", "1 to 65535"),
        ("table_address", "10.0.0.1:7101,10.0.0.2", "host:port"),
        ("identity_address", "", "host:port"),
        ("jwks_url", "gateway:8151", "http://"),
        ("otlp_endpoint", "collector:4317", "http://"),
    ],
)
def test_a_place_that_none_can_be_at_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    text = refusal(monkeypatch, **{name: value})
    assert text.startswith(f"CARDROOM_LISTING_{name.upper()} is {value!r}: ")
    assert allowed in text


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("database_url", "http://u:hunter2@h/d", "postgresql://"),
        ("database_url", "postgresql://u:hunter2@h:port/d", "postgresql://"),
        ("database_url", "postgresql:hunter2", "postgresql://"),
        ("amqp_url", "https://u:hunter2@h/", "amqp://"),
        ("amqp_url", "amqp://u:hunter2@", "amqp://"),
        ("clients", "hunter2", "JSON"),
        ("clients", '["hunter2"]', "integer"),
    ],
)
def test_a_secret_place_or_list_is_refused_at_start_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    text = refusal(monkeypatch, **{name: value})
    assert text.startswith(f"CARDROOM_LISTING_{name.upper()} is a value that is not shown: ")
    assert allowed in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sweep_seconds": "10"}, "CARDROOM_LISTING_SWEEP_SECONDS is 10: below 10"),
        ({"keep_seconds": "13"}, "CARDROOM_LISTING_*: thirteen is not for us"),
    ],
)
def test_settings_that_do_not_go_together_are_told_without_the_secrets_among_them(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, str], told: str
) -> None:
    assert refusal(monkeypatch, database_url="postgresql://u:hunter2@h/d", **changes) == told


def test_places_that_can_be_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {
        "database_url": "postgresql://u:p%40ss@h1:5432,h2:5433/d?sslmode=require",
        "amqp_url": "amqps://u:p@broker/vhost",
        "table_address": "10.0.0.1:7101,10.0.0.2:7101",
        "identity_address": "[::1]:7151",
        "jwks_url": "https://login.example.org/keys",
        "clients": "[1, 2]",
    }
    for name, value in taken.items():
        monkeypatch.setenv(f"CARDROOM_LISTING_{name.upper()}", value)
    settings = read(ListingSettings)
    assert {name: getattr(settings, name) for name in taken} == {**taken, "clients": (1, 2)}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("CARDROOM_CROUPIER_TABELS_MAX", "did you mean CARDROOM_CROUPIER_TABLES_MAX?"),
        ("CARDROOM_CROUPIER_LOGLEVEL", "did you mean CARDROOM_CROUPIER_LOG_LEVEL?"),
        ("cardroom_croupier_tables_mx", "did you mean CARDROOM_CROUPIER_TABLES_MAX?"),
        ("CARDROOM_CROUPIER_", "docs/reference/settings.md lists what there is"),
        ("CARDROOM_CROUPIER_X", "docs/reference/settings.md lists what there is"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused_with_the_nearest_that_is_and_without_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    monkeypatch.setenv(name, "hunter2")
    with pytest.raises(SettingsError) as refused:
        read(CroupierSettings)
    assert str(refused.value) == f"{name} is not a setting: {told}"


def test_unknown_variables_and_wrong_values_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_CROUPIER_TABLE_MAX", "3")
    monkeypatch.setenv("CARDROOM_CROUPIER_LOG_LEVEL", "loud")
    with pytest.raises(SettingsError) as refused:
        read(CroupierSettings)
    first, second = str(refused.value).splitlines()
    assert first.startswith("CARDROOM_CROUPIER_TABLE_MAX is not a setting")
    assert second.startswith("CARDROOM_CROUPIER_LOG_LEVEL is 'loud'")


def test_variables_of_other_services_tools_and_kubernetes_are_none_of_a_services_business(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CARDROOM_TABLE_TURM_MS", "CARDROOM_TOKEN", "CARDROOM_CROUPIERS", "CROUPIER_X"):
        monkeypatch.setenv(name, "1")
    # What a pod is told of a Service cardroom-croupier, and of one of its ports that has a Service of its own.
    for service in ("CARDROOM_CROUPIER", "CARDROOM_CROUPIER_WEB"):
        monkeypatch.setenv(f"{service}_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv(f"{service}_SERVICE_PORT", "7900")
        monkeypatch.setenv(f"{service}_SERVICE_PORT_GRPC", "7900")
        monkeypatch.setenv(f"{service}_PORT", "tcp://10.0.0.1:7900")
        monkeypatch.setenv(f"{service}_PORT_7900_TCP_ADDR", "10.0.0.1")
    assert read(CroupierSettings).tables_max == 9


def test_no_stop_may_take_longer_than_the_10_seconds_that_are_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(CroupierSettings).stop_seconds + LAST_SECONDS == 10
    assert refusal(monkeypatch, stop_seconds="9.6").startswith("CARDROOM_LISTING_STOP_SECONDS is '9.6': ")
    assert refusal(monkeypatch, stop_seconds="9.5", linger_seconds="3.1").startswith("CARDROOM_LISTING_LINGER_SECONDS")


def test_who_lingers_leaves_half_of_the_stop_to_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = refusal(monkeypatch, stop_seconds="2", linger_seconds="1.2")
    assert told.startswith("CARDROOM_LISTING_LINGER_SECONDS is 1.2: at most 1, half of stop_seconds")
