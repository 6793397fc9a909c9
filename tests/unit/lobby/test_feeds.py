"""The list's streams: what each watcher is sent, made once for all who watch the same, and bounded for the slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from cardroom.contracts.lobby.v1.lobby_pb2 import WatchTablesResponse
from cardroom.lobby import feeds, messages
from cardroom.lobby.board import READ_ALL_SECONDS, Board
from cardroom.lobby.domain.listing import EVERY_TABLE, Span, TableFilter
from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.feeds import BACKLOG, Feeds
from tests.unit.lobby.offering import offer

FREE = TableFilter(free_seats=Span(least=1))


class Tables:
    """The offer in memory, which tells what has changed as the database does: a line more than once, none left out."""

    def __init__(self, *offers: Offer) -> None:
        self.now = {one.table.table_id: one for one in offers}
        self.lines: list[str] = []
        self.reads: list[list[str] | None] = []
        self.is_down = False
        self.gate = asyncio.Event()
        self.gate.set()

    def put(self, one: Offer) -> None:
        """A table is opened, or another than it was."""
        self.now[one.table.table_id] = one
        self.lines.append(one.table.table_id)

    def close(self, one: Offer) -> None:
        """A table is closed."""
        del self.now[one.table.table_id]
        self.lines.append(one.table.table_id)

    async def changes(self, since: str) -> tuple[str, list[str]]:
        await self.gate.wait()
        if self.is_down:
            raise ConnectionError
        return str(max(0, len(self.lines) - 1)), self.lines[int(since) :]

    async def offers(self, table_ids: list[str] | None = None) -> list[Offer]:
        self.reads.append(table_ids)
        return [one for table_id, one in self.now.items() if table_ids is None or table_id in table_ids]


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class List:
    """A watcher who reads everything at once, and what they know."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.kinds: list[str] = []
        self.version = 0
        self.tables: dict[str, Any] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def write(self, raw: bytes) -> None:
        await self.gate.wait()
        self.raw.append(raw)
        message = WatchTablesResponse.FromString(raw)
        kind = message.WhichOneof("content")
        self.kinds.append(str(kind))
        if kind == "snapshot":
            self.tables = {table.table_id: table for table in message.snapshot.tables}
        elif kind == "change":
            assert message.version == self.version + 1
            self.tables |= {table.table_id: table for table in message.change.tables}
            for table_id in message.change.removed_table_ids:
                del self.tables[table_id]
        else:
            assert message.version == self.version
        self.version = message.version


class Room:
    """Feeds over tables in memory."""

    def __init__(self, *offers: Offer) -> None:
        self.clock = Clock()
        self.source = Tables(*offers)
        self.feeds = Feeds(
            Board(self.source, self.clock),
            poll_seconds=0,
            statistics_seconds=5,
            heartbeat_seconds=5,
            now=self.clock,
        )
        self.tasks: list[asyncio.Task[None]] = []

    async def watch(self, wanted: TableFilter = EVERY_TABLE) -> List:
        """Somebody comes."""
        watcher = List()
        self.tasks.append(asyncio.create_task(self.feeds.watch(wanted, watcher.write)))
        await settled()
        return watcher

    async def look(self, seconds: float = 0.25) -> None:
        """A while later, the feeds look."""
        self.clock.now += seconds
        await self.feeds.look()
        await settled()


@asynccontextmanager
async def room(*offers: Offer) -> AsyncIterator[Room]:
    made = Room(*offers)
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)
    assert made.feeds._feeds == {}


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def shown(*offers: Offer) -> dict[str, Any]:
    return {one.table.table_id: messages.table(one) for one in offers}


