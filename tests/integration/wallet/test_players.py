"""What a player may do: see their chips, refill, read their statement; the sign-up grant."""

from __future__ import annotations

import asyncio

import grpc

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import types_pb2, wallet_pb2, wallet_pb2_grpc
from tests.integration.wallet.running import Wallet, new_id, refusal


async def spend_down_to(wallet: Wallet, player_id: str, left: int, house: str) -> None:
    """Move a new player's chips to a house account until `left` are there."""
    await wallet.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=new_id(), account=house))
    step = pb.TransferInstruction(debit_account=f"player/{player_id}/play", credit_account=house, amount=10_000 - left)
    await wallet.call("CreateTransfer", pb.CreateTransferRequest(request_id=new_id(), instruction=step))


async def test_the_first_look_opens_the_account_with_ten_thousand(wallet: Wallet, player_id: str) -> None:
    reply = await wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest())
    assert (reply.balance.posted, reply.balance.available, reply.balance.version) == (10_000, 10_000, 1)
    assert reply.balance.account == f"player/{player_id}/play"


async def test_the_sign_up_grant_is_given_once_however_many_ask_at_once(wallet: Wallet, player_id: str) -> None:
    looks = [wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest()) for _ in range(20)]
    holds = [wallet.place(f"player/{player_id}/play", 100) for _ in range(10)]
    await asyncio.gather(*looks, *holds)
    reply = await wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest())
    assert (reply.balance.posted, reply.balance.held) == (10_000, 1_000)


async def test_a_hold_for_a_new_player_finds_the_sign_up_grant(wallet: Wallet, player_id: str) -> None:
    placed = await wallet.place(f"player/{player_id}/play", 4_000)
    assert (placed.balance.posted, placed.balance.held, placed.balance.available) == (10_000, 4_000, 6_000)


async def test_a_hold_too_large_for_a_new_player_opens_nothing_and_costs_them_nothing(
    wallet: Wallet, player_id: str
) -> None:
    error = await refusal(wallet.place(f"player/{player_id}/play", 10_001))
    assert (error.reason, error.metadata["available"]) == ("INSUFFICIENT_CHIPS", "10000")
    assert (await refusal(wallet.available(f"player/{player_id}/play"))).reason == "ACCOUNT_NOT_FOUND"
    reply = await wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest())
    assert (reply.balance.posted, reply.balance.version) == (10_000, 1)


async def test_chips_at_tables_are_shown(wallet: Wallet, player_id: str, table_id: str) -> None:
    await wallet.buy_in(table_id, player_id, 2_500)
    reply = await wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest())
    assert (reply.balance.posted, reply.at_tables) == (7_500, 2_500)


async def test_a_refill_fills_up_to_two_thousand(wallet: Wallet, player_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 150, house)
    reply = await wallet.player(player_id, "Refill", wallet_pb2.RefillRequest())
    assert reply.balance.posted == 2_000
    assert reply.transfer.kind == types_pb2.TRANSFER_KIND_REFILL


async def test_a_refill_is_for_those_below_two_thousand(wallet: Wallet, player_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 2_000, house)
    error = await refusal(wallet.player(player_id, "Refill", wallet_pb2.RefillRequest()))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_BELOW_REFILL")


async def test_a_refill_counts_the_chips_at_tables(wallet: Wallet, player_id: str, table_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 2_500, house)
    await wallet.buy_in(table_id, player_id, 2_000)
    error = await refusal(wallet.player(player_id, "Refill", wallet_pb2.RefillRequest()))
    assert (error.reason, error.metadata["total"]) == ("NOT_BELOW_REFILL", "2500")


async def test_a_refill_is_given_once_in_a_day(wallet: Wallet, player_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 10, house)
    first = wallet_pb2.RefillRequest(request_id="my-refill")
    given = await wallet.player(player_id, "Refill", first)
    assert await wallet.player(player_id, "Refill", first) == given
    step = pb.TransferInstruction(debit_account=f"player/{player_id}/play", credit_account=house, amount=1_999)
    await wallet.call("CreateTransfer", pb.CreateTransferRequest(request_id=new_id(), instruction=step))
    error = await refusal(wallet.player(player_id, "Refill", wallet_pb2.RefillRequest()))
    assert error.reason == "REFILL_TOO_SOON"
    shown = await wallet.player(player_id, "GetBalance", wallet_pb2.GetBalanceRequest())
    assert shown.next_refill_time.ToJsonString()[:19] == error.metadata["next_refill_time"][:19]


async def test_refills_at_once_give_one(wallet: Wallet, player_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 10, house)
    calls = [wallet.player(player_id, "Refill", wallet_pb2.RefillRequest()) for _ in range(8)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(it, Exception) for it in answers) == 1
    assert await wallet.available(f"player/{player_id}/play") == 2_000


async def test_a_refill_comes_again_after_a_day(wallet: Wallet, player_id: str, house: str) -> None:
    await spend_down_to(wallet, player_id, 10, house)
    day_ago = "insert into refills select id, clock_timestamp() - interval '24 hours' from accounts where name = $1"
    await wallet.pool.execute(day_ago, f"player/{player_id}/play")
    assert (await wallet.player(player_id, "Refill", wallet_pb2.RefillRequest())).balance.posted == 2_000


async def test_the_statement_is_paged_and_not_shifted_by_new_entries(wallet: Wallet, player_id: str) -> None:
    for amount in range(1, 8):
        await wallet.place(f"player/{player_id}/play", amount)
    request = wallet_pb2.ListEntriesRequest(page_size=3)
    seen = []
    for _ in range(10):
        page = await wallet.player(player_id, "ListEntries", request)
        seen += [entry.version for entry in page.entries]
        await wallet.place(f"player/{player_id}/play", 50)
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert seen == [8, 7, 6, 5, 4, 3, 2, 1]


async def test_a_page_token_belongs_to_its_list(wallet: Wallet, player_id: str) -> None:
    await wallet.place(f"player/{player_id}/play", 1)
    page = await wallet.player(player_id, "ListEntries", wallet_pb2.ListEntriesRequest(page_size=1))
    other = wallet_pb2.ListEntriesRequest(page_size=1, page_token=page.next_page_token)
    other.order = types_pb2.ENTRY_ORDER_OLDEST_FIRST
    assert (await refusal(wallet.player(player_id, "ListEntries", other))).reason == "PAGE_TOKEN_INVALID"
    garbage = wallet_pb2.ListEntriesRequest(page_token="made-up")
    assert (await refusal(wallet.player(player_id, "ListEntries", garbage))).reason == "PAGE_TOKEN_INVALID"


async def test_a_player_of_no_game_has_no_league_account(wallet: Wallet, player_id: str) -> None:
    request = wallet_pb2.GetBalanceRequest(currency=f"LEAGUE/{new_id()}")
    assert (await refusal(wallet.player(player_id, "GetBalance", request))).reason == "ACCOUNT_NOT_FOUND"


async def test_a_player_may_not_call_the_ledger(wallet: Wallet, player_id: str) -> None:
    request = pb.GetAccountRequest(account=f"player/{player_id}/play")
    error = await refusal(wallet.call("GetAccount", request, player_id, "play"))
    assert (error.code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")


async def test_a_call_without_a_token_is_refused(wallet: Wallet) -> None:
    stub = wallet_pb2_grpc.WalletServiceStub(wallet.channel)
    error = await refusal(stub.GetBalance(wallet_pb2.GetBalanceRequest()))
    assert error.code == grpc.StatusCode.UNAUTHENTICATED
