"""What the wallet reads from its environment: `CARDROOM_WALLET_...`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cardroom.chassis.settings import ServiceSettings


class WalletSettings(ServiceSettings):
    """The chassis' settings and the wallet's own."""

    service: ClassVar[str] = "wallet"

    grpc_port: int = Field(7121, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    batch_max: int = Field(400, ge=1, le=2000, description="Most transfers that are committed together.")
    waiting_max: int = Field(5000, ge=1, description="Writes that may wait; beyond, RESOURCE_EXHAUSTED/OVERLOADED.")
    lanes: int = Field(1, ge=1, le=8, description="Batches posted at a time: more wait for each other's accounts.")
    settle_batch_max: int = Field(200, ge=1, le=1000, description="Most hands that are settled together.")
    sweep_seconds: float = Field(1.0, gt=0, description="How often due holds are ended and waiting hands tried again.")
    audit_seconds: float = Field(60.0, ge=0, description="How often the books are audited for the metric; 0: never.")
    watch_poll_seconds: float = Field(0.25, gt=0, description="How often a stream of entries looks for new ones.")
    hold_call_max: int = Field(1_000_000_000, ge=1, description="Most chips in one hold.")
    hold_day_max: int = Field(0, ge=0, description="Most chips one service holds in a day (UTC); 0: no limit.")
    transfer_call_max: int = Field(1_000_000_000, ge=1, description="Most chips in one transfer.")
    transfer_day_max: int = Field(0, ge=0, description="Most chips one service transfers in a day; 0: no limit.")
    grant_call_max: int = Field(1_000_000, ge=1, description="Most chips in one grant, or one league's opening.")
    grant_day_max: int = Field(1_000_000_000, ge=0, description="Most chips one service grants in a day; 0: no limit.")
