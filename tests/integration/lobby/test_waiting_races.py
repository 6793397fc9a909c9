"""Two lobbies, many players, one seat: whoever races, it is one player's, and nobody jumps the line."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import grpc
import pytest

from cardroom.lobby.domain.waiting import LISTS_MAX
from tests.integration.lobby.conftest import Lobby, until
from tests.integration.lobby.waiters import (
    KEPT,
    LAPSED,
    LEFT,
    SEATED,
    WAITING,
    Waiter,
    fresh_blind,
    full_table,
    let_the_kept_seat_lapse,
    stakes,
    table_at,
    waiter,
)

ROUNDS = 12


async def tried(call: Any) -> Any:
    """The answer, or the reason of the refusal."""
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        details = error.details() or ""
        return "REFUSED: " + details


def is_seat(outcome: Any) -> bool:
    return not isinstance(outcome, str)


async def until_quiet(lobby: Lobby) -> None:
    """Until no seat and no entry is in between."""

    async def is_so() -> bool:
        return bool(
            await lobby.pool.fetchval(
                "SELECT NOT EXISTS (SELECT FROM seatings WHERE due_at IS NOT NULL) "
                "AND NOT EXISTS (SELECT FROM waiting WHERE ended_at IS NULL AND seating_id IS NOT NULL)"
            )
        )

    await until(is_so)


@pytest.mark.slow
async def test_for_one_kept_seat_its_player_wins_against_any_number_at_both_lobbies(
    lobby: Lobby, second_lobby: Lobby
) -> None:
    for number in range(ROUNDS):
        table_id, sitting = await full_table(lobby)
        mine = waiter([lobby, second_lobby][number % 2])
        await mine.join(table_id)
        await sitting[0].leave(table_id)
        kept = (await mine.until_state(KEPT)).reserved
        others = [waiter([lobby, second_lobby][i % 2]) for i in range(4)]
        seats = [0, kept.seat]
        outcomes = await asyncio.gather(
            *(tried(one.sit(table_id, seat=seats[i % 2])) for i, one in enumerate(others)), tried(mine.sit(table_id))
        )
        assert [is_seat(one) for one in outcomes] == [False] * 4 + [True]
        assert outcomes[-1].seat == kept.seat


@pytest.mark.slow
async def test_lapsing_and_taking_at_the_same_time_leave_the_seat_with_one_player(
    lobby: Lobby, second_lobby: Lobby
) -> None:
    for number in range(ROUNDS):
        table_id, sitting = await full_table(lobby)
        first, second = waiter(lobby), waiter(second_lobby)
        entry = await first.join(table_id)
        await second.join(table_id)
        await sitting[0].leave(table_id)
        await first.until_state(KEPT)
        await let_the_kept_seat_lapse(lobby, entry, 0.05)
        await asyncio.sleep(0.008 * number)
        outcome = await tried(first.sit(table_id))
        if is_seat(outcome):
            await first.until_state(SEATED)
            assert (await second.entry()).state == WAITING
        else:
            await first.until_state(LAPSED)
            assert (await second.until_state(KEPT)).reserved.table_id == table_id


@pytest.mark.slow
async def test_leaving_the_list_and_being_next_at_the_same_time(lobby: Lobby, second_lobby: Lobby) -> None:
    for number in range(ROUNDS):
        table_id, sitting = await full_table(lobby)
        first, second = waiter(lobby), waiter(second_lobby)
        entry = await first.join(table_id)
        await second.join(table_id)

        async def leave_late(player: Waiter = first, entry: Any = entry, after: float = 0.003 * number) -> Any:
            await asyncio.sleep(after)
            return await player.quit(entry)

        _, left = await asyncio.gather(sitting[0].leave(table_id), leave_late())
        assert left.state == LEFT
        assert (await second.until_state(KEPT)).reserved.table_id == table_id
        assert (await first.entry()).state == LEFT


@pytest.mark.slow
async def test_leaving_the_list_and_taking_the_seat_at_the_same_time(lobby: Lobby, second_lobby: Lobby) -> None:
    for _ in range(ROUNDS):
        table_id, sitting = await full_table(lobby)
        first, second = waiter(lobby), waiter(second_lobby)
        entry = await first.join(table_id)
        await second.join(table_id)
        await sitting[0].leave(table_id)
        await first.until_state(KEPT)
        there = waiter(second_lobby, first.id)
        seated, _ = await asyncio.gather(tried(first.sit(table_id)), tried(there.quit(entry)))
        if is_seat(seated):
            assert (await second.entry()).state == WAITING
            assert (await first.seat()).table_id == table_id
        else:
            assert (await second.until_state(KEPT)).reserved.table_id == table_id
            assert await first.seat() is None


@pytest.mark.slow
async def test_the_same_player_takes_a_kept_seat_and_another_one_at_the_same_time(
    lobby: Lobby, second_lobby: Lobby
) -> None:
    for _ in range(ROUNDS):
        table_id, sitting = await full_table(lobby)
        other = await table_at(lobby, fresh_blind())
        player, second = waiter(lobby), waiter(lobby)
        await player.join(table_id)
        await second.join(table_id)
        await sitting[0].leave(table_id)
        await player.until_state(KEPT)
        there = waiter(second_lobby, player.id)
        outcomes = await asyncio.gather(tried(player.sit(table_id)), tried(there.sit(other)))
        assert sum(map(is_seat, outcomes)) == 1
        await player.until_state(SEATED)
        if is_seat(outcomes[0]):
            assert (await second.entry()).state == WAITING
        else:
            assert (await second.until_state(KEPT)).reserved.table_id == table_id


@pytest.mark.slow
async def test_seats_that_become_free_everywhere_at_once_go_out_in_the_order_of_joining(
    lobby: Lobby, second_lobby: Lobby
) -> None:
    blind = fresh_blind()
    tables = [await full_table(lobby, blind, seats=3) for _ in range(4)]
    line = [waiter([lobby, second_lobby][i % 2]) for i in range(16)]
    for number, player in enumerate(line):
        await player.join(stakes(blind) if number % 3 else tables[number % 4][0])
    leaving = [(table_id, one) for table_id, sitting in tables for one in sitting]
    random.Random(7).shuffle(leaving)
    pushing = [asyncio.create_task(_push(lobby, stakes(blind))) for _ in range(3)]
    await asyncio.gather(*(one.leave(table_id) for table_id, one in leaving))

    async def kept() -> Any:
        rows = await lobby.pool.fetch(
            "SELECT player_id, number, table_id, reserved_table_id, reserved_until FROM waiting "
            "WHERE small_blind = $1 AND reserved_until IS NOT NULL ORDER BY number",
            blind,
        )
        return rows if len(rows) == 12 else None

    rows = await until(kept)
    for task in pushing:
        task.cancel()
    assert not [
        one for one in await asyncio.gather(*pushing, return_exceptions=True) if not isinstance(one, BaseException)
    ]
    # Those who wait at any table of the stakes come in order, whichever lobby served them; so do those of each table.
    for group in [[r for r in rows if r["table_id"] is None]] + [
        [r for r in rows if r["table_id"] is not None and str(r["table_id"]) == table_id] for table_id, _ in tables
    ]:
        moments = [row["reserved_until"] for row in group]
        assert moments == sorted(moments)
    for_stakes = [i for i in range(16) if i % 3]
    served = {str(row["player_id"]) for row in rows if row["table_id"] is None}
    assert {line[i].id for i in for_stakes[: len(served)]} == served


async def _push(lobby: Lobby, wanted: Any) -> Any:
    """A newcomer who asks for a seat again and again."""
    player = waiter(lobby)
    while True:
        outcome = await tried(player.quick(wanted))
        if is_seat(outcome):
            return outcome
        await asyncio.sleep(0)


@pytest.mark.slow
async def test_a_storm_leaves_every_seat_with_one_player_and_no_free_seat_while_anyone_waits(
    lobby: Lobby, second_lobby: Lobby
) -> None:
    blind, dice = fresh_blind(), random.Random(11)
    tables = [await table_at(lobby, blind, seats) for seats in (2, 2, 3)]
    players = [waiter([lobby, second_lobby][i % 2]) for i in range(14)]

    async def live(player: Waiter) -> None:
        for _ in range(10):
            choice, table_id = dice.random(), dice.choice(tables)
            if choice < 0.3:
                await tried(player.join(table_id if dice.random() < 0.5 else stakes(blind)))
            elif choice < 0.5:
                await tried(player.sit(table_id))
            elif choice < 0.65:
                await tried(player.quick(stakes(blind)))
            elif choice < 0.85:
                seat = await player.seat()
                if seat is not None:
                    await tried(player.leave(seat.table_id))
            elif choice < 0.95:
                for entry in await player.entries():
                    await tried(player.quit(entry))
            else:
                await lobby.pool.execute(
                    "UPDATE waiting SET reserved_until = now() WHERE small_blind = $1 AND reserved_until IS NOT NULL "
                    "AND ended_at IS NULL AND player_id = $2",
                    blind,
                    player.id,
                )
            await asyncio.sleep(dice.random() * 0.02)

    async with asyncio.timeout(60):
        await asyncio.gather(*map(live, players))
    await until_quiet(lobby)

    async def is_settled() -> bool:
        return not await lobby.pool.fetchval(
            "SELECT count(*) FROM line_at l JOIN tables t ON t.table_id = l.at_table_id WHERE t.small_blind = $1 AND "
            "(SELECT count(DISTINCT seat) FROM kept_seats k WHERE k.table_id = t.table_id) < t.seats",
            blind,
        )

    await until(is_settled)
    doubled = await lobby.pool.fetch(
        "SELECT table_id, seat FROM kept_seats GROUP BY 1, 2 HAVING count(DISTINCT player_id) > 1"
    )
    assert doubled == []
    for player in players:
        stays = lobby.neighbours.seated(player.id)
        seat = await player.seat()
        assert len(stays) == (seat is not None)
        waits = [entry for entry in await player.entries() if entry.state in {WAITING, KEPT}]
        assert not (seat is not None and waits)
        assert sum(entry.state == KEPT for entry in waits) <= 1


TAKE = """
    INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step, due_at)
    VALUES (gen_random_uuid(), $1, $2, 'Ada', $3, 1000, 'reserved', NULL) ON CONFLICT DO NOTHING
