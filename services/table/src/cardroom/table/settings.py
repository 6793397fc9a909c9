"""The table service's settings: `CARDROOM_TABLE_*`."""

from __future__ import annotations

import re
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from cardroom.chassis.leases import MARGIN_SECONDS
from cardroom.chassis.setting_kinds import misfit
from cardroom.chassis.settings import ServiceSettings, secret
from cardroom.table.deckbox import key_from_text
from cardroom.table.domain.commands import Pace


class TableSettings(ServiceSettings):
    """Beside what every service has: how fast new tables go, the keys for decks, and limits."""

    service: ClassVar[str] = "table"

    grpc_port: int = Field(default=7101, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    deck_key: str = secret(..., "Key that decks are encrypted with: 32 bytes in base64.")
    deck_keys_old: str = secret("", "Other deck keys, comma-separated: decks are read with them too.")
    deck_keys_lost: str = secret(
        "", "Names of deck keys that nobody has any more, comma-separated: their hands are void (14.4)."
    )
    turn_ms: int = Field(default=20_000, ge=1, description="Base time of a turn at tables opened from now on (9.1).")
    pause_ms: int = Field(default=2_000, ge=0, description="Pause between hands at such tables (2.5).")
    showdown_pause_ms: int = Field(default=5_000, ge=0, description="Pause after a showdown at such tables (2.5).")
    away_ms: int = Field(default=60_000, ge=1, description="How long a player may be away at such tables (9.5).")
    sitting_out_ms: int = Field(
        default=15 * 60_000, ge=1, description="How long a player may sit out at such tables (10.2)."
    )
    no_chips_ms: int = Field(
        default=2 * 60_000, ge=1, description="How long a player may stay without chips at such tables (10.2)."
    )
    lease_ttl_seconds: float = Field(default=3.0, gt=0, le=60, description="How long a silent owner keeps its shards.")
    lease_renew_seconds: float = Field(default=0.5, gt=0, le=20, description="How often leases are renewed.")
    commit_lanes: int = Field(default=1, ge=1, le=8, description="How many groups of commits are under way at once.")
    commit_group_max: int = Field(default=128, ge=1, le=1000, description="Most commands committed together.")
    streams_max: int = Field(default=10_000, ge=1, description="Most player streams of this process.")
    streams_per_player_max: int = Field(default=4, ge=1, description="Most streams of one player at one table.")
    heartbeat_seconds: float = Field(default=5.0, gt=0, le=10, description="Silence after which a stream beats.")
    reconnect_seconds: float = Field(
        default=0.5,
        ge=0,
        le=10,
        description="How long a closed stream may be replaced before its player is away (9.5).",
    )
    owner_wait_seconds: float = Field(
        default=3.0, ge=0, le=30, description="How long a request waits for a table that has no owner."
    )

    @field_validator("deck_key")
    @classmethod
    def _check_key(cls, text: str) -> str:
        key_from_text(text)
        return text

    @field_validator("deck_keys_old")
    @classmethod
    def _check_old_keys(cls, text: str) -> str:
        for one in filter(None, text.split(",")):
            key_from_text(one)
        return text

    @field_validator("deck_keys_lost")
    @classmethod
    def _check_lost_keys(cls, text: str) -> str:
        for one in filter(None, text.split(",")):
            if not re.fullmatch("[0-9a-f]{12}", one):
                # What was put here by mistake may be a key: it is not shown.
                raise ValueError("a deck key's name is 12 hexadecimal digits, as the log says it; this one is not")
        return text

    @model_validator(mode="after")
    def _renews_in_time(self) -> Self:
        longest = (self.lease_ttl_seconds - MARGIN_SECONDS) / 2
        if self.lease_renew_seconds > longest:
            allowed = f"at most {longest:g}: one renewal may fail within lease_ttl_seconds less {MARGIN_SECONDS:g} s"
            raise misfit("lease_renew_seconds", self.lease_renew_seconds, allowed)
        return self

    def lost_keys(self) -> list[str]:
        """The names of the lost deck keys."""
        return list(filter(None, self.deck_keys_lost.split(",")))

    def keys(self) -> list[bytes]:
        """The deck keys, the current one first."""
        return [key_from_text(one) for one in (self.deck_key, *filter(None, self.deck_keys_old.split(",")))]

    def pace(self) -> Pace:
        """How fast a table goes that is opened now."""
        return Pace(
            self.turn_ms, self.pause_ms, self.showdown_pause_ms, self.away_ms, self.sitting_out_ms, self.no_chips_ms
        )
