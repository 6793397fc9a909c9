"""The settings every service has, read from the environment with the prefix `CARDROOM_<SERVICE>_`.

A service subclasses `ServiceSettings`, sets `service` and its default port, and adds its own fields. The environment is
read here and nowhere else.
"""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cardroom.chassis.errors import SettingsError
from cardroom.chassis.setting_kinds import Address, AmqpUrl, DatabaseUrl, HttpUrl, misfit

if TYPE_CHECKING:
    from collections.abc import Iterable

STOP_SECONDS_MAX: Final = 9.5
"""Whoever is told to stop is gone within 10 s: what is left after its parts have stopped takes the rest."""

S = TypeVar("S", bound=BaseSettings)


def secret(default: Any, description: str) -> Any:
    """Return a field whose value is never shown: not in a repr, not in an error, not in a log."""
    return Field(default, description=description, repr=False, json_schema_extra={"secret": True})


class ServiceSettings(BaseSettings):
    """What the chassis needs. Subclass it: `class WalletSettings(ServiceSettings): service = "wallet"`."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    service: ClassVar[str] = "service"

    database_url: DatabaseUrl = secret("", "PostgreSQL of this service: postgresql://user:password@host:port/database.")
    database_pool_max: int = Field(default=10, ge=1, le=200, description="Most connections this process opens.")
    database_idle_in_transaction_ms: int = Field(
        default=3000,
        ge=100,
        description="The database ends a transaction that sat idle this long, so a stalled process frees its locks.",
    )
    amqp_url: AmqpUrl = secret("amqp://guest:guest@127.0.0.1:5672/", "RabbitMQ: amqp://user:password@host:port/vhost.")
    grpc_host: str = Field(default="127.0.0.1", description="Address the gRPC and ops servers listen on.")
    grpc_port: int = Field(default=7100, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    ops_port: int = Field(
        default_factory=lambda data: data["grpc_port"] + 1000 if data.get("grpc_port") else 0,
        ge=0,
        le=65535,
        description="Port of /metrics, /healthz and /readyz. Default: the gRPC port + 1000.",
    )
    advertise_address: Address = Field(
        default_factory=lambda data: f"127.0.0.1:{data.get('grpc_port', 0)}",
        validate_default=False,  # with a port of 0 nobody knows yet which it will be
        description="host:port under which other processes reach this one. Default: 127.0.0.1 and the gRPC port.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is logged."
    )
    otlp_endpoint: HttpUrl | None = Field(
        default=None, description="OTLP/gRPC collector, such as http://127.0.0.1:4317. None: no export."
    )
    trace_file: Path | None = Field(default=None, description="File that gets each span as a JSON line. For tests.")
    trace_sample_ratio: float = Field(default=1.0, ge=0, le=1, description="Share of new traces that are recorded.")
    jwks_url: HttpUrl = Field(
        default="http://127.0.0.1:8151/.well-known/jwks.json", description="Where the token keys are published."
    )
    issuer: str = Field(default="https://cardroom.local", description="`iss` that a token must carry.")
    audience: str = Field(default="cardroom", description="`aud` that a token must carry.")
    identity_address: Address = Field(
        default="127.0.0.1:7151", description="gRPC address of IdentityService, for service tokens."
    )
    client_id: str = Field(
        default="", description="Name under which this service gets its token. Default: its own name."
    )
    client_secret: str = secret("", "Secret of that client.")
    startup_seconds: float = Field(default=60, ge=0, description="How long to wait at start for the database.")
    linger_seconds: float = Field(
        default=1.5,
        ge=0,
        le=3,
        description="How long a service that was told to stop goes on serving: until the edge has noticed.",
    )
    stop_seconds: float = Field(
        default=STOP_SECONDS_MAX,
        gt=0,
        le=STOP_SECONDS_MAX,
        description="Longest time that a service's parts take to stop, lingering included. It ends 0.5 s later.",
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Give each service its own prefix, so that nobody has to repeat it."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.model_config["env_prefix"] = cls.env_prefix()

    @model_validator(mode="after")
    def _stops_after_lingering(self) -> Self:
        if self.linger_seconds > self.stop_seconds / 2:
            allowed = f"at most {self.stop_seconds / 2:g}, half of stop_seconds: its parts need the other half to stop"
            raise misfit("linger_seconds", self.linger_seconds, allowed)
        return self

    @classmethod
    def env_prefix(cls) -> str:
        """Return what the names of this service's variables start with."""
        return f"CARDROOM_{cls.service.upper()}_"

    @property
    def client_name(self) -> str:
        """The client id to ask service tokens with."""
        return self.client_id or self.service


def read(cls: type[S]) -> S:
    """Return the settings from the environment. Raises SettingsError naming every wrong or unknown variable."""
    wrong = _unknown(os.environ, cls.model_config.get("env_prefix", ""), cls.model_fields)
    try:
        settings = cls()
    except ValidationError as error:
        # A default made from other settings is no fault of its own when one of those is wrong.
        faults = [dict(problem) for problem in error.errors() if problem["type"] != "default_factory_not_called"]
        wrong += [_explain(cls, fault) for fault in faults]
        raise SettingsError("\n".join(wrong)) from None
    if wrong:
        raise SettingsError("\n".join(wrong))
    return settings


def load(cls: type[S]) -> S:
    """Return the settings from the environment; on a wrong one say which, and what is allowed, and exit with 2."""
    try:
        return read(cls)
    except SettingsError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _unknown(environment: Iterable[str], prefix: str, settings: Iterable[str]) -> list[str]:
    """Say of each variable with this prefix that is no setting what it could have meant; of its value nothing."""
    known = [name.upper() for name in settings]
    given = {name.upper(): name for name in environment}
    links = _service_links(given)
    told = []
    for name in sorted(given):
        own = name.removeprefix(prefix)
        if name.startswith(prefix) and own not in known and not name.startswith(links):
            near = get_close_matches(own, known, n=1)
            right = f"did you mean {prefix}{near[0]}?" if near else "docs/reference/settings.md lists what there is"
            told.append(f"{given[name]} is not a setting: {right}")
    return told


def _service_links(names: Iterable[str]) -> tuple[str, ...]:
    """Return what the variables start with that Kubernetes sets for its Services: `cardroom-table` has our prefix."""
    links = [name.removesuffix("SERVICE_HOST") for name in names if name.endswith("_SERVICE_HOST")]
    return tuple(f"{link}{part}" for link in links for part in ("SERVICE_", "PORT"))


def _explain(cls: type[BaseSettings], problem: dict[str, Any]) -> str:
    context = problem.get("ctx", {})
    name = str(problem["loc"][0] if problem["loc"] else context.get("setting", ""))
    prefix = cls.model_config.get("env_prefix", "")
    message = problem["msg"].removeprefix("Value error, ")
    if not name:
        # The input is all the settings, secrets among them.
        return f"{prefix}*: {message}"
    variable = f"{prefix}{name.upper()}"
    field = cls.model_fields.get(name)
    about = f" ({field.description})" if field and field.description else ""
    extra = field.json_schema_extra if field else None
    hidden = isinstance(extra, dict) and bool(extra.get("secret"))
    value = "a value that is not shown" if hidden else repr(context.get("value", problem.get("input")))
    if problem["type"] == "missing":
        return f"{variable} is not set{about}"
    return f"{variable} is {value}: {message}{about}"