async def test_a_snapshot_then_only_what_has_changed() -> None:
    one, two = offer(1, taken=1), offer(2)
    async with room(one, two) as lobby:
        ada = await lobby.watch()
        assert (ada.kinds, ada.tables) == (["snapshot"], shown(one, two))
        await lobby.look()
        assert ada.kinds == ["snapshot"]
        fuller, three = offer(1, taken=2), offer(3)
        lobby.source.put(fuller)
        lobby.source.put(three)
        lobby.source.close(two)
        await lobby.look()
        assert ada.kinds == ["snapshot", "change"]
        change = WatchTablesResponse.FromString(ada.raw[1]).change
        assert [table.table_id for table in change.tables] == [fuller.table.table_id, three.table.table_id]
        assert list(change.removed_table_ids) == [two.table.table_id]
        assert ada.tables == shown(fuller, three)


async def test_a_table_that_reads_as_before_is_no_change() -> None:
    one = offer(1, taken=1)
    async with room(one) as lobby:
        ada = await lobby.watch()
        lobby.source.put(replace(one, table=replace(one.table, revision=9)))
        await lobby.look()
        assert ada.kinds == ["snapshot"]


async def test_a_filter_tells_who_comes_into_the_list_and_who_goes() -> None:
    one, full = offer(1, taken=5), offer(2, taken=6)
    async with room(one, full) as lobby:
        ada = await lobby.watch(FREE)
        assert ada.tables == shown(one)
        lobby.source.put(offer(1, taken=6))
        await lobby.look()
        assert ada.tables == {}
        lobby.source.put(offer(2, taken=5))
        await lobby.look()
        assert ada.tables == shown(offer(2, taken=5))
        lobby.source.close(offer(1, taken=6))
        await lobby.look()
        assert ada.kinds == ["snapshot", "change", "change"], "a full table that closes is nothing to them"


async def test_all_who_watch_the_same_get_the_same_bytes_from_one_look() -> None:
    async with room(offer(1), offer(2, taken=6)) as lobby:
        watchers = [await lobby.watch(FREE) for _ in range(30)] + [await lobby.watch() for _ in range(30)]
        reads = len(lobby.source.reads)
        lobby.source.put(offer(1, taken=1))
        await lobby.look()
        assert lobby.source.reads[reads:] == [[offer(1).table.table_id]]
        assert len({id(watcher.raw[-1]) for watcher in watchers}) == 2
        assert len({id(watcher.raw[0]) for watcher in watchers}) == 2
        assert all(watcher.tables == watchers[-1].tables for watcher in watchers[30:])


async def test_pots_and_rates_alone_wait_for_others() -> None:
    one, two = offer(1), offer(2)
    async with room(one, two) as lobby:
        ada = await lobby.watch()
        played, seated = replace(one, average_pot=70, hands_per_hour=60), replace(two, taken_seats=(1,), average_pot=9)
        lobby.source.put(played)
        lobby.source.put(seated)
        await lobby.look()
        assert ada.tables == shown(one, seated)
        await lobby.look(4.5)
        assert ada.kinds == ["snapshot", "change"]
        await lobby.look(0.5)
        assert ada.tables == shown(played, seated)


async def test_a_heartbeat_comes_after_five_silent_seconds() -> None:
    async with room(offer(1)) as lobby:
        ada = await lobby.watch()
        await lobby.look(4.9)
        assert ada.kinds == ["snapshot"]
        await lobby.look(0.1)
        await lobby.look(4.9)
        assert ada.kinds == ["snapshot", "heartbeat"]
        lobby.source.put(offer(1, taken=1))
        await lobby.look(0.1)
        await lobby.look(4.9)
        assert ada.kinds == ["snapshot", "heartbeat", "change"]
        await lobby.look(0.1)
        assert ada.kinds == ["snapshot", "heartbeat", "change", "heartbeat"]


async def test_a_list_that_cannot_be_read_sends_no_sign_of_life_and_takes_nobody_in() -> None:
    async with room(offer(1)) as lobby:
        ada = await lobby.watch()
        lobby.source.is_down = True
        lobby.clock.now += 10
        with pytest.raises(ConnectionError):
            await lobby.feeds.look()
        await settled()
        assert ada.kinds == ["snapshot"]
        with pytest.raises(ConnectionError):
            await lobby.feeds.watch(EVERY_TABLE, List().write)
        lobby.source.is_down = False
        lobby.source.put(offer(1, taken=1))
        await lobby.look()
        assert ada.tables == shown(offer(1, taken=1))


