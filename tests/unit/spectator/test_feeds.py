"""All watchers of a table share one feed: one poll, one message, and each joins where the others are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.errors import NotFound
from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchResponse
from cardroom.contracts.table.v1.view_pb2 import PublicView
from cardroom.spectator.domain.backlog import BACKLOG_MAX
from cardroom.spectator.domain.feed import Change
from cardroom.spectator.feeds import Feeds, Watcher
from cardroom.spectator.store import Opening

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def change(version: int) -> Change:
    body = TableChanged(
        table_id="t", version=version, occurred_at=Timestamp(seconds=version), view=PublicView(version=version)
    )
    return Change("t", version, BEGAN + timedelta(seconds=version), body.SerializeToString())


class FakeStore:
    """Changes in memory; `due` of them are due."""

    def __init__(self, *versions: int, due: int) -> None:
        self.changes = [change(version) for version in versions]
        self.due = due
        self.polls: list[list[str]] = []

    async def open(self, table_id: str) -> Opening:
        due = [known for known in self.changes if known.version <= self.due]
        return Opening(bool(self.changes) and table_id == "t", due[-1] if due else None, BEGAN)

    async def due_after(self, shown: Mapping[str, Change | None]) -> tuple[list[Change], datetime]:
        self.polls.append(list(shown))
        last = shown.get("t")
        seen = 0 if last is None else last.version
        return [known for known in self.changes if seen < known.version <= self.due], BEGAN + timedelta(hours=1)


def made(store: FakeStore) -> Feeds:
    return Feeds(store, poll_seconds=0.01)  # type: ignore[arg-type]


async def sent(watcher: Watcher) -> list[tuple[str | None, int]]:
    messages = [WatchResponse.FromString(message) for message in await watcher.next(0.001)]
    return [(message.WhichOneof("content"), message.version) for message in messages]


async def test_a_watcher_gets_a_snapshot_at_once_and_changes_as_they_fall_due() -> None:
    store = FakeStore(*range(1, 10), due=4)
    feeds = made(store)
    watcher = await feeds.join("t")
    assert await sent(watcher) == [("snapshot", 4)]
    store.due = 6
    await feeds.poll()
    assert await sent(watcher) == [("change", 5), ("change", 6)]
    assert await sent(watcher) == [("heartbeat", 6)]


async def test_one_who_joins_later_begins_where_the_others_are() -> None:
    store = FakeStore(*range(1, 10), due=4)
    feeds = made(store)
    first = await feeds.join("t")
    store.due = 6
    second = await feeds.join("t")
    assert await sent(second) == [("snapshot", 4)], "the same place as the first, whatever has become due meanwhile"
    await feeds.poll()
    assert await sent(first) == [("snapshot", 4), ("change", 5), ("change", 6)]
    assert await sent(second) == [("change", 5), ("change", 6)]
    assert store.polls == [["t"]]


async def test_a_young_table_sends_signs_of_life_until_something_is_due() -> None:
    store = FakeStore(1, 2, due=0)
    feeds = made(store)
    watcher = await feeds.join("t")
    assert await sent(watcher) == [("heartbeat", 0)]
    store.due = 2
    await feeds.poll()
    assert await sent(watcher) == [("snapshot", 1), ("change", 2)]


async def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(NotFound, match="no table"):
        await made(FakeStore(1, due=1)).join("other")


async def test_a_watcher_too_slow_goes_on_from_a_snapshot() -> None:
    store = FakeStore(*range(1, BACKLOG_MAX + 10), due=1)
    feeds = made(store)
    watcher = await feeds.join("t")
    store.due = BACKLOG_MAX + 5
    await feeds.poll()
    assert await sent(watcher) == [("snapshot", BACKLOG_MAX + 5)]
    store.due += 1
    await feeds.poll()
    assert await sent(watcher) == [("change", BACKLOG_MAX + 6)]


async def test_a_feed_ends_with_its_last_watcher() -> None:
    store = FakeStore(1, due=1)
    feeds = made(store)
    first, second = await feeds.join("t"), await feeds.join("t")
    feeds.leave("t", first)
    await feeds.poll()
    feeds.leave("t", second)
    feeds.leave("t", second)
    assert store.polls == [["t"]]
    assert await sent(await feeds.join("t")) == [("snapshot", 1)]


async def test_a_failing_watcher_does_not_stop_the_others() -> None:
    store = FakeStore(*range(1, 5), due=1)
    feeds = made(store)
    leaver, stayer = await feeds.join("t"), await feeds.join("t")
    waiting = asyncio.create_task(leaver.next(60))
    await asyncio.sleep(0)
    waiting.cancel()
    feeds.leave("t", leaver)
    store.due = 2
    await feeds.poll()
    assert await sent(stayer) == [("snapshot", 1), ("change", 2)]
