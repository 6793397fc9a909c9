"""Every call says what its arguments say; writes carry a key that is made once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import grpc
import pytest

from cardroom.client import Client, FailedPreconditionError, PlayerClient, ServiceClient
from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.table.v1.view_pb2 import Stakes
from cardroom.contracts.wallet.v1 import ledger_pb2 as ledger
from cardroom.contracts.wallet.v1 import types_pb2 as types
from cardroom.contracts.wallet.v1 import wallet_pb2 as wallet


class FakeConnection:
    """Answers from a list and keeps the requests."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.answers: list[Any] = []
        self.requests: list[Any] = []

    async def call(self, method: Any, request: Any, *, is_safe_to_repeat: bool = True) -> Any:
        assert is_safe_to_repeat
        self.requests.append(type(request).FromString(request.SerializeToString()))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
async def connection() -> AsyncIterator[FakeConnection]:
    channel = grpc.aio.insecure_channel("127.0.0.1:1")
    yield FakeConnection(channel)
    await channel.close(None)


@pytest.fixture
def player(connection: FakeConnection) -> PlayerClient:
    return PlayerClient(connection, "me", "Ann")  # type: ignore[arg-type]


@pytest.fixture
def service(connection: FakeConnection) -> ServiceClient:
    return ServiceClient(connection)  # type: ignore[arg-type]


async def test_tables_are_read_to_the_last_page(player: PlayerClient, connection: FakeConnection) -> None:
    first = lobby.ListTablesResponse(tables=[lobby.Table(name="A")], next_page_token="2")
    connection.answers = [first, lobby.ListTablesResponse(tables=[lobby.Table(name="B")])]
    assert [table.name for table in await player.tables()] == ["A", "B"]
    assert [request.page_token for request in connection.requests] == ["", "2"]


async def test_every_page_is_asked_for_with_the_same_filter_and_order(
    player: PlayerClient, connection: FakeConnection
) -> None:
    connection.answers = [lobby.ListTablesResponse(next_page_token="2"), lobby.ListTablesResponse()]
    wanted = lobby.TableFilter(small_blind_min=5)
    await player.tables(wanted, order_by="name desc")
    assert [(one.filter, one.order_by) for one in connection.requests] == [(wanted, "name desc")] * 2


async def test_a_statement_is_read_page_by_page(player: PlayerClient, connection: FakeConnection) -> None:
    first = wallet.ListEntriesResponse(entries=[types.Entry(version=2)], next_page_token="2")
    connection.answers = [first, wallet.ListEntriesResponse(entries=[types.Entry(version=1)])]
    assert [entry.version async for entry in player.statement()] == [2, 1]
    assert connection.requests[1].page_token == "2"


async def test_each_sitting_down_has_a_key_of_its_own_unless_one_is_given(
    player: PlayerClient, connection: FakeConnection
) -> None:
    connection.answers = [lobby.SitDownResponse()] * 3
    await player.sit_down("t", 500, seat=3)
    await player.sit_down("t", 500)
    await player.sit_down("t", 500, request_id="mine")
    first, second, third = connection.requests
    assert (first.table_id, first.buy_in, first.seat) == ("t", 500, 3)
    assert len({first.request_id, second.request_id, third.request_id, ""}) == 4
    assert third.request_id == "mine"


async def test_each_top_up_has_a_key_of_its_own_unless_one_is_given(
    player: PlayerClient, connection: FakeConnection
) -> None:
    connection.answers = [lobby.TopUpResponse(added=300)] * 2
    assert (await player.top_up("t", 500)).added == 300
    await player.top_up("t", 500, request_id="mine")
    first, second = connection.requests
    assert (first.table_id, first.amount, bool(first.request_id)) == ("t", 500, True)
    assert second.request_id == "mine"


async def test_leaving_waits_until_the_chips_are_back(player: PlayerClient, connection: FakeConnection) -> None:
    leaving = lobby.LeaveTableResponse(seating=lobby.Seating(state=lobby.SEATING_STATE_LEAVING))
    over = lobby.LeaveTableResponse(seating=lobby.Seating(state=lobby.SEATING_STATE_OVER), cashed_out=970)
    connection.answers = [lobby.GetMySeatResponse(seating=lobby.Seating(table_id="t", seating_id="s")), leaving, over]
    assert await player.leave_and_wait("t", poll_seconds=0) == 970
    assert [request.seating_id for request in connection.requests[1:]] == ["s", "s"]


async def test_leaving_a_table_that_was_left_is_over_at_once(player: PlayerClient, connection: FakeConnection) -> None:
    connection.answers = [lobby.GetMySeatResponse(), FailedPreconditionError("NOT_SEATED", "you do not sit there")]
    assert await player.leave_and_wait("t") == 0


async def test_no_seat_is_none(player: PlayerClient, connection: FakeConnection) -> None:
    seated = lobby.GetMySeatResponse(seating=lobby.Seating(seat=2))
    connection.answers = [lobby.GetMySeatResponse(), seated]
    assert await player.my_seat() is None
    assert await player.my_seat() == seated.seating


async def test_every_write_of_a_service_carries_a_key(service: ServiceClient, connection: FakeConnection) -> None:
    connection.answers = [
        lobby.CreateTableResponse(),
        ledger.CreateTransferResponse(),
        ledger.CreateLinkedTransfersResponse(),
        ledger.GrantResponse(),
        ledger.AdjustResponse(),
        ledger.PlaceHoldResponse(),
        ledger.PostHoldResponse(),
        ledger.VoidHoldResponse(),
    ]
    await service.create_table("Birch", Stakes(small_blind=1))
    await service.transfer(ledger.TransferInstruction(amount=5))
    await service.transfer_linked([ledger.TransferInstruction(amount=5)])
    await service.grant("player/x/play", 5, "prize")
    await service.adjust("player/x/play", -5, "mistake")
    await service.place_hold("player/x/play", 5, timedelta(minutes=2), "entry")
    await service.post_hold("h", "house/x/play")
    await service.void_hold("h")
    keys = {request.request_id for request in connection.requests}
    assert len(keys) == len(connection.requests) == 8
    assert connection.requests[5].time_to_live.seconds == 120


async def test_entries_of_an_account_are_read_page_by_page(service: ServiceClient, connection: FakeConnection) -> None:
    first = ledger.ListAccountEntriesResponse(entries=[types.Entry(version=2)], next_page_token="2")
    connection.answers = [first, ledger.ListAccountEntriesResponse(entries=[types.Entry(version=1)])]
    assert [entry.version async for entry in service.entries("player/x/play")] == [2, 1]


async def test_players_and_services_of_one_client_share_its_connection() -> None:
    async with Client.connect("localhost:1") as client:
        one, two = client.service("a", "b"), client.service_with_token("c")
        assert one._connection.channel is two._connection.channel is client.anonymous().channel
