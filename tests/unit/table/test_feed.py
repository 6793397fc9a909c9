"""Streams: a snapshot, then every change once, own cards to their owner only, and an end that is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from cardroom.chassis.errors import PermissionDenied
from cardroom.contracts.table.v1.table_pb2 import PlayResponse
from cardroom.table.domain.step import Decision
from cardroom.table.feed import BACKLOG, Feed, PlayStream
from tests.unit.table.driver import CALL, SEAT_2_WINS, Driver, player_id


class Reader:
    """A client of one stream. While `blocked`, the network takes nothing."""

    def __init__(self, table: Driver, feed: Feed, number: int) -> None:
        self.got: list[PlayResponse] = []
        self.open = asyncio.Event()
        self.open.set()
        self.stream = PlayStream(player_id(number))
        feed.streams.append(self.stream)
        self.task = asyncio.create_task(self.stream.run(feed, lambda: table.state, self._write))

    async def _write(self, message: bytes) -> None:
        await self.open.wait()
        self.got.append(PlayResponse.FromString(message))

    @property
    def kinds(self) -> list[str]:
        return [str(message.WhichOneof("content")) for message in self.got]

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(2):
            while not true():  # noqa: ASYNC110 - every turn of the loop counts
                await asyncio.sleep(0)


@pytest.fixture
def table() -> Driver:
    return Driver(1000, 1000)


@pytest.fixture
def feed() -> Feed:
    return Feed()


def push(feed: Feed, decision: Decision) -> None:
    feed.push(decision)


async def test_a_stream_starts_with_a_snapshot_and_goes_on_with_numbered_changes(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    await reader.until(lambda: len(reader.got) == 1)
    push(feed, table.deal(SEAT_2_WINS))
    push(feed, table.act(CALL))
    await reader.until(lambda: len(reader.got) == 3)
    assert reader.kinds == ["snapshot", "change", "change"]
    first = reader.got[0].version
    assert [message.version for message in reader.got] == [first, first + 1, first + 2]
    reader.task.cancel()


async def test_10_6_who_left_before_the_stream_began_gets_no_snapshot(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    table.leave(1)
    feed.end_of(lambda player: player != player_id(1), PermissionDenied("NOT_SEATED", "left"))
    with pytest.raises(PermissionDenied):
        await reader.task
    assert not reader.got


async def test_2_6_own_cards_go_to_their_owner_only(table: Driver, feed: Feed) -> None:
    one, two = Reader(table, feed, 1), Reader(table, feed, 2)
    await two.until(lambda: len(two.got) == 1)
    push(feed, table.deal(SEAT_2_WINS))
    await two.until(lambda: len(two.got) == 2 == len(one.got))
    assert one.got[1].change.own_cards.cards == "7c2d"
    assert two.got[1].change.own_cards.cards == "AhAd"
    assert "AhAd" not in str(one.got)
    assert "7c2d" not in str(two.got)
    one.task.cancel()
    two.task.cancel()


async def test_a_public_change_is_made_into_bytes_once(table: Driver, feed: Feed) -> None:
    readers = [Reader(table, feed, number) for number in (1, 2)]
    await readers[1].until(lambda: len(readers[1].got) == 1)
    table.deal()
    push(feed, table.act(CALL))
    assert feed.item(feed.next - 1, player_id(1)) is feed.item(feed.next - 1, player_id(2))
    for reader in readers:
        reader.task.cancel()


async def test_a_stream_opened_in_a_hand_gets_the_players_cards_with_the_snapshot(table: Driver, feed: Feed) -> None:
    table.deal(SEAT_2_WINS)
    reader = Reader(table, feed, 2)
    await reader.until(lambda: len(reader.got) == 1)
    assert reader.got[0].snapshot.own_cards.cards == "AhAd"
    assert reader.got[0].snapshot.own_cards.hand_number == 1
    reader.task.cancel()


async def test_a_stream_that_lags_too_far_gets_a_new_snapshot(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    await reader.until(lambda: len(reader.got) == 1)
    reader.open.clear()
    for _ in range(BACKLOG):
        push(feed, table.deal())
        push(feed, table.fold_out())
    reader.open.set()
    await reader.until(lambda: reader.got[-1].version == table.state.version)
    assert reader.kinds.count("snapshot") == 2
    assert len(reader.got) < BACKLOG
    reader.task.cancel()


async def test_a_silent_stream_beats_once_for_each_silence(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    await reader.until(lambda: len(reader.got) == 1)
    reader.stream.beat()
    await reader.until(lambda: len(reader.got) == 2)
    assert reader.kinds == ["snapshot", "heartbeat"]
    assert reader.got[1].version == table.state.version
    reader.task.cancel()


async def test_an_ended_stream_is_sent_what_came_before_and_nothing_after(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    await reader.until(lambda: len(reader.got) == 1)
    push(feed, table.deal())
    feed.end_of(lambda player: player != player_id(1), PermissionError("left"))
    push(feed, table.act(CALL))
    with pytest.raises(PermissionError):
        await reader.task
    assert reader.kinds == ["snapshot", "change"]


async def test_after_a_resync_every_stream_starts_anew(table: Driver, feed: Feed) -> None:
    reader = Reader(table, feed, 1)
    await reader.until(lambda: len(reader.got) == 1)
    table.deal()
    feed.resync()
    await reader.until(lambda: len(reader.got) == 2)
    assert reader.kinds == ["snapshot", "snapshot"]
    assert reader.got[1].version == table.state.version
    reader.task.cancel()


async def test_without_streams_nothing_is_kept(table: Driver, feed: Feed) -> None:
    push(feed, table.deal())
    assert feed.next == 0
