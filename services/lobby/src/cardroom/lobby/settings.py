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
    watch_poll_ms: int = Field(
        default=250,
        ge=10,
        le=500,
        description="How often it is looked for changes of the list, while somebody watches it.",
    )
    watch_statistics_seconds: float = Field(
        default=5, ge=0, le=60, description="How often watchers are told of average pots and hands per hour alone."
    )
    watch_heartbeat_seconds: float = Field(
        default=5, gt=0, le=10, description="After how long without anything else to send a watcher gets a heartbeat."
    )
    watch_streams_per_player_max: int = Field(
        default=4, ge=1, le=100, description="Streams of the list one player may have on this replica."
    )
    watch_streams_max: int = Field(default=10_000, ge=1, description="Streams of the list this replica serves.")
