"""Tables are told in time that a player's absence has lasted long enough, and until they have looked (9.5, 10.2)."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from cardroom.clock import absences
from tests.integration.clock.conftest import Clock, Publish, Site, until
from tests.integration.clock.room import FakeTables, Table, now_ms


async def row(site: Site, table: Table) -> Any:
    """The register of the table's player."""
    return await site.pool.fetchrow(
        "SELECT * FROM absences WHERE table_id = $1 AND player_id = $2", table.table_id, table.player_id
    )


async def test_9_5_a_table_is_told_when_an_absence_is_due_and_not_before(
    clock: Clock, tables: FakeTables, publish: Publish
) -> None:
    table = Table()
    due = now_ms() + 300
    await publish(table.absence(due))
    (told,) = await tables.until_told("JudgeAbsence", table.table_id)
    assert told.at_ms >= due
    assert (told.request.player_id, told.request.generation) == (table.player_id, table.version)


async def test_9_5_who_is_back_in_time_is_not_judged(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table, other = Table(), Table()
    await publish(table.absence(now_ms() + 400), table.absence(None), other.absence(now_ms() + 800))
    await tables.until_told("JudgeAbsence", other.table_id)
    assert tables.of("JudgeAbsence", table.table_id) == []
    assert (await row(site, table))["fire_at_ms"] is None


async def test_what_is_said_late_changes_nothing(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    old, new = table.absence(now_ms()), table.absence(now_ms() + 60_000)
    await publish(new)
    await publish(old, old)
    other = Table()
    await publish(other.absence(now_ms()))
    await tables.until_told("JudgeAbsence", other.table_id)
    assert tables.of("JudgeAbsence", table.table_id) == []
    assert (await row(site, table))["generation"] == table.version


@pytest.mark.slow
async def test_a_table_that_does_not_answer_is_told_again(
    clock: Clock, tables: FakeTables, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "AGAIN_AFTER_MS", 200)
    table = Table()
    tables.down = True
    await publish(table.absence(now_ms()))
    await tables.until_told("JudgeAbsence", table.table_id)
    tables.down = False
    await tables.until_told("JudgeAbsence", table.table_id, times=2)


async def test_a_stale_answer_ends_it(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "AGAIN_AFTER_MS", 0)
    table = Table()
    tables.stale.add("JudgeAbsence")
    await publish(table.absence(now_ms()))

    async def is_quiet() -> bool:
        found = await row(site, table)
        return found is not None and found["fire_at_ms"] is None

    await until(is_quiet)


async def test_after_a_restart_what_is_overdue_is_told(site: Site, tables: FakeTables) -> None:
    table = Table()
    await site.pool.execute(
        "INSERT INTO absences VALUES ($1, $2, 7, $3, $3)", table.table_id, table.player_id, now_ms() - 60_000
    )
    async with site.clock():
        (told,) = await tables.until_told("JudgeAbsence", table.table_id)
    assert told.request.generation == 7


async def test_clocks_that_share_the_absences_tell_each_once(site: Site, tables: FakeTables, clock: Clock) -> None:
    rooms = [Table() for _ in range(150)]
    tables.stale.add("JudgeAbsence")
    due = now_ms() + 600
    await site.pool.executemany(
        "INSERT INTO absences VALUES ($1, $2, 1, $3, $3)", [(room.table_id, str(uuid4()), due) for room in rooms]
    )
    async with site.clock():
        await tables.until(lambda: all(tables.of("JudgeAbsence", room.table_id) for room in rooms))
        await asyncio.sleep(0.6)
    assert all(len(tables.of("JudgeAbsence", room.table_id)) == 1 for room in rooms)
