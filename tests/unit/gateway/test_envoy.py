"""One template for a local run, a container and a cluster."""

from __future__ import annotations

import base64
import functools
import json
from typing import Any

import pytest
import yaml
from google.protobuf import descriptor_pb2
from google.rpc import error_details_pb2, status_pb2

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.settings import read
from cardroom.gateway.envoy import EdgeSettings, render, surface
from cardroom.gateway.envoy.replies import replies


@functools.cache
def configuration(**changes: Any) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(render(EdgeSettings(**changes)), Loader=yaml.CSafeLoader)
    return loaded


def connection_manager(loaded: dict[str, Any]) -> dict[str, Any]:
    (listener,) = loaded["static_resources"]["listeners"]
    manager: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return manager


def routes(loaded: dict[str, Any]) -> list[dict[str, Any]]:
    (host,) = connection_manager(loaded)["route_config"]["virtual_hosts"]
    found: list[dict[str, Any]] = host["routes"]
    return found


def needs_token(route: dict[str, Any]) -> bool:
    per_filter = route.get("typed_per_filter_config", {})
    return not per_filter.get("envoy.filters.http.jwt_authn", {}).get("disabled", False)


def cluster(loaded: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [known for known in loaded["static_resources"]["clusters"] if known["name"] == name]
    return dict(found)


def test_only_signing_in_and_tools_need_no_token() -> None:
    opened = [
        route["match"].get("path") or route["match"]["prefix"]
        for route in routes(configuration())
        if not needs_token(route)
    ]
    assert set(opened) == {*surface.SIGN_IN, *surface.TOOLS, "/"}
    (last,) = [route for route in routes(configuration()) if route["match"].get("prefix") == "/"]
    assert last["route"]["cluster"] == "nowhere"


def test_internal_services_have_no_route() -> None:
    reachable = [str(route["match"]) for route in routes(configuration())]
    for name in ("TableSeatService", "TableTimeService", "TableForwardService"):
        assert not any(name in match for match in reachable)


def test_every_service_of_the_contracts_is_public_or_known_to_be_internal() -> None:
    """A new service: list it in `surface.PUBLIC` if clients may reach it, and here if they may not."""
    internal = {"cardroom.table.v1.TableSeatService", "cardroom.table.v1.TableTimeService"}
    files = descriptor_pb2.FileDescriptorSet.FromString(surface.descriptor_set()).file
    services = {f"{file.package}.{service.name}" for file in files for service in file.service}
    assert services == set(surface.PUBLIC) | internal


def test_streams_have_no_timeout_and_everything_else_has_one() -> None:
    by_path = {
        str(route["match"].get("path") or route["match"].get("prefix")): route for route in routes(configuration())
    }
    for path in ("/cardroom.table.v1.TableService/Play", "/cardroom.spectator.v1.SpectatorService/Watch"):
        assert by_path[path]["route"]["timeout"] == "0s"
        assert by_path[path]["route"]["idle_timeout"] == "30.0s"
    assert by_path["/cardroom.table.v1.TableService/"]["route"]["timeout"] == "15.0s"
    order = list(by_path)
    assert order.index("/cardroom.table.v1.TableService/Play") < order.index("/cardroom.table.v1.TableService/")


def test_addresses_are_static_and_names_are_looked_up() -> None:
    loaded = configuration(table_addresses="10.0.0.1:7101, 10.0.0.2:7101", lobby_addresses="lobby.cardroom.svc:7111")
    assert cluster(loaded, "table")["type"] == "STATIC"
    assert len(cluster(loaded, "table")["load_assignment"]["endpoints"][0]["lb_endpoints"]) == 2
    assert cluster(loaded, "lobby")["cluster_type"]["name"] == "envoy.clusters.dns"


def test_an_issuer_elsewhere_is_asked_over_tls() -> None:
    loaded = configuration(jwks_url="https://login.example.org/keys", issuer="https://login.example.org")
    keys = cluster(loaded, "jwks")
    assert keys["transport_socket"]["typed_config"]["sni"] == "login.example.org"
    assert keys["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]["socket_address"] == {
        "address": "login.example.org",
        "port_value": 443,
    }


def test_traces_and_logs_are_there_when_asked_for() -> None:
    assert "tracing" not in connection_manager(configuration())
    assert "access_log" not in connection_manager(configuration())
    loud = configuration(otlp_endpoint="http://collector:4317", access_log=True)
    assert connection_manager(loud)["tracing"]["provider"]["name"] == "envoy.tracers.opentelemetry"
    assert cluster(loud, "otlp")
    written = json.dumps(connection_manager(loud)["access_log"]).lower()
    assert "authorization" not in written
    assert "nq" in written, "paths are logged without their queries"


def test_every_reply_of_the_edge_says_the_same_to_all_clients() -> None:
    for reply in replies():
        header = reply.details_header + "=" * (-len(reply.details_header) % 4)
        status = status_pb2.Status.FromString(base64.b64decode(header))
        info = error_details_pb2.ErrorInfo()
        assert status.details[0].Unpack(info)
        assert (status.code, info.reason, info.domain) == (reply.grpc_status, reply.reason, "cardroom")


@pytest.mark.parametrize(
    "changes",
    [
        {"table_addresses": "7101"},
        {"table_addresses": ""},
        {"table_addresses": "host:0"},
        {"jwks_url": "gateway:8151"},
        {"port": 0},
        {"stream_idle_seconds": 5},
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        EdgeSettings(**changes)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("TABLE_ADDRESSES", "127.0.0.1:1,7101", "host:port"),
        ("LOBBY_ADDRESSES", "", "at least one host:port"),
        ("JWKS_URL", "gateway:8151", "http://"),
        ("OTLP_ENDPOINT", "collector", "http://"),
        ("PORT", "x", "integer"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"CARDROOM_EDGE_{name}", value)
    with pytest.raises(SettingsError) as refused:
        read(EdgeSettings)
    assert str(refused.value).startswith(f"CARDROOM_EDGE_{name} is ")
    assert allowed in str(refused.value)


def test_a_variable_of_the_edge_that_is_no_setting_is_named_with_the_nearest_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARDROOM_EDGE_TABLE_ADRESSES", "127.0.0.1:1")
    with pytest.raises(SettingsError) as refused:
        read(EdgeSettings)
    told = "CARDROOM_EDGE_TABLE_ADRESSES is not a setting: did you mean CARDROOM_EDGE_TABLE_ADDRESSES?"
    assert str(refused.value) == told


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDROOM_EDGE_TABLE_ADDRESSES", "127.0.0.1:1,127.0.0.1:2")
    monkeypatch.setenv("CARDROOM_EDGE_CORS_ORIGINS", "https://club.example.org")
    settings = EdgeSettings()
    assert settings.table_addresses == ("127.0.0.1:1", "127.0.0.1:2")
    assert settings.cors_origins == ("https://club.example.org",)
