"""The lobby's settings: CARDROOM_LOBBY_*."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cardroom.chassis.settings import ServiceSettings


class LobbySettings(ServiceSettings):
    """What the lobby needs besides the chassis' settings."""

    service: ClassVar[str] = "lobby"

    grpc_port: int = Field(default=7111, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    table_address: str = Field(
        default="127.0.0.1:7101",
        description="gRPC of the table service: IPv4 replicas, comma-separated, or a DNS name.",
    )
    wallet_address: str = Field(default="127.0.0.1:7121", description="gRPC address of the wallet.")
    clock_address: str = Field(default="127.0.0.1:7131", description="gRPC address of the clock.")
