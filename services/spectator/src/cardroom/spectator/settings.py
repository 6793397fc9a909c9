"""The spectator's settings, read from the environment with the prefix `CARDROOM_SPECTATOR_`."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Self

from pydantic import Field, model_validator

from cardroom.chassis.setting_kinds import misfit
from cardroom.chassis.settings import ServiceSettings


class SpectatorSettings(ServiceSettings):
    """What the spectator needs."""

    service: ClassVar[str] = "spectator"

    grpc_port: int = Field(default=7141, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    delay_seconds: float = Field(
        default=30, ge=30, le=3600, description="How far watchers are behind (rule 10.6): 30 or more."
    )
    delay_seconds_for_tests_only: float | None = Field(
        default=None,
        ge=0,
        le=30,
        description="A shorter delay, which breaks rule 10.6. Never set it where people play.",
    )
    retention_seconds: float = Field(default=120, ge=1, description="How long changes are kept; longer than the delay.")
    purge_seconds: float = Field(default=10, gt=0, le=600, description="How often old changes are deleted.")
    poll_ms: int = Field(default=150, ge=10, le=1000, description="How often it is looked for changes that became due.")
    heartbeat_seconds: float = Field(
        default=5, gt=0, le=10, description="After how long without anything else to send."
    )
    streams_per_player_max: int = Field(
        default=4, ge=1, le=100, description="Streams one player may have on this replica."
    )
    streams_max: int = Field(default=5000, ge=1, description="Streams this replica serves.")

    @model_validator(mode="after")
    def _keeps_long_enough(self) -> Self:
        least = self.delay.total_seconds() + 30
        if self.retention_seconds < least:
            raise misfit("retention_seconds", self.retention_seconds, f"at least {least:g}: the delay and 30 s more")
        return self

    @property
    def delay(self) -> timedelta:
        """How far watchers are behind."""
        shorter = self.delay_seconds_for_tests_only
        return timedelta(seconds=self.delay_seconds if shorter is None else shorter)
