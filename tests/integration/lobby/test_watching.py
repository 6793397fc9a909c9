"""WatchTables over gRPC, on a real database: a snapshot, then changes, from every replica, within a second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import grpc
import pytest

from cardroom.chassis.grpc_server import GrpcServer
from cardroom.contracts.lobby.v1 import lobby_pb2_grpc
from cardroom.contracts.lobby.v1.lobby_pb2 import TableFilter, WatchTablesRequest
from cardroom.lobby.store import TableStore
from tests.integration.lobby.conftest import Lobby, refusal, token, until
from tests.integration.lobby.waiters import KEPT, fresh_blind, full_table, let_the_kept_seat_lapse, stakes, waiter


class Watch:
    """A watcher's stream and what it has told."""

    def __init__(self, lobby: Lobby, player: str, wanted: TableFilter) -> None:
        stub: Any = lobby_pb2_grpc.LobbyServiceStub(lobby.channel)
        self.stream = stub.WatchTables(WatchTablesRequest(filter=wanted), metadata=token(player or str(uuid4())))
        self.tables: dict[str, Any] = {}
        self.kinds: list[str] = []
        self.version = 0

    async def read(self) -> Any:
        """The next message, applied."""
        message = await asyncio.wait_for(self.stream.read(), 30)
        assert message, "the stream ended"
        kind = message.WhichOneof("content")
        self.kinds.append(kind)
        assert message.version == self.version + (kind == "change") or kind == "snapshot"
        self.version = message.version
        if kind == "snapshot":
            self.tables = {table.table_id: table for table in message.snapshot.tables}
        self.tables |= {table.table_id: table for table in message.change.tables}
        for table_id in message.change.removed_table_ids:
            del self.tables[table_id]
        return message

    async def until(self, table_id: str, taken: int | None) -> float:
        """Read until the table has so many players, or is not listed any more (None); return the time."""
        while (self.tables[table_id].seats_taken if table_id in self.tables else None) != taken:
            await self.read()
        return time.monotonic()


@asynccontextmanager
async def watching(lobby: Lobby, **wanted: Any) -> AsyncIterator[Watch]:
    """A stream that has brought its snapshot."""
    watch = Watch(lobby, "", TableFilter(**wanted))
    await watch.read()
    yield watch
    watch.stream.cancel()


async def test_the_stream_begins_with_the_list_and_goes_on_with_what_changes(lobby: Lobby, table_id: str) -> None:
    async with watching(lobby) as watch:
        assert watch.kinds == ["snapshot"]
        assert watch.tables[table_id] == await lobby.player().table(table_id)
        ada = lobby.player()
        await ada.sit(table_id, seat=3)
        await watch.until(table_id, 1)
        assert watch.tables[table_id] == await lobby.player().table(table_id)
        opened = (await lobby.create(name="New")).table_id
        await watch.until(opened, 0)
        await lobby.close(opened)
        await watch.until(opened, None)
        await ada.leave(table_id)
        await watch.until(table_id, 0)
        assert watch.kinds.count("snapshot") == 1


async def test_every_replica_tells_of_a_change_within_a_second_of_its_commit(
    lobby: Lobby, second_lobby: Lobby, table_id: str
) -> None:
    async with watching(lobby) as here, watching(second_lobby) as there:
        for taken in range(1, 5):
            await lobby.player().sit(table_id)
            committed = time.monotonic()
            told = await asyncio.gather(here.until(table_id, taken), there.until(table_id, taken))
            assert max(told) - committed < 1


async def test_a_change_holds_only_tables_that_have_changed_and_pass_the_filter(lobby: Lobby, table_id: str) -> None:
    mine = (await lobby.create(small_blind=77, big_blind=154, seats=2)).table_id
    wanted = {"small_blind_min": 77, "small_blind_max": 77, "free_seats_min": 1}
    players = [lobby.player() for _ in range(3)]
    lobby.neighbours.balances |= {player.id: 10**6 for player in players}
    async with watching(lobby, **wanted) as watch:
        assert set(watch.tables) == {mine}
        await players[0].sit(table_id)
        await players[1].sit(mine, buy_in=10_000)
        message = await watch.read()
        assert [table.table_id for table in message.change.tables] == [mine]
        await players[2].sit(mine, buy_in=10_000)
        message = await watch.read()
        assert list(message.change.removed_table_ids) == [mine], "it is full"
        await players[2].leave(mine)
        message = await watch.read()
        assert [table.seats_taken for table in message.change.tables] == [1]


