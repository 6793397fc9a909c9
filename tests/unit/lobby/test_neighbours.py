"""What a neighbour's answer means: a definite no, or nobody knows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import Unavailable
from cardroom.lobby.domain.seating import Seating
from cardroom.lobby.errors import NotNow
from cardroom.lobby.neighbours import FULL_TIME_BANK_MS, GrpcTables, GrpcTimeBanks, GrpcWallet, TimeBank
from cardroom.lobby.settings import LobbySettings

SEATING = Seating("s", "t", "p", "Ada", seat=1, buy_in=1000, reserved_at=datetime(2025, 1, 1, tzinfo=UTC), hold_id="h")


def no_token() -> str:
    raise Unavailable("SERVICE_TOKEN_MISSING", "not yet")


@pytest.fixture
async def channel() -> Any:
    """A channel that leads nowhere, for a service that has no token yet."""
    channels = Channels(LobbySettings(), token=no_token)
    yield channels.channel("127.0.0.1:1")
    await channels.close()


async def test_without_a_token_of_its_own_the_lobby_tries_again(channel: grpc.aio.Channel) -> None:
    wallet, tables = GrpcWallet(channel), GrpcTables(channel)
    for call in (
        wallet.place_hold(SEATING),
        wallet.post_hold(SEATING),
        wallet.void_hold(SEATING),
        wallet.cash_out(SEATING),
        tables.seat_player(SEATING, TimeBank(0)),
        tables.end_seating(SEATING),
    ):
        with pytest.raises(NotNow):
            await call
    assert await GrpcTimeBanks(channel).bank("p") == TimeBank(FULL_TIME_BANK_MS, generation=0)
