"""What a stack is made of, before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cardroom.local import RunInvalid, StackOptions, environment
from cardroom.local.plan import CLIENT_SCOPES, SERVICES, Plan


def _environment(plan: Plan, name: str) -> dict[str, str]:
    place = next(place for place in plan.places if place.name == name)
    return environment.of_service(place, plan, database_url="postgresql://db", amqp_url="amqp://mq", logs=Path("/logs"))


def test_there_are_two_table_replicas_and_one_of_each_other_service() -> None:
    names = [place.name for place in Plan(StackOptions()).places]
    assert sorted(names) == ["clock", "gateway", "lobby", "spectator", "table-0", "table-1", "wallet"]


def test_several_lobbies_share_what_the_edge_sends() -> None:
    plan = Plan(StackOptions(lobby_replicas=2))
    assert [place.name for place in plan.places if place.service == "lobby"] == ["lobby-0", "lobby-1"]
    assert environment.of_edge(plan)["CARDROOM_EDGE_LOBBY_ADDRESSES"] == ",".join(plan.addresses("lobby"))


def test_no_two_processes_share_a_port() -> None:
    plan = Plan(StackOptions(table_replicas=5, lobby_replicas=2))
    ports = [port for place in plan.places for port in (place.grpc_port, place.ops_port)]
    ports += [plan.edge_port, plan.admin_port]
    assert len(set(ports)) == len(ports)


def test_each_process_gets_the_documented_variables_with_its_services_prefix() -> None:
    plan = Plan(StackOptions())
    table = _environment(plan, "table-1")
    place = next(place for place in plan.places if place.name == "table-1")
    assert table["CARDROOM_TABLE_DATABASE_URL"] == "postgresql://db"
    assert table["CARDROOM_TABLE_GRPC_PORT"] == str(place.grpc_port)
    assert table["CARDROOM_TABLE_ADVERTISE_ADDRESS"] == place.address
    assert table["CARDROOM_TABLE_DECK_KEY"] == plan.deck_key


def test_replicas_share_one_deck_key_and_two_runs_do_not() -> None:
    plan = Plan(StackOptions())
    keys = {_environment(plan, f"table-{index}")["CARDROOM_TABLE_DECK_KEY"] for index in (0, 1)}
    assert keys == {plan.deck_key}
    assert Plan(StackOptions()).deck_key != plan.deck_key


def test_the_gateway_knows_every_client_with_its_scopes() -> None:
    plan = Plan(StackOptions())
    clients = json.loads(_environment(plan, "gateway")["CARDROOM_GATEWAY_CLIENTS"])
    assert {client["client_id"]: " ".join(client["scopes"]) for client in clients} == dict(CLIENT_SCOPES)
    assert set(SERVICES) <= set(CLIENT_SCOPES)


def test_the_most_particular_override_wins() -> None:
    name = "CARDROOM_TABLE_LOG_LEVEL"
    plan = Plan(StackOptions(env={"*": {name: "error"}, "table": {name: "warning"}, "table-1": {name: "debug"}}))
    assert _environment(plan, "table-0")[name] == "warning"
    assert _environment(plan, "table-1")[name] == "debug"
    assert _environment(plan, "wallet")[name] == "error"


def test_only_the_lobby_and_the_wallet_may_seat_and_only_the_clock_ends_turns() -> None:
    holders = {scope: [c for c, scopes in CLIENT_SCOPES.items() if scope in scopes.split()] for scope in _INTERNAL}
    assert holders["table.time"] == ["clock"]
    assert not set(holders["table.seat"]) & {"operator", "sandbox"}


@pytest.mark.parametrize("name", ["table_replicas", "lobby_replicas"])
@pytest.mark.parametrize("replicas", [0, 11, -1])
def test_a_number_of_replicas_that_cannot_be_is_refused(name: str, replicas: int) -> None:
    with pytest.raises(RunInvalid, match=f"{name} is {replicas}; 1 to 10"):
        StackOptions(**{name: replicas})  # type: ignore[arg-type]


def test_a_service_that_is_not_there_is_refused() -> None:
    with pytest.raises(RunInvalid, match="no such service: bank"):
        StackOptions(services=("table", "bank"))


_INTERNAL = ("table.time", "table.seat")
