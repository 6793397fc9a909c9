"""What a stack consists of: its options, the ports and secrets of one run, and each process's environment."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from cardroom.local.errors import RunInvalid
from cardroom.local.ports import free_port

SERVICES = ("gateway", "wallet", "clock", "table", "lobby", "spectator")
# Documented in the README; a demo takes them where they are free.
_GRPC_PORTS = {"table": 7101, "lobby": 7111, "wallet": 7121, "clock": 7131, "spectator": 7141, "gateway": 7151}
_EDGE_PORT, _ADMIN_PORT = 8080, 9901
_OPS_OFFSET = 1000
_REPLICAS_MAX = 10

# What each client may do: the services themselves, the operator, and a sandbox for other teams' wallet code.
CLIENT_SCOPES: Mapping[str, str] = MappingProxyType(
    {
        "table": "table.forward",
        "lobby": "table.open table.seat wallet.read wallet.hold clock.bank",
        "wallet": "table.seat",
        "clock": "table.time",
        "spectator": "table.forward",
        "gateway": "wallet.grant",
        "operator": "operator wallet.read",
        "sandbox": "wallet.read wallet.hold wallet.transfer wallet.grant",
    }
)


@dataclass(frozen=True, slots=True)
class StackOptions:
    """How a stack is to be.

    `env` overrides variables by process: the key is a service (`"table"`, all its replicas), one process (`"table-0"`),
    `"edge"` (the rendering of Envoy's configuration) or `"*"` (every service). `ports="default"` takes the documented
    ports where they are free. `durable=False` trades the safety of commits against a machine's crash for speed.
    `trace` makes every process write its spans to `<process>.spans.jsonl` beside its log.
    """

    table_replicas: int = 2
    lobby_replicas: int = 1
    services: tuple[str, ...] = SERVICES
    edge: bool = True
    ports: Literal["default", "free"] = "free"
    env: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    durable: bool = True
    trace: bool = False
    log_level: str = "info"
    keep_logs: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name, replicas in (("table_replicas", self.table_replicas), ("lobby_replicas", self.lobby_replicas)):
            if not 1 <= replicas <= _REPLICAS_MAX:
                raise RunInvalid(f"{name} is {replicas}; 1 to {_REPLICAS_MAX} are possible")
        if unknown := set(self.services) - set(SERVICES):
            raise RunInvalid(f"no such service: {', '.join(sorted(unknown))}; there are {', '.join(SERVICES)}")


@dataclass(frozen=True, slots=True)
class Place:
    """One service process: its name, its service, its ports."""

    name: str
    service: str
    grpc_port: int
    ops_port: int

    @property
    def address(self) -> str:
        """Where its gRPC server is reached."""
        return f"127.0.0.1:{self.grpc_port}"


class Plan:
    """The ports and secrets of one run. Fixed for its life, so that a restarted process is where it was."""

    def __init__(self, options: StackOptions) -> None:
        """Choose ports and make secrets."""
        self.options = options
        wants_default = options.ports == "default"
        self.edge_port = free_port(_EDGE_PORT if wants_default else None)
        self.admin_port = free_port(_ADMIN_PORT if wants_default else None)
        self.places = [place for service in options.services for place in self._places(service)]
        self.client_secrets = {client: secrets.token_urlsafe(24) for client in CLIENT_SCOPES}
        self.deck_key = base64.b64encode(secrets.token_bytes(32)).decode()
        self.key_encryption_key = base64.b64encode(secrets.token_bytes(32)).decode()

    def _places(self, service: str) -> list[Place]:
        replicas = {"table": self.options.table_replicas, "lobby": self.options.lobby_replicas}.get(service, 1)
        is_numbered = service == "table" or replicas > 1
        names = [f"{service}-{index}" for index in range(replicas)] if is_numbered else [service]
        places = []
        for index, name in enumerate(names):
            default = _GRPC_PORTS[service] + index if self.options.ports == "default" else None
            grpc_port = free_port(default)
            places.append(Place(name, service, grpc_port, free_port(default and default + _OPS_OFFSET)))
        return places

    def addresses(self, service: str) -> list[str]:
        """The gRPC addresses of a service's processes; its documented one when this run does not start it."""
        found = [place.address for place in self.places if place.service == service]
        return found or [f"127.0.0.1:{_GRPC_PORTS[service]}"]

    @property
    def jwks_url(self) -> str:
        """Where the token keys are published."""
        ops = [place.ops_port for place in self.places if place.service == "gateway"]
        return f"http://127.0.0.1:{ops[0] if ops else 8151}/.well-known/jwks.json"

    def overrides(self, *keys: str) -> dict[str, str]:
        """The variables that the options override, later keys winning."""
        return {name: value for key in keys for name, value in self.options.env.get(key, {}).items()}