"""


async def test_the_database_lets_nobody_take_a_seat_that_is_kept_for_another(lobby: Lobby) -> None:
    """Whatever asks it, such as a lobby of a release that knows nothing of waiting lists."""
    table_id, sitting = await full_table(lobby)
    first, stranger = waiter(lobby), waiter(lobby)
    entry = await first.join(table_id)
    await sitting[0].leave(table_id)
    seat = (await first.until_state(KEPT)).reserved.seat
    assert await lobby.pool.execute(TAKE, table_id, stranger.id, seat) == "INSERT 0 0"
    assert await lobby.pool.execute(TAKE, table_id, first.id, seat) == "INSERT 0 1"
    await lobby.pool.execute("DELETE FROM seatings WHERE player_id = $1", first.id)
    await first.quit(entry)
    assert await lobby.pool.execute(TAKE, table_id, stranger.id, seat) == "INSERT 0 1"


async def test_who_takes_a_seat_by_the_rules_of_before_waiting_lists_sees_one_that_is_kept_at_that_moment(
    lobby: Lobby,
) -> None:
    """An earlier release locks the table FOR SHARE, and takes any seat where nobody sits."""
    table_id, sitting = await full_table(lobby)
    first, stranger = waiter(lobby), waiter(lobby)
    await first.join(table_id)
    async with lobby.pool.acquire() as keeping, lobby.pool.acquire() as taking:
        async with taking.transaction():
            await taking.execute("SELECT FROM tables WHERE table_id = $1 FOR SHARE", table_id)
            await sitting[0].leave(table_id)
            # The line is served once the table is free: the seat is taken first, and not kept for anybody.
            seat = await keeping.fetchval(
                "SELECT n FROM generate_series(1, 2) n WHERE n NOT IN "
                "(SELECT seat FROM seatings WHERE table_id = $1 AND step <> 'over')",
                table_id,
            )
            assert await taking.execute(TAKE, table_id, stranger.id, seat) == "INSERT 0 1"
        await sitting[1].leave(table_id)
        other = (await first.until_state(KEPT)).reserved.seat
        assert other != seat
        assert await keeping.execute(TAKE, table_id, waiter(lobby).id, other) == "INSERT 0 0"


async def test_who_is_being_written_at_this_moment_is_not_overtaken(lobby: Lobby) -> None:
    table_id, sitting = await full_table(lobby)
    first, second = waiter(lobby), waiter(lobby)
    entry = await first.join(table_id)
    await second.join(table_id)
    async with lobby.pool.acquire() as conn, conn.transaction():
        # As a try to sit down elsewhere, which fails, does.
        await conn.fetch("SELECT FROM waiting WHERE entry_id = $1 FOR UPDATE", entry.entry_id)
        await sitting[0].leave(table_id)
        await asyncio.sleep(1)
        assert (await second.entry()).state == WAITING
    await first.until_state(KEPT)
    assert (await second.entry()).state == WAITING


async def test_however_many_lists_a_player_joins_at_once_it_is_no_more_than_the_most(lobby: Lobby) -> None:
    blind = fresh_blind()
    await full_table(lobby, blind)
    tables = [(await full_table(lobby, blind))[0] for _ in range(LISTS_MAX + 5)]
    eager = waiter(lobby)
    outcomes = await asyncio.gather(*(tried(eager.join(table_id)) for table_id in tables))
    assert sum(is_seat(one) for one in outcomes) == LISTS_MAX
    assert len(await eager.entries()) == LISTS_MAX
