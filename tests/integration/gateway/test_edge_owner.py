"""Design §3: any replica takes any request, but a client that knows its table's owner is sent straight there."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest

from cardroom.contracts.table.v1 import table_pb2, table_pb2_grpc
from tests.integration.gateway.edge import Edge, FakeServices, Issuer, fake_services

BEHIND = ("gateway", "lobby", "wallet", "clock", "spectator")


@pytest.fixture
async def replicas() -> AsyncIterator[list[FakeServices]]:
    made = [fake_services("one"), fake_services("two")]
    for replica in made:
        await replica.start()
    yield made
    for replica in made:
        await replica.stop()


@pytest.fixture
async def edge(replicas: list[FakeServices], issuer: Issuer, tmp_path: Path) -> AsyncIterator[Edge]:
    addresses = tuple(f"127.0.0.1:{replica.port}" for replica in replicas)
    behind: dict[str, Any] = {f"{name}_addresses": addresses[:1] for name in BEHIND}
    edge = Edge(tmp_path, jwks_url=issuer.url, table_addresses=addresses, **behind)
    await edge.start()
    yield edge
    await edge.stop()


@pytest.fixture
async def table(edge: Edge) -> AsyncIterator[table_pb2_grpc.TableServiceAsyncStub]:
    async with grpc.aio.insecure_channel(edge.address) as channel:
        yield table_pb2_grpc.TableServiceStub(channel)


def along(issuer: Issuer, address: str) -> tuple[tuple[str, str], ...]:
    """A player's token, and the owner as a stream would have named it."""
    owner = base64.b64encode(address.encode()).decode()
    return (("authorization", f"Bearer {issuer.token()}"), ("cardroom-replica", owner))


async def test_calls_go_to_the_replica_that_is_named(
    table: table_pb2_grpc.TableServiceAsyncStub, replicas: list[FakeServices], issuer: Issuer
) -> None:
    for chosen in (*replicas, *replicas):
        before = len(chosen.calls)
        for _ in range(5):
            await table.Act(table_pb2.ActRequest(), metadata=along(issuer, f"127.0.0.1:{chosen.port}"))
        assert len(chosen.calls) == before + 5


async def test_a_name_that_is_no_replica_sends_nobody_anywhere_else(
    table: table_pb2_grpc.TableServiceAsyncStub, replicas: list[FakeServices], issuer: Issuer
) -> None:
    for nowhere in ("127.0.0.1:1", "10.0.0.1:7101", "nonsense"):
        assert (await table.Act(table_pb2.ActRequest(), metadata=along(issuer, nowhere))).version == 7
    assert sum(len(replica.calls) for replica in replicas) == 3


async def test_a_replica_that_is_gone_is_not_missed(
    table: table_pb2_grpc.TableServiceAsyncStub, replicas: list[FakeServices], issuer: Issuer
) -> None:
    gone, left = replicas
    await gone.stop()
    for _ in range(5):
        await table.Act(table_pb2.ActRequest(), metadata=along(issuer, f"127.0.0.1:{gone.port}"))
    assert len(left.calls) == 5


async def test_no_answer_and_no_refusal_tells_the_address_of_a_replica(
    edge: Edge, table: table_pb2_grpc.TableServiceAsyncStub, replicas: list[FakeServices], issuer: Issuer
) -> None:
    places = [f"127.0.0.1:{replica.port}" for replica in replicas]
    told: list[str] = []
    for metadata in (along(issuer, "10.0.0.1:7101"), along(issuer, places[0])):
        act = table.Act(table_pb2.ActRequest(), metadata=metadata)
        told += [f"{key}: {value!r}" for key, value in (*await act.initial_metadata(), *await act.trailing_metadata())]
        async with aiohttp.ClientSession(edge.url, headers=dict(metadata)) as http:
            for body in ("{}", "[1]"):
                async with http.post("/v1/tables/t1/actions", data=body) as answer:
                    told += [f"{key}: {value}" for key, value in answer.headers.items()]
            async with http.get("/v1/tables/t1/play") as unserved:
                told += [f"{key}: {value}" for key, value in unserved.headers.items()]
    assert told
    inside = ("cardroom-replica", *places, *(base64.b64encode(place.encode()).decode() for place in places))
    assert [line for line in told if any(word in line.lower() or word in line for word in inside)] == []
