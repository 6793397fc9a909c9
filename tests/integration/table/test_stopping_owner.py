"""A replica passes on to an owner that is being stopped: gRPC cancels there what was not taken up yet."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from cardroom.chassis.leases import LeaseKeeper
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import table_pb2_grpc
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.tables import shard_of
from tests.integration.table.replicas import Player, Replica, Sql, StartReplica, refusal, until

TURN = view.TurnToken(hand_number=1, action_number=1)


class Stopping(table_pb2_grpc.TableServiceServicer):
    """An owner that cancels the first call, and every stream after its first message."""

    def __init__(self) -> None:
        self.calls = 0

    async def Act(self, request: Any, context: Any) -> pb.ActResponse:
        self.calls += 1
        if self.calls == 1:
            await context.abort(grpc.StatusCode.CANCELLED)
        return pb.ActResponse(version=7, turn=request.turn)

    async def Play(self, request: Any, context: Any) -> AsyncIterator[pb.PlayResponse]:
        yield pb.PlayResponse(version=7, heartbeat=pb.Heartbeat())
        await context.abort(grpc.StatusCode.CANCELLED)


@pytest.fixture
async def owner() -> AsyncIterator[tuple[Stopping, str]]:
    stopping, server = Stopping(), grpc.aio.server()  # type: ignore[abstract]  # nothing else is asked of it
    table_pb2_grpc.add_TableServiceServicer_to_server(stopping, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield stopping, f"127.0.0.1:{port}"
    await server.stop(None)


async def owned_elsewhere(replica: Replica, sql: Sql, address: str) -> str:
    """A table that the replica believes to be owned at that address."""
    table_id = str(uuid.uuid4())
    await sql.execute(
        "insert into runners (runner_id, address, draining, expires_at) values ('other', $1, true, now() + '1 hour')",
        address,
    )
    await sql.execute("update leases set owner = 'other', epoch = epoch + 1 where shard = $1", shard_of(table_id))
    keeper = replica.part(LeaseKeeper)
    await until(lambda: (owner := keeper.owner_of(shard_of(table_id))) is not None and owner.address == address)
    return table_id


async def test_a_call_that_a_stopping_owner_cancels_is_made_again(
    start_replica: StartReplica, sql: Sql, owner: tuple[Stopping, str]
) -> None:
    replica = await start_replica()
    table_id = await owned_elsewhere(replica, sql, owner[1])
    answer = await Player("Ann").act(replica, table_id, TURN, view.ACTION_KIND_FOLD)
    assert (answer.version, owner[0].calls) == (7, 2)


async def test_a_stream_that_a_stopping_owner_cancels_ends_as_when_the_table_moves(
    start_replica: StartReplica, sql: Sql, owner: tuple[Stopping, str]
) -> None:
    replica = await start_replica()
    stream = Player("Ann").play(replica, await owned_elsewhere(replica, sql, owner[1]))
    assert (await stream.read()).version == 7
    error = await refusal(stream.read())
    assert (error.code.name, error.reason) == ("UNAVAILABLE", "TABLE_MOVING")