async def test_a_watcher_who_lags_reads_on_and_one_who_lags_too_far_gets_the_whole_list() -> None:
    async with room(offer(1)) as lobby:
        quick, slow, stuck = [await lobby.watch() for _ in range(3)]
        for watcher, changes in ((slow, BACKLOG), (stuck, 1)):
            watcher.gate.clear()
            for taken in range(changes):
                lobby.source.put(offer(1, taken=1 + taken % 6))
                await lobby.look()
        slow.gate.set()
        await settled_until(lambda: slow.version == quick.version)
        assert slow.kinds.count("snapshot") == 1
        for taken in range(BACKLOG + 2):
            lobby.source.put(offer(1, taken=1 + taken % 6))
            await lobby.look()
        stuck.gate.set()
        await settled_until(lambda: stuck.version == quick.version)
        assert stuck.kinds.count("snapshot") == 2
        assert stuck.tables == slow.tables == quick.tables


async def settled_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await settled()


async def test_looks_are_further_apart_while_many_are_being_sent_to_but_not_for_those_who_do_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most, turn = feeds.APART_SECONDS_MAX, asyncio.sleep
    async with room(offer(1)) as lobby:
        watchers = [await lobby.watch() for _ in range(feeds.WOKEN_AT_ONCE)]

        async def sleep(seconds: float) -> None:
            """Time passes only here, and whoever can send does."""
            lobby.clock.now += seconds
            for _ in range(10):
                await turn(0)

        monkeypatch.setattr(asyncio, "sleep", sleep)
        lobby.source.put(offer(1, taken=1))
        await lobby.feeds.look()
        assert lobby.feeds.look.apart_seconds < most, "everybody was quick"
        for watcher in watchers:
            watcher.gate.clear()
        lobby.source.put(offer(1, taken=2))
        await lobby.feeds.look()
        assert lobby.feeds.look.apart_seconds == pytest.approx(most), "as if they were slow, and no longer than that"
        lobby.source.put(offer(1, taken=3))
        await lobby.feeds.look()
        assert lobby.feeds.look.apart_seconds < most, "those who still hang are nobody's concern"
        for watcher in watchers:
            watcher.gate.set()
        await settled_until(lambda: all(watcher.version == 4 for watcher in watchers))


async def test_who_comes_after_a_pause_sees_what_is_now() -> None:
    async with room(offer(1)) as lobby:
        ada = await lobby.watch()
        lobby.tasks[0].cancel()
        await settled()
        lobby.source.put(offer(1, taken=3))
        lobby.source.put(offer(2))
        bob = await lobby.watch()
        assert ada.tables == shown(offer(1))
        assert bob.tables == shown(offer(1, taken=3), offer(2))


async def test_a_newcomer_and_an_old_watcher_end_with_the_same_list() -> None:
    async with room(offer(1)) as lobby:
        ada = await lobby.watch(FREE)
        lobby.source.put(offer(1, taken=2))
        await lobby.look()
        bob = await lobby.watch(FREE)
        lobby.source.put(offer(1, taken=3))
        await lobby.look()
        assert ada.tables == bob.tables == shown(offer(1, taken=3))
        assert (ada.kinds, bob.kinds) == (["snapshot", "change", "change"], ["snapshot", "change"])


async def test_everything_is_read_anew_now_and_then_and_only_differences_are_told() -> None:
    async with room(offer(1), offer(2)) as lobby:
        ada = await lobby.watch()
        # A line that was lost on the way.
        lobby.source.now[offer(2).table.table_id] = offer(2, taken=1)
        await lobby.look(READ_ALL_SECONDS)
        assert lobby.source.reads[-1] is None
        assert ada.kinds[:2] == ["snapshot", "change"]
        assert [table.table_id for table in WatchTablesResponse.FromString(ada.raw[1]).change.tables] == [
            offer(2).table.table_id
        ]
