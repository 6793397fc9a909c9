"""Holds: counted in every check; posted or voided once, under any race; void for everyone when their time is up."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import types_pb2
from tests.integration.wallet.running import Wallet, new_id, refusal


def post(hold_id: str, to: str, amount: int = 0) -> pb.PostHoldRequest:
    """A request to post."""
    return pb.PostHoldRequest(request_id=new_id(), hold_id=hold_id, to_account=to, amount=amount)


def void(hold_id: str) -> pb.VoidHoldRequest:
    """A request to void."""
    return pb.VoidHoldRequest(request_id=new_id(), hold_id=hold_id)


async def expired(wallet: Wallet, account: str, amount: int) -> Any:
    """A hold whose time is up, told so before the sweeper has come by."""
    hold = (await wallet.place(account, amount, time_to_live=Duration(seconds=1))).hold
    await wallet.pool.execute("alter table holds disable trigger hold_ends_once")
    back = (
        "update holds set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where id = $1"
    )
    await wallet.pool.execute(back, int(hold.hold_id), timedelta(seconds=1))
    await wallet.pool.execute("alter table holds enable trigger hold_ends_once")
    return hold


async def test_a_buy_in_goes_from_hold_to_escrow(wallet: Wallet, player_id: str, table_id: str) -> None:
    placed = await wallet.place(f"player/{player_id}/play", 4_000, reason="buy-in")
    posted = await wallet.call("PostHold", post(placed.hold.hold_id, f"escrow/{table_id}/{player_id}"))
    assert (posted.from_balance.posted, posted.from_balance.held, posted.to_balance.posted) == (6_000, 0, 4_000)
    assert (posted.hold.state, posted.hold.posted_amount) == (types_pb2.HOLD_STATE_POSTED, 4_000)
    assert [entry.amount for entry in posted.transfer.entries] == [-4_000, 4_000]


async def test_a_hold_posted_in_part_frees_the_rest(wallet: Wallet, player_id: str, table_id: str) -> None:
    hold = (await wallet.place(f"player/{player_id}/play", 4_000)).hold
    posted = await wallet.call("PostHold", post(hold.hold_id, f"escrow/{table_id}/{player_id}", 1_500))
    assert (posted.from_balance.available, posted.to_balance.posted) == (8_500, 1_500)


async def test_no_more_than_the_hold_is_posted(wallet: Wallet, player_id: str, table_id: str) -> None:
    hold = (await wallet.place(f"player/{player_id}/play", 4_000)).hold
    error = await refusal(wallet.call("PostHold", post(hold.hold_id, f"escrow/{table_id}/{player_id}", 4_001)))
    assert error.reason == "AMOUNT_INVALID"


async def test_a_voided_hold_frees_its_chips(wallet: Wallet, player_id: str) -> None:
    hold = (await wallet.place(f"player/{player_id}/play", 4_000)).hold
    voided = await wallet.call("VoidHold", void(hold.hold_id))
    assert (voided.balance.available, voided.hold.state) == (10_000, types_pb2.HOLD_STATE_VOIDED)


async def test_what_is_held_cannot_be_spent(wallet: Wallet, player_id: str) -> None:
    await wallet.place(f"player/{player_id}/play", 7_000)
    error = await refusal(wallet.place(f"player/{player_id}/play", 3_001))
    assert error.reason == "INSUFFICIENT_CHIPS"


@pytest.mark.parametrize("rounds", [6])
async def test_a_hold_ends_once_under_any_race(wallet: Wallet, player_id: str, table_id: str, rounds: int) -> None:
    for _ in range(rounds):
        hold = (await wallet.place(f"player/{player_id}/play", 100)).hold
        target = f"escrow/{table_id}/{player_id}"
        calls = [wallet.call("PostHold", post(hold.hold_id, target)) for _ in range(5)]
        calls += [wallet.call("VoidHold", void(hold.hold_id)) for _ in range(5)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(not isinstance(it, Exception) for it in answers) == 1
    assert (await wallet.audit()).passed


async def test_spending_races_holds_and_never_overdraws(wallet: Wallet, house: str) -> None:
    await wallet.grant(house, 1_000)
    target = house.replace("/play", "-to/play")
    await wallet.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=new_id(), account=target))
    step = pb.TransferInstruction(debit_account=house, credit_account=target, amount=300)
    calls = [
        wallet.call("CreateTransfer", pb.CreateTransferRequest(request_id=new_id(), instruction=step)) for _ in range(6)
    ]
    calls += [wallet.place(house, 300) for _ in range(6)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(it, Exception) for it in answers) == 3
    assert await wallet.available(house) == 100


async def test_an_expired_hold_is_void_for_readers_at_once(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    hold = await expired(wallet, account, 4_000)
    assert await wallet.available(account) == 10_000
    shown = await wallet.call("GetHold", pb.GetHoldRequest(hold_id=hold.hold_id))
    assert shown.hold.state == types_pb2.HOLD_STATE_EXPIRED


async def test_an_expired_hold_is_void_for_writers_at_once(wallet: Wallet, player_id: str, table_id: str) -> None:
    account = f"player/{player_id}/play"
    hold = await expired(wallet, account, 10_000)
    error = await refusal(wallet.call("PostHold", post(hold.hold_id, f"escrow/{table_id}/{player_id}")))
    assert (error.reason, error.metadata["state"]) == ("HOLD_NOT_PENDING", "EXPIRED")
    assert (await wallet.place(account, 10_000)).balance.held == 10_000


async def test_the_expiry_of_a_hold_is_an_entry(wallet: Wallet, player_id: str) -> None:
    account = f"player/{player_id}/play"
    hold = await expired(wallet, account, 4_000)
    await wallet.place(account, 1)
    page = await wallet.call(
        "ListAccountEntries",
        pb.ListAccountEntriesRequest(account=account, kinds=[types_pb2.TRANSFER_KIND_HOLD_EXPIRED]),
    )
    [entry] = page.entries
    assert (entry.held_change, entry.kind) == (-4_000, types_pb2.TRANSFER_KIND_HOLD_EXPIRED)
    found = await wallet.call("GetTransfer", pb.GetTransferRequest(transfer_id=entry.transfer_id))
    assert (found.transfer.hold_id, found.transfer.actor) == (hold.hold_id, "service:wallet")


async def test_an_unknown_hold_is_not_found(wallet: Wallet, player_id: str, table_id: str) -> None:
    for hold_id in ("123", "no-number", "9" * 30):
        error = await refusal(wallet.call("PostHold", post(hold_id, f"escrow/{table_id}/{player_id}")))
        assert error.reason == "HOLD_NOT_FOUND"


async def test_a_hold_goes_to_no_other_player(wallet: Wallet, player_id: str, table_id: str) -> None:
    hold = (await wallet.place(f"player/{player_id}/play", 100)).hold
    error = await refusal(wallet.call("PostHold", post(hold.hold_id, f"escrow/{table_id}/{new_id()}")))
    assert error.reason == "PLAYER_TO_PLAYER"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"amount": 0}, "AMOUNT_INVALID"),
        ({"amount": -5}, "AMOUNT_INVALID"),
        ({"amount": 10**12 + 1}, "AMOUNT_INVALID"),
        ({"request_id": ""}, "REQUEST_ID_INVALID"),
        ({"request_id": "with space"}, "REQUEST_ID_INVALID"),
        ({"account": "bank/of/elsewhere"}, "ACCOUNT_INVALID"),
        ({"account": "grants/play"}, "ACCOUNT_INVALID"),
        ({"account": f"escrow/{new_id()}/{new_id()}"}, "ACCOUNT_INVALID"),
        ({"account": f"player/{new_id().upper()}/play"}, "ACCOUNT_INVALID"),
        ({"account": "house/nobody-opened/play"}, "ACCOUNT_NOT_FOUND"),
        ({"time_to_live": Duration(seconds=0)}, "FIELD_INVALID"),
        ({"time_to_live": Duration(seconds=8 * 86400)}, "FIELD_INVALID"),
        ({"reason": "x" * 201}, "FIELD_INVALID"),
    ],
)
async def test_bad_requests_are_refused_with_their_reason(
    wallet: Wallet, player_id: str, fields: dict[str, Any], reason: str
) -> None:
    good: dict[str, Any] = {"account": f"player/{player_id}/play", "amount": 5}
    assert (await refusal(wallet.place(**{**good, **fields}))).reason == reason
