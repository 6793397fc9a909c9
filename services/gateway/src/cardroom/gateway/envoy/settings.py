"""The edge's settings, read from the environment with the prefix `CARDROOM_EDGE_`."""

from __future__ import annotations

import ipaddress
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from cardroom.chassis.setting_kinds import Address, HttpUrl


def _not_empty(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise ValueError("it must be at least one host:port")
    return value


Addresses = Annotated[tuple[Address, ...], NoDecode, AfterValidator(_not_empty)]


class EdgeSettings(BaseSettings):
    """What the Envoy configuration is made from. Lists are written with commas: `10.0.0.1:7101,10.0.0.2:7101`."""

    PREFIX: ClassVar[str] = "CARDROOM_EDGE_"
    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="Address that clients reach.")
    port: int = Field(default=8080, ge=1, le=65535, description="Port for gRPC, gRPC-Web and JSON alike.")
    admin_host: str = Field(
        default="127.0.0.1", description="Address of Envoy's admin page. Never reachable by clients."
    )
    admin_port: int = Field(default=9901, ge=1, le=65535, description="Port of Envoy's admin page.")
    concurrency: int = Field(default=1, ge=1, le=64, description="Envoy's worker threads: 1 on small machines.")

    gateway_addresses: Addresses = Field(
        default=("127.0.0.1:7151",), description="gRPC addresses, host:port, with commas."
    )
    table_addresses: Addresses = Field(
        default=("127.0.0.1:7101",), description="As above; a DNS name may stand for many."
    )
    lobby_addresses: Addresses = Field(default=("127.0.0.1:7111",), description="As above.")
    wallet_addresses: Addresses = Field(default=("127.0.0.1:7121",), description="As above.")
    clock_addresses: Addresses = Field(default=("127.0.0.1:7131",), description="As above.")
    spectator_addresses: Addresses = Field(default=("127.0.0.1:7141",), description="As above.")

    jwks_url: HttpUrl = Field(
        default="http://127.0.0.1:8151/.well-known/jwks.json", description="Where the token keys are."
    )
    jwks_cache_seconds: int = Field(default=60, ge=1, le=600, description="How long fetched keys are used.")
    issuer: str = Field(default="https://cardroom.local", description="`iss` that a token must carry.")
    audience: str = Field(default="cardroom", description="`aud` that a token must carry.")

    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("http://localhost:*", "http://127.0.0.1:*"),
        description="Origins of web clients, with commas; `*` at the end stands for anything, alone for any origin.",
    )
    request_bytes_max: int = Field(default=1024 * 1024, ge=1024, le=16 * 1024 * 1024, description="Largest request.")
    timeout_seconds: float = Field(default=15, gt=0, le=300, description="Longest time of a call that is not a stream.")
    try_seconds: float = Field(
        default=5, gt=0, le=300, description="After this long a call is also tried on another replica, if there is one."
    )
    stream_idle_seconds: float = Field(
        default=30,
        ge=11,
        le=3600,
        description="A stream that carries nothing for this long is dead: heartbeats come every 5 s.",
    )
    keepalive_seconds: float = Field(
        default=10,
        ge=5,
        le=10,
        description="How often idle HTTP/2 connections are pinged. A dead one is known 5 s later: within 15 s (9.5).",
    )
    health_check_seconds: float = Field(
        default=1,
        ge=0.1,
        le=2.5,
        description="How often each replica is asked for its health. Shorter than replicas linger when they stop.",
    )
    connections_max: int = Field(default=10_000, ge=1, description="Client connections open at once.")
    streams_per_connection_max: int = Field(
        default=2000, ge=1, le=100_000, description="Calls on one connection at once."
    )

    rate_per_second: int = Field(
        default=10_000, ge=1, description="Requests a second through this Envoy, all together."
    )
    connection_rate_per_second: int = Field(
        default=1000, ge=1, description="Requests a second on one client connection."
    )
    sign_in_rate_per_second: int = Field(default=100, ge=1, description="Sign-ins a second through this Envoy.")
    sign_in_address_rate_per_minute: int = Field(
        default=60, ge=1, description="Sign-ins a minute from one client address."
    )
    trusted_proxies: int = Field(
        default=0,
        ge=0,
        le=10,
        description="Proxies before Envoy that write X-Forwarded-For; 0: the connection is the client's.",
    )

    log_level: Literal["trace", "debug", "info", "warning", "error", "critical", "off"] = Field(
        default="warning", description="Least level that Envoy logs about itself."
    )
    access_log: bool = Field(
        default=False, description="Whether each call is logged, as JSON, without tokens or bodies."
    )
    otlp_endpoint: HttpUrl | None = Field(
        default=None, description="OTLP/gRPC collector for traces, http://host:port. None: none."
    )
    trace_sample_percent: float = Field(default=100, ge=0, le=100, description="Share of new traces that are recorded.")
    drain_seconds: int = Field(
        default=5, ge=0, le=600, description="How long a stop waits for clients to go elsewhere."
    )

    @field_validator("*", mode="before")
    @classmethod
    def _split(cls, value: object, info: object) -> object:
        name = getattr(info, "field_name", "")
        if isinstance(value, str) and name.endswith(("_addresses", "cors_origins")):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value


def is_literal(host: str) -> bool:
    """Whether `host` is an IP address, not a name to be looked up."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
