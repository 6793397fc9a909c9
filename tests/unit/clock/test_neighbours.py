"""What a table's answer means to the clock."""

from __future__ import annotations

import pytest

from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import Unavailable
from cardroom.clock.domain import timers
from cardroom.clock.domain.timers import Act, Firing
from cardroom.clock.errors import TableAway
from cardroom.clock.neighbours import GrpcTables
from cardroom.clock.settings import ClockSettings


def no_token() -> str:
    raise Unavailable("SERVICE_TOKEN_MISSING", "not yet")


@pytest.mark.parametrize("act", list(Act))
async def test_without_a_token_of_its_own_the_clock_tells_it_again(act: Act) -> None:
    channels = Channels(ClockSettings(), token=no_token)
    with pytest.raises(TableAway):
        await GrpcTables(channels.channel("127.0.0.1:1")).tell(Firing(act, timers.deal("t", 1, 0)))
    await channels.close()
