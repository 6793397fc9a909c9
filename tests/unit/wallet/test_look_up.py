"""What is looked up for a batch belongs to that batch, whatever other lanes look up meanwhile."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cardroom.wallet.domain import names
from cardroom.wallet.domain.commands import Known, VoidHold
from cardroom.wallet.domain.sources import CloseLeague
from cardroom.wallet.errors import Refused
from cardroom.wallet.posting import Poster, Request
from cardroom.wallet.store import batch
from cardroom.wallet.store.history import History
from cardroom.wallet.watching import Watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GAMES = [str(uuid.UUID(int=number)) for number in (1, 2)]


class SlowConnection:
    """Knows one account of each league, and lets others run before it answers."""

    async def fetch(self, _statement: str, currencies: list[str]) -> list[tuple[str, str]]:
        await asyncio.sleep(0)
        return [(currency, f"account of {currency}") for currency in currencies]


class LookedUp(Exception):
    """The batch came as far as this test goes."""


class Connection:
    """Has transactions, and nothing in them."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        yield


class Pool:
    """Gives out such connections."""

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        yield Connection()


async def test_two_leagues_are_looked_up_at_once() -> None:
    known = Known()

    async def look_up(game: str) -> list[str]:
        command = CloseLeague("service:lobby", game)
        await batch.look_up(SlowConnection(), [command], known)  # type: ignore[arg-type]
        command.resolve(known)
        return list(command.accounts)

    found = await asyncio.gather(*map(look_up, GAMES))
    assert found == [[f"account of {names.league(game)}"] for game in GAMES]


async def test_a_lane_that_begins_anew_takes_nothing_from_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    poster = Poster(Pool(), batch_max=1, waiting_max=1, lanes=1)  # type: ignore[arg-type]
    command = VoidHold("service:lobby", 7, "")

    async def look_up(_connection: Any, _commands: Any, known: Known) -> None:
        known.hold_accounts[7] = "player/1/play"
        poster._known = Known()  # what the other lane does when it knows too many

    async def load(*_: Any) -> None:
        raise LookedUp

    monkeypatch.setattr(batch, "look_up", look_up)
    monkeypatch.setattr(batch, "load", load)
    with pytest.raises(LookedUp):
        await poster._once([Request(command)])
    assert command.account == "player/1/play"


async def test_a_prefix_that_no_account_can_have_is_refused_before_the_database_is_asked() -> None:
    watching = Watching(History(Pool()), 1.0)  # type: ignore[arg-type]
    with pytest.raises(Refused) as refused:
        await anext(aiter(watching.entries("", "player/\0")))
    assert refused.value.reason == "FIELD_INVALID"
