"""History: past balances, statements by time and kind, the stream of entries."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import ledger_pb2_grpc, types_pb2
from tests.integration.wallet.running import Wallet, refusal


async def holds(wallet: Wallet, account: str, count: int) -> list[datetime]:
    """Place holds of 1, 2, 3... and return when each was placed."""
    placed = [await wallet.place(account, amount) for amount in range(1, count + 1)]
    return [it.transfer.create_time.ToDatetime(UTC) for it in placed]


async def past(wallet: Wallet, account: str, at: datetime) -> Any:
    """A balance at a past moment."""
    request = pb.GetAccountRequest(account=account)
    request.at_time.FromDatetime(at)
    return (await wallet.call("GetAccount", request)).balance


async def entries(wallet: Wallet, account: str, **fields: Any) -> list[Any]:
    """A page of a statement."""
    request = pb.ListAccountEntriesRequest(account=account, **fields)
    return list((await wallet.call("ListAccountEntries", request)).entries)


async def test_a_balance_at_a_past_moment_is_what_it_was(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    times = await holds(wallet, account, 12)
    for number, at in enumerate(times, 1):
        assert (await past(wallet, account, at)).held == number * (number + 1) // 2
        before = await past(wallet, account, at - timedelta(microseconds=1))
        assert before.held == number * (number - 1) // 2
    assert (await past(wallet, account, datetime(2001, 1, 1, tzinfo=UTC))).version == 0
    # The very ends of what a timestamp can say.
    assert (await past(wallet, account, datetime.max.replace(tzinfo=UTC))).version == 13
    assert (await past(wallet, account, datetime.min.replace(tzinfo=UTC))).version == 0


async def test_a_statement_is_read_by_time(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    times = await holds(wallet, account, 6)
    found = await entries(wallet, account, start_time=times[1], end_time=times[4])
    assert [it.held_change for it in found] == [4, 3, 2]
    found = await entries(wallet, account, start_time=times[1], order=types_pb2.ENTRY_ORDER_OLDEST_FIRST)
    assert [it.held_change for it in found] == [2, 3, 4, 5, 6]


async def test_a_statement_is_read_by_kind(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    await holds(wallet, account, 3)
    await wallet.grant(account, 77)
    [grant] = await entries(wallet, account, kinds=[types_pb2.TRANSFER_KIND_GRANT])
    assert (grant.amount, grant.balance_after, grant.reason) == (77, 10_077, "test")


async def test_a_statement_oldest_first_goes_on_with_new_entries(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    await holds(wallet, account, 2)
    request = pb.ListAccountEntriesRequest(account=account, page_size=2, order=types_pb2.ENTRY_ORDER_OLDEST_FIRST)
    first = await wallet.call("ListAccountEntries", request)
    await wallet.place(account, 9)
    request.page_token = first.next_page_token
    second = await wallet.call("ListAccountEntries", request)
    assert [it.version for it in (*first.entries, *second.entries)] == [1, 2, 3, 4]
    assert second.next_page_token == ""


async def test_a_page_of_less_than_nothing_is_refused(wallet: Wallet, player_id: str) -> None:
    await wallet.place(f"player/{player_id}/play", 1)
    request = pb.ListAccountEntriesRequest(account=f"player/{player_id}/play", page_size=-1)
    assert (await refusal(wallet.call("ListAccountEntries", request))).reason == "FIELD_INVALID"


async def test_an_unknown_transfer_is_not_found(wallet: Wallet) -> None:
    for id_ in ("1", "x"):
        error = await refusal(wallet.call("GetTransfer", pb.GetTransferRequest(transfer_id=id_)))
        assert error.reason == "TRANSFER_NOT_FOUND"


async def watched(wallet: Wallet, count: int, **fields: Any) -> tuple[list[tuple[str, int]], str]:
    """The first entries of a stream, and the position after them."""
    stub = ledger_pb2_grpc.LedgerServiceStub(wallet.channel)
    stream = stub.WatchEntries(
        pb.WatchEntriesRequest(**fields), metadata=wallet.metadata("service:analytics", "wallet.read")
    )
    seen: list[tuple[str, int]] = []
    position = ""
    async with asyncio.timeout(30):
        async for response in stream:
            seen += [(it.account, it.version) for it in response.entries]
            position = response.position
            if len(seen) >= count:
                break
    stream.cancel()
    return seen, position


async def test_the_stream_has_every_entry_in_order(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    watching = asyncio.create_task(watched(wallet, 31, account_prefix=account))
    await asyncio.gather(*(wallet.place(account, 1) for _ in range(30)))
    seen, _ = await watching
    assert seen == [(account, version) for version in range(1, 32)]


async def test_the_stream_goes_on_from_a_position(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    await holds(wallet, account, 3)
    _, position = await watched(wallet, 4, account_prefix=account)
    await wallet.place(account, 1)
    seen, _ = await watched(wallet, 1, account_prefix=account, after_position=position)
    assert seen == [(account, 5)]


async def test_the_stream_passes_nothing_that_is_still_committing(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    await wallet.place(account, 1)
    _, position = await watched(wallet, 2, account_prefix=account)
    async with wallet.pool.acquire() as connection:
        slow = connection.transaction()
        await slow.start()
        await connection.execute("select pg_current_xact_id()")
        await wallet.place(account, 1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await watched(wallet, 1, account_prefix=account, after_position=position)
        await slow.rollback()
    assert (await watched(wallet, 1, account_prefix=account, after_position=position))[0] == [(account, 3)]


async def test_a_made_up_position_is_refused(wallet: Wallet) -> None:
    assert (await refusal(watched(wallet, 1, after_position="zzz"))).reason == "PAGE_TOKEN_INVALID"
