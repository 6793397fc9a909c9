"""The environment of each process of a stack: the documented variables, filled in for one run."""

from __future__ import annotations

import json
from pathlib import Path

from cardroom.local.plan import CLIENT_SCOPES, Place, Plan
from cardroom.local.settings import inherited_environment


def of_service(place: Place, plan: Plan, *, database_url: str, amqp_url: str, logs: Path) -> dict[str, str]:
    """What `python -m cardroom.<service>` is started with."""
    own = _shared(place, plan, database_url=database_url, amqp_url=amqp_url) | _OWN.get(place.service, _nothing)(plan)
    if plan.options.trace:
        own["TRACE_FILE"] = str(logs / f"{place.name}.spans.jsonl")
    prefix = f"CARDROOM_{place.service.upper()}_"
    return {
        **inherited_environment(),
        "PYTHONUNBUFFERED": "1",
        **{prefix + name: value for name, value in own.items()},
        **plan.overrides("*", place.service, place.name),
    }


def of_edge(plan: Plan) -> dict[str, str]:
    """What Envoy's configuration is rendered with."""
    lists = {f"{service.upper()}_ADDRESSES": ",".join(plan.addresses(service)) for service in _EDGE_SERVICES}
    # Every player of a local run comes from one address: limits meant for one client would stop them all.
    own = {
        "PORT": str(plan.edge_port),
        "ADMIN_PORT": str(plan.admin_port),
        "JWKS_URL": plan.jwks_url,
        "CONNECTION_RATE_PER_SECOND": "10000",
        "SIGN_IN_RATE_PER_SECOND": "1000",
        "SIGN_IN_ADDRESS_RATE_PER_MINUTE": "60000",
        **lists,
    }
    prefixed = {f"CARDROOM_EDGE_{name}": value for name, value in own.items()}
    return {**inherited_environment(), **prefixed, **plan.overrides("edge")}


def _shared(place: Place, plan: Plan, *, database_url: str, amqp_url: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database_url,
        "AMQP_URL": amqp_url,
        "GRPC_HOST": "127.0.0.1",
        "GRPC_PORT": str(place.grpc_port),
        "OPS_PORT": str(place.ops_port),
        "ADVERTISE_ADDRESS": place.address,
        "LOG_LEVEL": plan.options.log_level,
        "JWKS_URL": plan.jwks_url,
        "IDENTITY_ADDRESS": plan.addresses("gateway")[0],
        "CLIENT_ID": place.service,
        "CLIENT_SECRET": plan.client_secrets[place.service],
    }


def _table(plan: Plan) -> dict[str, str]:
    return {"DECK_KEY": plan.deck_key}


def _lobby(plan: Plan) -> dict[str, str]:
    return {
        "TABLE_ADDRESS": ",".join(plan.addresses("table")),
        "WALLET_ADDRESS": plan.addresses("wallet")[0],
        "CLOCK_ADDRESS": plan.addresses("clock")[0],
    }


def _clock(plan: Plan) -> dict[str, str]:
    return {"TABLE_ADDRESS": ",".join(plan.addresses("table"))}


def _gateway(plan: Plan) -> dict[str, str]:
    clients = [
        {"client_id": client, "secret": plan.client_secrets[client], "scopes": scopes.split()}
        for client, scopes in CLIENT_SCOPES.items()
    ]
    return {"CLIENTS": json.dumps(clients), "KEY_ENCRYPTION_KEY": plan.key_encryption_key}


def _nothing(_plan: Plan) -> dict[str, str]:
    return {}


_EDGE_SERVICES = ("gateway", "table", "lobby", "wallet", "clock", "spectator")
_OWN = {"table": _table, "lobby": _lobby, "clock": _clock, "gateway": _gateway}
