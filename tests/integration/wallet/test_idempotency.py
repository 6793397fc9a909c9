"""Each write has a request id: the first outcome again, bit for bit, whatever died or came twice at once."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import grpc
import pytest

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.wallet.api import replies
from cardroom.wallet.domain.commands import PostHold
from cardroom.wallet.posting import Poster, Request
from cardroom.wallet.store import statements as st
from tests.integration.wallet import running
from tests.integration.wallet.killing import KillingPool, named
from tests.integration.wallet.running import Wallet, new_id, refusal

LEDGER = "/cardroom.wallet.v1.LedgerService"


async def raw(wallet: Wallet, method: str, request: Any) -> bytes:
    """A call whose reply is taken as it came over the wire."""
    call = wallet.channel.unary_unary(f"{LEDGER}/{method}", None, None)
    metadata = wallet.metadata("service:lobby", "wallet.hold", "wallet.transfer", "wallet.grant")
    return bytes(await call(request.SerializeToString(), metadata=metadata))


def hold(player_id: str, **changes: Any) -> pb.PlaceHoldRequest:
    """A request for a hold of 100."""
    fields = {"request_id": "key", "account": f"player/{player_id}/play", "amount": 100, "reason": "one"}
    return pb.PlaceHoldRequest(**{**fields, **changes})


async def test_a_repeat_gets_the_first_reply_bit_for_bit(wallet: Wallet, player_id: str) -> None:
    request = hold(player_id, request_id=new_id())
    first = await raw(wallet, "PlaceHold", request)
    await wallet.place(request.account, 50)
    assert await raw(wallet, "PlaceHold", request) == first
    assert await wallet.available(request.account) == 9_850


async def test_repeats_at_once_count_once_and_answer_the_same(wallet: Wallet, player_id: str) -> None:
    request = hold(player_id, request_id=new_id())
    replies_ = await asyncio.gather(*(raw(wallet, "PlaceHold", request) for _ in range(20)))
    assert len(set(replies_)) == 1
    assert await wallet.available(request.account) == 9_900


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": 101}, "amount"),
        ({"account": f"player/{new_id()}/play"}, "account"),
        ({"reason": "two"}, "reason"),
        ({"time_to_live": {"seconds": 60}}, "time_to_live"),
    ],
)
async def test_a_reused_id_is_refused_naming_the_field(
    wallet: Wallet, player_id: str, change: dict[str, Any], field: str
) -> None:
    key = new_id()
    await wallet.call("PlaceHold", hold(player_id, request_id=key))
    error = await refusal(wallet.call("PlaceHold", hold(player_id, request_id=key, **change)))
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "KEY_REUSED")
    assert error.metadata["field"].split(".")[0] == field


async def test_a_reused_id_of_another_call_names_the_method(wallet: Wallet, player_id: str) -> None:
    key = new_id()
    placed = await wallet.call("PlaceHold", hold(player_id, request_id=key))
    error = await refusal(wallet.call("VoidHold", pb.VoidHoldRequest(request_id=key, hold_id=placed.hold.hold_id)))
    assert (error.reason, error.metadata["field"]) == ("KEY_REUSED", "method")


async def test_a_reused_id_in_a_list_names_the_place(wallet: Wallet, house: str) -> None:
    await wallet.grant(house, 100)
    key, other = new_id(), f"player/{new_id()}/play"
    steps = [pb.TransferInstruction(debit_account=house, credit_account=other, amount=1) for _ in range(3)]
    await wallet.call("CreateLinkedTransfers", pb.CreateLinkedTransfersRequest(request_id=key, instructions=steps))
    steps[2].amount = 2
    again = pb.CreateLinkedTransfersRequest(request_id=key, instructions=steps)
    assert (await refusal(wallet.call("CreateLinkedTransfers", again))).metadata["field"] == "instructions[2].amount"


async def test_ids_of_two_callers_do_not_meet(wallet: Wallet, player_id: str) -> None:
    request = hold(player_id, request_id=new_id())
    await wallet.call("PlaceHold", request, "service:lobby")
    await wallet.call("PlaceHold", request, "service:other")
    assert await wallet.available(request.account) == 9_800


async def test_too_few_chips_is_remembered(wallet: Wallet, player_id: str) -> None:
    request = hold(player_id, request_id=new_id(), amount=10_500)
    first = await refusal(wallet.call("PlaceHold", request))
    await wallet.grant(request.account, 5_000)
    again = await refusal(wallet.call("PlaceHold", request))
    assert (again.reason, again.message, again.metadata) == (first.reason, first.message, first.metadata)
    assert (await wallet.call("PlaceHold", hold(player_id, request_id=new_id(), amount=10_500))).hold.amount == 10_500


async def test_a_validation_failure_is_not_remembered(wallet: Wallet, player_id: str) -> None:
    key = new_id()
    assert (
        await refusal(wallet.call("PlaceHold", hold(player_id, request_id=key, amount=-1)))
    ).reason == "AMOUNT_INVALID"
    assert (await wallet.call("PlaceHold", hold(player_id, request_id=key))).hold.amount == 100


def spending(house: str) -> list[Any]:
    """A request of each kind that has limits, for 300 chips."""
    step = pb.TransferInstruction(debit_account=house, credit_account=f"player/{new_id()}/play", amount=300)
    league = pb.OpenLeagueAccountsRequest(game_id=new_id(), player_ids=[new_id()], starting_stack=300)
    league.request_id = new_id()
    return [
        pb.PlaceHoldRequest(request_id=new_id(), account=house, amount=300),
        pb.CreateTransferRequest(request_id=new_id(), instruction=step),
        pb.CreateLinkedTransfersRequest(request_id=new_id(), instructions=[step]),
        pb.GrantRequest(request_id=new_id(), account=house, amount=300, reason="test"),
        league,
    ]


@pytest.mark.parametrize("limit", ["call", "day"])
async def test_a_repeat_gets_its_first_answer_whatever_the_limits_are_by_then(
    wallet: Wallet, house: str, amqp_url: str, limit: str
) -> None:
    await wallet.grant(house, 900)
    requests = {type(it).__name__.removesuffix("Request"): it for it in spending(house)}
    firsts = {method: await raw(wallet, method, it) for method, it in requests.items()}
    lowered = {f"{purpose}_{limit}_max": 299 for purpose in ("hold", "transfer", "grant")}
    later = await running.start(wallet.settings.database_url, amqp_url, **lowered)
    try:
        for method, request in requests.items():
            assert await raw(later, method, request) == firsts[method], method
            new, other = deepcopy(request), deepcopy(requests["Grant" if method == "PlaceHold" else "PlaceHold"])
            other.request_id, new.request_id = request.request_id, new_id()
            reused = later.call("Grant" if method == "PlaceHold" else "PlaceHold", other)
            assert (await refusal(reused)).reason == "KEY_REUSED"
            assert (await refusal(later.call(method, new))).reason == f"{limit.upper()}_LIMIT_EXCEEDED"
    finally:
        await running.stop(later)


async def test_a_request_is_found_by_its_id(wallet: Wallet, player_id: str) -> None:
    key = new_id()
    placed = await wallet.call("PlaceHold", hold(player_id, request_id=key))
    found = await wallet.call("FindTransfers", pb.FindTransfersRequest(request_id=key))
    assert list(found.transfers) == [placed.transfer]
    unknown = pb.FindTransfersRequest(request_id=new_id())
    assert (await refusal(wallet.call("FindTransfers", unknown))).reason == "TRANSFER_NOT_FOUND"
    others = wallet.call("FindTransfers", pb.FindTransfersRequest(request_id=key), "service:other")
    assert (await refusal(others)).reason == "TRANSFER_NOT_FOUND"


async def post_hold(poster: Poster, hold_id: int, escrow: str) -> bytes:
    """The posting of a hold through a poster of the test's own; the reply."""
    command = PostHold("test", hold_id, escrow, 60, "")
    return await poster.post(Request(command, "post", f"{escrow}/post", b"content", replies.posted))


async def test_a_connection_killed_at_any_statement_changes_nothing_or_everything(wallet: Wallet) -> None:
    at, died = 0, []
    while True:
        at += 1
        player_id, table_id = new_id(), new_id()
        account, escrow = f"player/{player_id}/play", f"escrow/{table_id}/{player_id}"
        hold_id = int((await wallet.place(account, 100)).hold.hold_id)
        pool = KillingPool(wallet.pool, {at})
        poster = Poster(pool, batch_max=10, waiting_max=10, lanes=1)  # type: ignore[arg-type]
        await poster.start()
        first = await post_hold(poster, hold_id, escrow)
        again = await post_hold(poster, hold_id, escrow)
        await poster.stop()
        assert again == first, pool.killed
        assert (await wallet.available(account), await wallet.available(escrow)) == (9_940, 60), pool.killed
        died.append(pool.killed)
        if not pool.killed:
            break
    sent = (st.HOLD_ACCOUNTS, st.OPEN_BOOKS, st.OPEN_ACCOUNTS, st.END_HOLDS, st.POST)
    whats = ["commit", *(named(statement) for statement in sent)]
    assert {f"{when} {what}" for when in ("before", "after") for what in whats} < set(died)
    assert (await wallet.audit()).passed
