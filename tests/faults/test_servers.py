"""The broker, the database and single services go away in mid-play: nothing is lost, nothing doubled."""

from __future__ import annotations

import asyncio

import pytest

from cardroom.local import Stack, StackOptions
from tests.faults.owners import assert_log_is_sound, fetch
from tests.party import QUICK, Party, assert_books_hold, eventually, party


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    return StackOptions(durable=False, env={"table": QUICK})


SETTLED = "select hand_number from settlements where table_id = $1 order by hand_number"
WATCHED = "select version from table_changes where table_id = $1 order by version"


async def _until_all_is_told(stack: Stack, at: Party) -> None:
    """The outbox runs empty and the wallet settles every hand, once."""
    table_id = at.table.table_id
    hands = "select max(hand_number) as last from hands where table_id = $1 and last_version is not null"
    last = (await fetch(stack, "table", hands, table_id))[0]["last"]

    async def told() -> bool:
        left = await fetch(stack, "table", "select 1 from outbox limit 1")
        return not left and len(await fetch(stack, "wallet", SETTLED, table_id)) >= last

    await eventually("every event is published and settled", told)
    settled = [row["hand_number"] for row in await fetch(stack, "wallet", SETTLED, table_id)]
    assert settled == list(range(1, last + 1))


async def _until_watchers_have_all(stack: Stack, at: Party) -> None:
    """The spectator holds every version that the table has written and that is still kept."""
    table_id = at.table.table_id
    written = await fetch(stack, "table", "select max(version) as last from table_log where table_id = $1", table_id)

    async def watched() -> bool:
        rows = await fetch(stack, "spectator", WATCHED, table_id)
        return bool(rows) and rows[-1]["version"] >= written[0]["last"]

    await eventually("the spectator has every change", watched)
    versions = [row["version"] for row in await fetch(stack, "spectator", WATCHED, table_id)]
    assert versions == list(range(versions[0], versions[-1] + 1)), "no change is missing"


@pytest.mark.parametrize("hard", [False, True], ids=["restarted", "crashed"])
async def test_rabbitmq_restarted_in_mid_play_loses_and_doubles_nothing(stack: Stack, hard: bool) -> None:
    async with party(stack) as at:
        at.gate.set()
        await at.until_hands(2)
        await stack.restart_rabbitmq(hard=hard)
        await at.until_hands(3, seconds=90)
        await at.leave()
        await _until_all_is_told(stack, at)
        await _until_watchers_have_all(stack, at)
        await assert_log_is_sound(stack, at.table.table_id)
    await stack.until_ready()
    await assert_books_hold(stack)


async def test_postgres_crashed_in_mid_play_loses_no_answered_action(stack: Stack) -> None:
    async with party(stack) as at:
        at.gate.set()
        await at.until_hands(2)
        await stack.restart_postgres(hard=True)
        await at.until_hands(3, seconds=90)
        await at.leave()
        await _until_all_is_told(stack, at)
        await assert_log_is_sound(stack, at.table.table_id)
    await stack.until_ready()
    await assert_books_hold(stack)


@pytest.mark.parametrize("service", ["wallet", "clock", "lobby", "spectator", "gateway"])
async def test_a_service_killed_in_mid_play_comes_back_and_the_books_hold(stack: Stack, service: str) -> None:
    async with party(stack) as at:
        at.gate.set()
        await at.until_hands(1)
        stack.processes[service].kill()
        await asyncio.sleep(1)
        await stack.processes[service].restart()
        await at.until_hands(3, seconds=90)
        await at.leave()
        await _until_all_is_told(stack, at)
        await _until_watchers_have_all(stack, at)
    await assert_books_hold(stack)
