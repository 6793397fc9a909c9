"""The gateway's settings, read from the environment with the prefix `CARDROOM_GATEWAY_`."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from cardroom.chassis.setting_kinds import Json, misfit
from cardroom.chassis.settings import ServiceSettings, secret
from cardroom.gateway.domain.clients import Client, ClientDirectory
from cardroom.gateway.domain.keyring import RotationPolicy
from cardroom.gateway.vault import decode_key


class ClientSettings(BaseModel):
    """One client of the list: its secret, or the SHA-256 of it in hex."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    client_id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")
    secret: SecretStr | None = Field(default=None, min_length=8)
    secret_sha256: str | None = Field(default=None, pattern=r"^[0-9a-fA-F]{64}$")
    scopes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        if (self.secret is None) == (self.secret_sha256 is None):
            raise ValueError(f"client {self.client_id!r} needs either secret or secret_sha256")
        return self

    def client(self) -> Client:
        """Return the client for the directory."""
        if self.secret is not None:
            digest = hashlib.sha256(self.secret.get_secret_value().encode()).digest()
        else:
            digest = bytes.fromhex(self.secret_sha256 or "")
        return Client(self.client_id, digest, self.scopes)


class GatewaySettings(ServiceSettings):
    """What the identity service needs."""

    service: ClassVar[str] = "gateway"

    grpc_port: int = Field(default=7151, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    key_encryption_key: str = secret("", "32 bytes in base64 that seal the signing keys in the database.")
    clients: Json[tuple[ClientSettings, ...]] = secret(
        (), "JSON list of clients: client_id, secret or secret_sha256 (hex), scopes (a list)."
    )
    access_token_seconds: int = Field(default=900, ge=1, le=3600, description="Life of a player's access token.")
    service_token_seconds: int = Field(default=3600, ge=1, le=86_400, description="Life of a service's token.")
    refresh_token_days: float = Field(default=30, gt=0, le=365, description="Life of a refresh token.")
    key_period_seconds: float = Field(default=7 * 86_400, ge=1, description="How long a signing key signs.")
    key_ahead_seconds: float = Field(
        default=3600,
        gt=0,
        description="How long before it signs a key is published: longer than anyone keeps keys cached.",
    )
    key_refresh_seconds: float = Field(
        default=10, gt=0, le=60, description="How often each replica looks for new keys."
    )

    @field_validator("key_encryption_key")
    @classmethod
    def _is_a_key(cls, value: str) -> str:
        if value:
            decode_key(value)
        return value

    @field_validator("clients")
    @classmethod
    def _are_a_directory(cls, value: tuple[ClientSettings, ...]) -> tuple[ClientSettings, ...]:
        ClientDirectory(entry.client() for entry in value)
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.key_refresh_seconds >= self.key_ahead_seconds:
            allowed = f"below {self.key_ahead_seconds:g}, or a key would sign before it is known"
            raise misfit("key_refresh_seconds", self.key_refresh_seconds, allowed)
        try:
            self.rotation()
        except ValueError as no:
            raise misfit("key_ahead_seconds", self.key_ahead_seconds, str(no)) from None
        return self

    def rotation(self) -> RotationPolicy:
        """Return how keys rotate."""
        longest = max(self.access_token_seconds, self.service_token_seconds)
        return RotationPolicy(
            period=timedelta(seconds=self.key_period_seconds),
            ahead=timedelta(seconds=self.key_ahead_seconds),
            token_life=timedelta(seconds=longest),
            leeway=timedelta(seconds=60),
        )

    def directory(self) -> ClientDirectory:
        """Return the clients."""
        return ClientDirectory(entry.client() for entry in self.clients)