async def test_the_list_tells_how_many_wait_for_each_table_on_its_own_list(lobby: Lobby, second_lobby: Lobby) -> None:
    blind = fresh_blind()
    mine, sitting = await full_table(lobby, blind)
    others, _ = await full_table(lobby, blind)
    first, second, anywhere = waiter(lobby), waiter(second_lobby), waiter(lobby)
    async with watching(lobby) as here, watching(second_lobby, small_blind_min=blind, small_blind_max=blind) as there:

        async def are_told(waiting: int) -> None:
            for watch in (here, there):
                while watch.tables[mine].waiting != waiting:
                    await watch.read()
                assert watch.tables[others].waiting == 0
            assert (await lobby.player().table(mine)).waiting == waiting
            listed = (await lobby.player().tables(order_by="waiting desc", page_size=1)).tables
            assert listed[0].waiting >= waiting

        await first.join(mine)
        await are_told(1)
        entry = await second.join(mine)
        not_counted = await anywhere.join(stakes(blind))
        await are_told(2)
        await sitting[0].leave(mine)
        kept = await first.until_state(KEPT)
        await are_told(1)
        await second.quit(entry)
        await are_told(0)
        await second.join(mine)
        await anywhere.quit(not_counted)
        await are_told(1)
        # The seat is not taken in time, and goes to the second.
        await let_the_kept_seat_lapse(lobby, kept)
        await are_told(0)


async def test_a_change_that_commits_late_is_not_missed(lobby: Lobby, table_id: str) -> None:
    """A transaction that began first and ends last: a cursor by numbers would have passed it."""
    early, late = [(await lobby.create()).table_id for _ in range(2)]
    insert = """
        INSERT INTO seatings (seating_id, table_id, player_id, display_name, seat, buy_in, step)
        VALUES (gen_random_uuid(), $1, gen_random_uuid(), 'Ada', 1, 1000, 'seated')
    """
    async with watching(lobby) as watch, lobby.pool.acquire() as first, lobby.pool.acquire() as second:
        async with first.transaction():
            await first.execute(insert, late)
            await second.execute(insert, early)
            await watch.until(early, 1)
            await asyncio.sleep(0.6)  # two looks of the feeds
            assert watch.tables[late].seats_taken == 0
        await watch.until(late, 1)


async def test_a_watcher_who_does_not_read_is_sent_the_whole_list_later_and_the_lobby_keeps_nothing_for_them(
    lobby: Lobby,
) -> None:
    tables = [(await lobby.create(name=f"Many {n}", small_blind=91, big_blind=182)).table_id for n in range(60)]
    rename = "UPDATE tables SET name = $2 WHERE table_id = ANY($1::uuid[])"
    touch = "INSERT INTO table_changes (table_id) SELECT unnest($1::uuid[])"
    # A connection of its own, whose window is not shared with others.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0)]
    port = next(part for part in lobby.app._parts if isinstance(part, GrpcServer)).port
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        slow = Watch(Lobby(lobby.app, channel, lobby.pool, lobby.neighbours), "", TableFilter(small_blind_min=91))
        await slow.read()
        async with watching(lobby, small_blind_min=91, small_blind_max=91) as quick:
            for number in range(90):
                await lobby.pool.execute(rename, tables, f"{number} " + "x" * 30)
                await lobby.pool.execute(touch, tables)
                await quick.read()
            want = quick.tables[tables[0]].name
        async with asyncio.timeout(30):
            while slow.tables[tables[0]].name != want:
                await slow.read()
    assert slow.kinds.count("snapshot") >= 2
    assert len(slow.kinds) < 90
    for table_id in tables:
        await lobby.close(table_id)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"games": [99]}, "games"),
        ({"players_min": -1}, "players_min"),
        ({"small_blind_min": 2, "small_blind_max": 1}, "small_blind_min"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_refused(lobby: Lobby, wanted: dict[str, Any], field: str) -> None:
    error = await refusal(Watch(lobby, "", TableFilter(**wanted)).stream.read())
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FILTER")
    assert error.metadata["field"] == field


async def test_a_player_has_four_streams_at_most(lobby: Lobby) -> None:
    player = str(uuid4())
    watches = [Watch(lobby, player, TableFilter()) for _ in range(4)]
    for watch in watches:
        await watch.read()
    error = await refusal(Watch(lobby, player, TableFilter()).stream.read())
    assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS")
    for watch in watches:
        watch.stream.cancel()

    async def is_let_in() -> bool:
        again = Watch(lobby, player, TableFilter())
        try:
            await again.read()
        except grpc.aio.AioRpcError:
            return False
        again.stream.cancel()
        return True

    await until(is_let_in)


async def test_what_has_changed_is_forgotten_and_a_feed_goes_on(lobby: Lobby, table_id: str) -> None:
    async with watching(lobby) as watch:
        await lobby.pool.execute("UPDATE table_changes SET written_at = now() - interval '1 hour'")
        await TableStore(lobby.pool).forget_changes()
        assert await lobby.pool.fetchval("SELECT count(*) FROM table_changes") == 0
        await lobby.player().sit(table_id)
        await watch.until(table_id, 1)


async def test_only_players_watch(lobby: Lobby) -> None:
    stub: Any = lobby_pb2_grpc.LobbyServiceStub(lobby.channel)
    call = stub.WatchTables(WatchTablesRequest(), metadata=token("op", "operator"))
    assert (await refusal(call.read())).code is grpc.StatusCode.PERMISSION_DENIED
