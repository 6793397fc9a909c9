"""Turns and deals on time: never early, again until the table has moved on, and never for what has passed."""

from __future__ import annotations

import random

import pytest

from cardroom.clock.domain.timers import REPEAT_MS
from tests.integration.clock.conftest import Clock, Publish, Site
from tests.integration.clock.room import FakeTables, Table, now_ms

FULL_MS = 30_000
BASE_MS = 20_000
GRACE_MS = 250


async def test_9_1_the_bank_is_started_with_its_end_when_the_base_time_is_over(
    clock: Clock, tables: FakeTables, publish: Publish
) -> None:
    table = Table()
    base_ends = now_ms() + 200
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS - 200))
    (told,) = await tables.until_told("StartTimeBank", table.table_id)
    assert base_ends <= told.at_ms
    assert (told.request.generation, told.request.turn.hand_number, told.request.turn.action_number) == (1, 1, 1)
    deadline = told.request.bank_deadline.ToMilliseconds()
    assert base_ends + FULL_MS <= deadline <= base_ends + FULL_MS + 50


async def test_9_3_9_7_the_turn_is_ended_250_ms_after_the_bank(
    clock: Clock, tables: FakeTables, publish: Publish
) -> None:
    table = Table()
    deadline = now_ms() + 300
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS + FULL_MS - 300))
    await tables.until_told("StartTimeBank", table.table_id)
    (told,) = await tables.until_told("EndTurn", table.table_id)
    assert told.at_ms >= deadline + GRACE_MS
    assert len(tables.of("StartTimeBank", table.table_id)) == 1


async def test_9_5_a_player_who_is_away_gets_the_base_time_only(
    clock: Clock, tables: FakeTables, publish: Publish
) -> None:
    table = Table()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS, bank_allowed=False))
    await tables.until_told("EndTurn", table.table_id)
    assert tables.of("StartTimeBank", table.table_id) == []


async def test_2_5_the_next_hand_is_dealt_when_it_is_due(clock: Clock, tables: FakeTables, publish: Publish) -> None:
    table = Table()
    due = now_ms() + 300
    await publish(table.deal(300))
    (told,) = await tables.until_told("DealHand", table.table_id)
    assert told.at_ms >= due
    assert told.request.generation == 1


async def test_an_action_in_time_ends_the_timer(clock: Clock, tables: FakeTables, publish: Publish, site: Site) -> None:
    table, other = Table(), Table()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS - 300))
    await publish(table.nothing(acted=True))
    await publish(other.deal(600))
    await tables.until_told("DealHand", other.table_id)
    assert tables.of("StartTimeBank", table.table_id) == []
    assert (await site.timer(table.table_id))["fire_at_ms"] is None


async def test_it_fires_again_until_the_table_has_moved_on(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    tables.down = True
    await publish(table.deal(0))
    await tables.until_told("DealHand", table.table_id)
    tables.down = False
    first, second, *_ = await tables.until_told("DealHand", table.table_id, times=2)
    assert second.at_ms - first.at_ms >= 900
    await publish(table.nothing())
    await site.until_timer(table.table_id, generation=2, fire_at_ms=None)


async def test_a_stale_answer_ends_the_firing_until_a_newer_generation(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    tables.stale.add("DealHand")
    await publish(table.deal(0))
    await tables.until_told("DealHand", table.table_id)
    await site.until_timer(table.table_id, fire_at_ms=None)
    tables.stale.clear()
    await publish(table.deal(0))
    _, again = await tables.until_told("DealHand", table.table_id, times=2)
    assert again.request.generation == 2


async def test_generations_make_the_order_of_events_irrelevant(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    old, new = table.deal(100), table.deal(400)
    await publish(new, old, old)
    (told,) = await tables.until_told("DealHand", table.table_id)
    assert told.request.generation == 2
    assert (await site.timer(table.table_id))["generation"] == 2


@pytest.mark.parametrize("replicas", [1, 2])
async def test_after_a_restart_what_is_overdue_fires_and_nothing_early_and_nothing_twice(
    site: Site, tables: FakeTables, publish: Publish, clock: Clock, replicas: int
) -> None:
    overdue, soon = Table(), Table()
    tables.stale.add("DealHand")
    await site.pool.executemany(
        "INSERT INTO timers (table_id, generation, kind, fire_at_ms) VALUES ($1, 1, 'deal', $2)",
        [(overdue.table_id, now_ms() - 60_000), (soon.table_id, due := now_ms() + 700)],
    )
    if replicas == 2:
        async with site.clock():
            await tables.until_told("DealHand", soon.table_id)
    await tables.until_told("DealHand", overdue.table_id)
    (told,) = await tables.until_told("DealHand", soon.table_id)
    assert told.at_ms >= due
    assert len(tables.of("DealHand", overdue.table_id)) == 1


async def test_clocks_that_share_the_events_end_with_each_tables_newest_timer(
    site: Site, tables: FakeTables, publish: Publish, clock: Clock
) -> None:
    rooms = [Table() for _ in range(20)]
    changes = [room.turn(base_ms=BASE_MS, acted=True) for _ in range(15) for room in rooms]
    random.Random(7).shuffle(changes)
    async with site.clock():
        for start in range(0, len(changes), 40):
            await publish(*changes[start : start + 40], *changes[: start // 4])
        for room in rooms:
            await site.until_timer(room.table_id, generation=15, action_number=15, phase="base")


async def test_clocks_that_share_the_firing_never_both_tell_a_table(
    site: Site, tables: FakeTables, clock: Clock
) -> None:
    rooms = [Table() for _ in range(150)]
    due = now_ms() + 800
    await site.pool.executemany(
        "INSERT INTO timers (table_id, generation, kind, fire_at_ms) VALUES ($1, 1, 'deal', $2)",
        [(room.table_id, due) for room in rooms],
    )
    tables.stale.add("DealHand")
    async with site.clock():
        await tables.until(lambda: all(tables.of("DealHand", room.table_id) for room in rooms))
        for room in rooms:
            await site.until_timer(room.table_id, fire_at_ms=None)
    for room in rooms:
        # On a busy machine an answer may take longer than a repeat, and each of them may come late on its way;
        # never does a table hear more often than one clock alone would have told it.
        for number, told in enumerate(tables.of("DealHand", room.table_id)):
            assert told.at_ms >= due + number * REPEAT_MS
