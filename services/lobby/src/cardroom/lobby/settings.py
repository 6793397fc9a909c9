"""The lobby's settings: CARDROOM_LOBBY_*."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cardroom.chassis.setting_kinds import Address, Addresses, Json
from cardroom.chassis.settings import ServiceSettings
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.domain.demand import Demand
from cardroom.lobby.domain.tables import Stakes, checked_name, checked_stakes
from cardroom.lobby.errors import Refused

GAMES_DEALT: Final = frozenset({int(view_pb2.GAME_NO_LIMIT_HOLDEM)})


class StakesSettings(BaseModel):
    """Stakes at which the lobby opens and closes tables by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    game: Literal["GAME_NO_LIMIT_HOLDEM"] = "GAME_NO_LIMIT_HOLDEM"
    small_blind: int
    ante: int = 0
    seats: int = 6
    min_buy_in: int = 0
    max_buy_in: int = 0
    open_seats_min: int = Field(default=1, ge=1, le=1000)
    tables_max: int = Field(default=10, ge=1, le=1000)

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        try:
            # The last of many tables has a number behind the name.
            checked_name(f"{self.name} {self.tables_max}" if self.tables_max > 1 else self.name)
            self.demand()
        except Refused as no:
            raise ValueError(no.refusal.message) from None
        return self

    def demand(self) -> Demand:
        """Return what is wanted there. Raises Refused for stakes that are not sound."""
        asked = Stakes(
            game=int(view_pb2.Game.Value(self.game)),
            small_blind=self.small_blind,
            big_blind=2 * self.small_blind,
            ante=self.ante,
            min_buy_in=self.min_buy_in,
            max_buy_in=self.max_buy_in,
            seats=self.seats,
        )
        return Demand(self.name, checked_stakes(asked, GAMES_DEALT), self.open_seats_min, self.tables_max)


class LobbySettings(ServiceSettings):
    """What the lobby needs besides the chassis' settings."""

    service: ClassVar[str] = "lobby"

    grpc_port: int = Field(default=7111, ge=0, le=65535, description="gRPC port; 0 picks a free one.")
    table_address: Addresses = Field(
        default="127.0.0.1:7101",
        description="gRPC of the table service: IPv4 replicas, comma-separated, or a DNS name.",
    )
    wallet_address: Address = Field(default="127.0.0.1:7121", description="gRPC address of the wallet.")
    clock_address: Address = Field(default="127.0.0.1:7131", description="gRPC address of the clock.")
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
    stakes: Json[tuple[StakesSettings, ...]] = Field(
        default=(),
        description=(
            "JSON list of stakes at which tables are opened and closed by demand: name (of the first table) and "
            "small_blind; and, if wanted, game (GAME_NO_LIMIT_HOLDEM), ante (0), seats (6), min_buy_in and max_buy_in "
            "(40 and 100 big blinds), open_seats_min (1: seats that are always open), tables_max (10)."
        ),
    )
    demand_look_seconds: float = Field(
        default=1, gt=0, le=60, description="How often it is looked whether tables are missing or too many."
    )
    demand_patience_seconds: float = Field(
        default=300, ge=0, description="How long a table that is too many must be empty before it is closed."
    )

    closed_tables_kept_days: float = Field(
        default=30,
        ge=7,
        description="How many days a closed table's description, and the request that opened it, are remembered.",
    )

    @field_validator("stakes")
    @classmethod
    def _are_different(cls, value: tuple[StakesSettings, ...]) -> tuple[StakesSettings, ...]:
        demands = [one.demand() for one in value]
        if len({demand.name for demand in demands}) < len(demands):
            raise ValueError("two stakes have the same name: give each its own")
        if len({demand.key for demand in demands}) < len(demands):
            raise ValueError("the same stakes are there twice: once is enough")
        return value

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The stakes in the domain's words."""
        return tuple(one.demand() for one in self.stakes)
