"""The clock's settings: CARDROOM_CLOCK_*."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cardroom.chassis.setting_kinds import Addresses
from cardroom.chassis.settings import ServiceSettings


class ClockSettings(ServiceSettings):
    """What the clock needs besides the chassis' settings."""

    service: ClassVar[str] = "clock"

    grpc_port: int = Field(default=7131, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    table_address: Addresses = Field(
        default="127.0.0.1:7101",
        description="gRPC of the table service: IPv4 replicas, comma-separated, or a DNS name.",
    )
