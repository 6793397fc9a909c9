"""Closed tables are forgotten, when nothing that is kept needs them, and a few at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from cardroom.lobby import store as stores
from cardroom.lobby.settings import LobbySettings
from cardroom.lobby.store import EndedHand, TableStore
from tests.integration.lobby.conftest import Lobby, refusal

DAYS_30 = timedelta(days=30)
BY_DEMAND = """
    INSERT INTO tables (table_id, request_id, name, game, small_blind, big_blind, ante, min_buy_in, max_buy_in, seats,
                        asked, state, demand_key, demand_number, closed_at)
    SELECT gen_random_uuid(), gen_random_uuid(), 'Yew', 1, 1, 2, 0, 80, 200, 2,
           '{}', 'closed', $1, n, now() - interval '31 days'
    FROM generate_series(1, 3) n
"""


async def closed(lobby: Lobby, days_ago: int) -> str:
    """A table that was closed so long ago."""
    table_id = str((await lobby.create()).table_id)
    await lobby.close(table_id)
    await age(lobby, table_id, days_ago)
    return table_id


async def age(lobby: Lobby, table_id: str, days_ago: int) -> None:
    await lobby.pool.execute(
        "UPDATE tables SET closed_at = closed_at - make_interval(days => $2) WHERE table_id = $1", table_id, days_ago
    )


async def left(lobby: Lobby, *table_ids: str) -> set[str]:
    """Which of these are still known, after housekeeping."""
    await TableStore(lobby.pool).forget_closed(DAYS_30)
    rows = await lobby.pool.fetch("SELECT table_id::text FROM tables WHERE table_id = ANY($1::uuid[])", table_ids)
    return {row["table_id"] for row in rows}


async def test_a_table_is_forgotten_30_days_after_its_closing_and_an_open_one_never(
    lobby: Lobby, table_id: str
) -> None:
    old, young = await closed(lobby, 31), await closed(lobby, 29)
    await lobby.pool.execute("UPDATE tables SET created_at = now() - interval '1 year' WHERE table_id = $1", table_id)
    assert await left(lobby, old, young, table_id) == {young, table_id}
    assert (await refusal(lobby.close(old))).reason == "TABLE_UNKNOWN"
    await lobby.close(young)


async def test_a_request_to_open_a_table_is_known_as_long_as_the_table(lobby: Lobby) -> None:
    request_id = str(uuid4())
    first = (await lobby.create(request_id=request_id)).table_id
    await lobby.close(first)
    await age(lobby, first, 29)
    assert await left(lobby, first) == {first}
    assert (await lobby.create(request_id=request_id)).table_id == first


async def test_a_table_to_which_a_stay_a_wait_or_a_hand_refers_is_not_forgotten(lobby: Lobby) -> None:
    sat, waited, played = [await closed(lobby, 31) for _ in range(3)]
    await lobby.pool.execute(
        "INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step, over_at) "
        "VALUES (gen_random_uuid(), $1, gen_random_uuid(), 'Ada', 1, 1000, 'over', now())",
        sat,
    )
    await lobby.pool.execute(
        "INSERT INTO waiting (entry_id, player_id, table_id, game, small_blind, big_blind, ante, seats, ended_at, "
        "ended_how) VALUES (gen_random_uuid(), gen_random_uuid(), $1, 1, 10, 20, 0, 6, now(), 'table_closed')",
        waited,
    )
    await TableStore(lobby.pool).add_hands([EndedHand(played, 1, 60, datetime.now(UTC))])
    assert await left(lobby, sat, waited, played) == {sat, waited, played}


async def test_the_last_table_opened_by_demand_stays_as_its_number_says_which_is_next(lobby: Lobby) -> None:
    await lobby.pool.execute(BY_DEMAND, "some stakes")
    await left(lobby)
    rows = await lobby.pool.fetch("SELECT demand_number FROM tables WHERE demand_key = 'some stakes'")
    assert [row["demand_number"] for row in rows] == [3]


async def test_a_few_are_forgotten_at_a_time_the_oldest_first(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "FORGOTTEN_AT_ONCE", 2)
    tables = [await closed(lobby, days) for days in (60, 90, 80, 70)]
    assert await left(lobby, *tables) == {tables[0], tables[3]}
    assert await left(lobby, *tables) == set()


@pytest.mark.parametrize("days", [6.9, -1])
def test_what_requests_may_still_need_is_not_forgotten_sooner_than_they_are(days: float) -> None:
    with pytest.raises(ValueError, match="closed_tables_kept_days"):
        LobbySettings(closed_tables_kept_days=days)
