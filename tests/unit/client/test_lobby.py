"""The list of tables stays current whatever happens to its stream."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from cardroom.client import LobbySession, errors
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.contracts.lobby.v1 import lobby_pb2 as pb
from cardroom.contracts.table.v1.view_pb2 import Stakes


class FakeStream:
    """A stream that gives its script, then hangs or fails."""

    def __init__(self, *script: pb.WatchTablesResponse | Exception) -> None:
        self.script = list(script)
        self.is_cancelled = False

    async def read(self) -> Any:
        if not self.script:
            await asyncio.Event().wait()
        item = self.script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeConnection:
    """Gives the streams in turn."""

    def __init__(self, streams: Iterable[FakeStream]) -> None:
        self.channel = grpc.aio.insecure_channel("127.0.0.1:1")
        self.policy = CallPolicy(backoff=Backoff(first_seconds=0.0, max_seconds=0.0))
        self.streams = list(streams)
        self.requests: list[pb.WatchTablesRequest] = []

    async def open_stream(self, method: Any, request: pb.WatchTablesRequest) -> FakeStream:
        self.requests.append(request)
        return self.streams.pop(0)


def table(table_id: str, taken: int = 0, small_blind: int = 1) -> pb.Table:
    return pb.Table(table_id=table_id, name=table_id, seats_taken=taken, stakes=Stakes(small_blind=small_blind))


def snapshot(version: int, *tables: pb.Table) -> pb.WatchTablesResponse:
    return pb.WatchTablesResponse(version=version, snapshot=pb.TablesSnapshot(tables=tables))


def change(version: int, *tables: pb.Table, removed: Iterable[str] = ()) -> pb.WatchTablesResponse:
    return pb.WatchTablesResponse(version=version, change=pb.TablesChange(tables=tables, removed_table_ids=removed))


def heartbeat(version: int) -> pb.WatchTablesResponse:
    return pb.WatchTablesResponse(version=version, heartbeat=pb.TablesHeartbeat())


def session(*streams: FakeStream, wanted: pb.TableFilter | None = None) -> tuple[LobbySession, FakeConnection]:
    connection = FakeConnection(streams)
    return LobbySession(connection, wanted or pb.TableFilter()), connection  # type: ignore[arg-type]


def seen(lobby: LobbySession) -> dict[str, int]:
    return {table_id: table.seats_taken for table_id, table in lobby.tables.items()}


async def test_a_snapshot_then_changes_keep_the_list_current() -> None:
    wanted = pb.TableFilter(free_seats_min=1)
    lobby, connection = session(
        FakeStream(
            snapshot(3, table("a"), table("b", 2)),
            heartbeat(3),
            change(4, table("a", 1), table("c")),
            change(5, removed=["b"]),
        ),
        wanted=wanted,
    )
    first = await anext(lobby)
    assert (first.is_snapshot, first.version, seen(lobby)) == (True, 3, {"a": 0, "b": 2})
    second = await anext(lobby)
    assert [table.table_id for table in second.changed] == ["a", "c"]
    assert seen(lobby) == {"a": 1, "b": 2, "c": 0}
    third = await anext(lobby)
    assert (list(third.removed), third.is_snapshot, seen(lobby)) == (["b"], False, {"a": 1, "c": 0})
    assert (lobby.resyncs, lobby.is_connected) == (0, True)
    assert connection.requests == [pb.WatchTablesRequest(filter=wanted)]


@pytest.mark.parametrize(
    "broken",
    [
        change(6, table("a", 5)),
        change(4, table("a", 5)),
        heartbeat(5),
        AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "", None),
    ],
)
async def test_a_gap_or_a_break_leads_to_a_new_snapshot(broken: Any) -> None:
    first = FakeStream(snapshot(4, table("a"), table("gone")), broken)
    lobby, connection = session(first, FakeStream(snapshot(1, table("a", 2)), change(2, table("a", 3))))
    updates = [await anext(lobby) for _ in range(3)]
    assert [(update.is_snapshot, update.version) for update in updates] == [(True, 4), (True, 1), (False, 2)]
    assert seen(lobby) == {"a": 3}
    assert first.is_cancelled
    assert (len(connection.requests), lobby.resyncs) == (2, 1)


async def test_a_snapshot_in_the_middle_replaces_the_list() -> None:
    lobby, _ = session(FakeStream(snapshot(4, table("a")), snapshot(90, table("b")), change(91, table("b", 1))))
    for _ in range(3):
        await anext(lobby)
    assert seen(lobby) == {"b": 1}


async def test_a_filter_that_is_refused_ends_it() -> None:
    lobby, _ = session(FakeStream(AioRpcError(grpc.StatusCode.INVALID_ARGUMENT, Metadata(), Metadata(), "no", None)))
    with pytest.raises(errors.InvalidArgumentError):
        await anext(lobby)
    with pytest.raises(StopAsyncIteration):
        await anext(lobby)


async def test_the_list_has_an_order() -> None:
    lobby, _ = session(FakeStream(snapshot(1, table("b", small_blind=5), table("c"), table("a"))))
    await anext(lobby)
    assert [table.name for table in lobby.in_order] == ["a", "c", "b"]
