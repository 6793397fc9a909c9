"""Transfers, single and linked; limits of a service; an operator's corrections; private games' chips."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import types_pb2, wallet_pb2
from cardroom.wallet.api import replies
from cardroom.wallet.domain.sources import Adjust
from cardroom.wallet.posting import Poster, Request
from tests.integration.wallet import running
from tests.integration.wallet.killing import KillingPool
from tests.integration.wallet.running import Wallet, new_id, refusal


def step(debit: str, credit: str, amount: int = 100) -> pb.TransferInstruction:
    """One movement."""
    return pb.TransferInstruction(debit_account=debit, credit_account=credit, amount=amount, reason="test")


async def move(wallet: Wallet, *steps: pb.TransferInstruction, **changes: Any) -> Any:
    """A transfer, linked when there are several."""
    if len(steps) == 1:
        single = pb.CreateTransferRequest(request_id=new_id(), instruction=steps[0])
        return await wallet.call("CreateTransfer", single, **changes)
    linked = pb.CreateLinkedTransfersRequest(request_id=new_id(), instructions=steps)
    return await wallet.call("CreateLinkedTransfers", linked, **changes)


@pytest.fixture
async def pair(wallet: Wallet, house: str) -> tuple[str, str]:
    """A house account with 1,000 chips and one with none."""
    other = house.replace("/play", "-b/play")
    await wallet.grant(house, 1_000)
    await wallet.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=new_id(), account=other))
    return house, other


async def test_a_transfer_answers_with_both_balances_after_it(wallet: Wallet, pair: tuple[str, str]) -> None:
    reply = await move(wallet, step(*pair))
    assert (reply.debit_balance.posted, reply.credit_balance.posted) == (900, 100)
    assert [entry.balance_after for entry in reply.transfer.entries] == [900, 100]
    assert reply.transfer.actor == "service:lobby"


async def test_linked_transfers_happen_in_order(wallet: Wallet, pair: tuple[str, str]) -> None:
    one, two = pair
    reply = await move(wallet, step(one, two, 1_000), step(two, one, 400), step(one, two, 100))
    assert {it.account: it.posted for it in reply.balances} == {one: 300, two: 700}
    assert len(reply.transfers) == 3


async def test_linked_transfers_happen_all_or_not_at_all(wallet: Wallet, pair: tuple[str, str]) -> None:
    one, two = pair
    error = await refusal(move(wallet, step(one, two, 600), step(two, one, 50), step(one, two, 600)))
    assert (error.reason, error.metadata["index"], error.metadata["available"]) == ("INSUFFICIENT_CHIPS", "2", "450")
    assert (await wallet.available(one), await wallet.available(two)) == (1_000, 0)


async def test_up_to_a_hundred_transfers_are_linked(wallet: Wallet, pair: tuple[str, str]) -> None:
    assert len((await move(wallet, *[step(*pair, 1)] * 100)).transfers) == 100
    assert (await refusal(move(wallet, *[step(*pair, 1)] * 101))).reason == "FIELD_INVALID"


async def test_opposite_transfers_at_once_do_not_lock_each_other_out(wallet: Wallet, pair: tuple[str, str]) -> None:
    one, two = pair
    await move(wallet, step(one, two, 500))
    calls = [move(wallet, step(one, two, 1)) for _ in range(40)] + [move(wallet, step(two, one, 1)) for _ in range(40)]
    await asyncio.gather(*calls)
    assert await wallet.available(one) == 500


PLAYER, OTHER, TABLE = new_id(), new_id(), new_id()


@pytest.mark.parametrize(
    ("debit", "credit", "reason"),
    [
        (f"player/{PLAYER}/play", f"player/{OTHER}/play", "PLAYER_TO_PLAYER"),
        (f"escrow/{TABLE}/{PLAYER}", f"player/{OTHER}/play", "PLAYER_TO_PLAYER"),
        (f"escrow/{TABLE}/{PLAYER}", f"escrow/{TABLE}/{OTHER}", "PLAYER_TO_PLAYER"),
        (f"player/{PLAYER}/play", "house/bank/league/" + TABLE, "CURRENCY_MISMATCH"),
        (f"player/{PLAYER}/play", f"player/{PLAYER}/play", "ACCOUNT_INVALID"),
        ("grants/play", f"player/{PLAYER}/play", "ACCOUNT_INVALID"),
        (f"player/{PLAYER}/play", "adjustments/play", "ACCOUNT_INVALID"),
        (f"escrow/{TABLE}/{PLAYER}", "house/bank/play", "ACCOUNT_INVALID"),
        (f"player/{PLAYER}/play", "house/never-opened/play", "ACCOUNT_NOT_FOUND"),
    ],
)
async def test_transfers_that_may_never_be(wallet: Wallet, debit: str, credit: str, reason: str) -> None:
    assert (await refusal(move(wallet, step(debit, credit)))).reason == reason


async def test_the_error_names_the_instruction_that_is_wrong(wallet: Wallet, pair: tuple[str, str]) -> None:
    error = await refusal(move(wallet, step(*pair), step(*pair, 0)))
    assert (error.reason, error.metadata["field"]) == ("AMOUNT_INVALID", "instructions[1].amount")


@pytest.mark.parametrize(
    ("method", "scope"),
    [
        ("CreateTransfer", "wallet.transfer"),
        ("PlaceHold", "wallet.hold"),
        ("Grant", "wallet.grant"),
        ("Adjust", "wallet.adjust"),
        ("RunAudit", "wallet.read"),
        ("ListAccountEntries", "wallet.read"),
    ],
)
async def test_each_call_needs_its_scope(wallet: Wallet, method: str, scope: str) -> None:
    others = {"wallet.read", "wallet.hold", "wallet.transfer", "wallet.grant"} - {scope}
    request = getattr(pb, f"{method}Request")()
    error = await refusal(wallet.call(method, request, "service:other", *sorted(others)))
    assert (error.code, error.reason, scope in error.metadata["scope"]) == (
        grpc.StatusCode.PERMISSION_DENIED,
        "SCOPE_MISSING",
        True,
    )


async def test_one_grant_has_a_limit(wallet: Wallet, pair: tuple[str, str]) -> None:
    error = await refusal(wallet.grant(pair[0], wallet.settings.grant_call_max + 1))
    assert (error.reason, error.metadata["purpose"]) == ("CALL_LIMIT_EXCEEDED", "grant")


async def test_a_days_grants_have_a_limit(wallet: Wallet, pair: tuple[str, str]) -> None:
    used = "insert into allowances values ('service:promotions', 'grant', (now() at time zone 'utc')::date, $1)"
    await wallet.pool.execute(used, wallet.settings.grant_day_max - 1_500)

    def grant() -> Any:
        request = pb.GrantRequest(request_id=new_id(), account=pair[0], amount=1_000, reason="weekend")
        return wallet.call("Grant", request, "service:promotions")

    await grant()
    error = await refusal(grant())
    assert (error.code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "DAY_LIMIT_EXCEEDED")
    assert await wallet.available(pair[0]) == 2_000


async def test_grants_at_once_do_not_pass_the_days_limit(wallet: Wallet, pair: tuple[str, str]) -> None:
    used = "insert into allowances values ('service:rush', 'grant', (now() at time zone 'utc')::date, $1)"
    await wallet.pool.execute(used, wallet.settings.grant_day_max - 350)
    requests = [pb.GrantRequest(request_id=new_id(), account=pair[0], amount=100, reason="rush") for _ in range(12)]
    answers = await asyncio.gather(
        *(wallet.call("Grant", it, "service:rush") for it in requests), return_exceptions=True
    )
    assert sum(not isinstance(it, Exception) for it in answers) == 3


async def test_an_operator_corrects_by_new_entries_with_a_reason(wallet: Wallet, pair: tuple[str, str]) -> None:
    request = pb.AdjustRequest(request_id=new_id(), account=pair[0], amount=-250, reason="ticket 17")
    reply = await wallet.call("Adjust", request, "operator-1", "operator")
    assert reply.balance.posted == 750
    log = await wallet.call("ListAccountEntries", pb.ListAccountEntriesRequest(account="adjustments/play", page_size=1))
    assert (log.entries[0].amount, log.entries[0].reason) == (250, "ticket 17")
    found = await wallet.call("GetTransfer", pb.GetTransferRequest(transfer_id=log.entries[0].transfer_id))
    assert (found.transfer.actor, found.transfer.kind) == ("operator-1", types_pb2.TRANSFER_KIND_ADJUSTMENT)


async def test_a_correction_is_in_the_audit_log_once_however_often_it_is_asked_for(
    wallet: Wallet, pair: tuple[str, str]
) -> None:
    request = pb.AdjustRequest(request_id=new_id(), account=pair[0], amount=-250, reason=f"ticket {new_id()}")
    with capture_logs() as logged:
        for _ in range(3):
            reply = await wallet.call("Adjust", request, "operator-1", "operator")
    log = await wallet.call("ListAccountEntries", pb.ListAccountEntriesRequest(account="adjustments/play"))
    assert [it.transfer_id for it in log.entries if it.reason == request.reason] == [reply.transfer.transfer_id]
    [line] = [it for it in logged if it["event"] == "an account was adjusted"]
    assert (line["account"], line["amount"], line["operator"]) == (pair[0], -250, "operator-1")


async def adjust_through(pool: KillingPool, account: str, reason: str) -> None:
    """A correction through a poster of the test's own."""
    poster = Poster(pool, batch_max=10, waiting_max=10, lanes=1)  # type: ignore[arg-type]
    await poster.start()
    command = Adjust("operator-1", account, -250, reason)
    await poster.post(Request(command, "adjust", new_id(), b"content", replies.adjusted))
    await poster.stop()


async def test_a_correction_whose_answer_a_crash_took_is_in_the_audit_log(
    wallet: Wallet, pair: tuple[str, str]
) -> None:
    reason, alive = f"ticket {new_id()}", KillingPool(wallet.pool, ())
    await adjust_through(alive, pair[0], "before")
    dying = KillingPool(wallet.pool, {alive.moments})
    await adjust_through(dying, pair[0], reason)
    assert dying.killed == "after commit"
    log = await wallet.call("ListAccountEntries", pb.ListAccountEntriesRequest(account="adjustments/play"))
    [entry] = [it for it in log.entries if it.reason == reason]
    found = await wallet.call("GetTransfer", pb.GetTransferRequest(transfer_id=entry.transfer_id))
    assert (found.transfer.actor, found.transfer.entries[1].account) == ("operator-1", pair[0])


@pytest.mark.parametrize(("amount", "reason", "refused"), [(0, "x", "AMOUNT_INVALID"), (5, " ", "FIELD_INVALID")])
async def test_a_correction_needs_an_amount_and_a_reason(
    wallet: Wallet, pair: tuple[str, str], amount: int, reason: str, refused: str
) -> None:
    request = pb.AdjustRequest(request_id=new_id(), account=pair[0], amount=amount, reason=reason)
    assert (await refusal(wallet.call("Adjust", request, "operator-1", "operator"))).reason == refused


class League:
    """A private game's accounts."""

    def __init__(self, wallet: Wallet) -> None:
        self.wallet, self.game_id, self.players = wallet, new_id(), [new_id() for _ in range(3)]
        self.currency = f"LEAGUE/{self.game_id}"

    def account(self, player_id: str) -> str:
        """A player's account in the game."""
        return f"player/{player_id}/league/{self.game_id}"

    async def open(self, *players: str) -> Any:
        """Open accounts with 500 chips."""
        request = pb.OpenLeagueAccountsRequest(
            request_id=new_id(), game_id=self.game_id, player_ids=players or self.players, starting_stack=500
        )
        return await self.wallet.call("OpenLeagueAccounts", request)

    async def close(self) -> Any:
        """Close the game."""
        return await self.wallet.call("CloseLeague", pb.CloseLeagueRequest(request_id=new_id(), game_id=self.game_id))


async def test_11_2_each_player_gets_the_starting_stack_once(wallet: Wallet) -> None:
    league = League(wallet)
    first = await league.open(*league.players[:2])
    again = await league.open(*league.players)
    assert list(first.opened_player_ids) == league.players[:2]
    assert list(again.opened_player_ids) == league.players[2:]
    assert [it.posted for it in again.balances] == [500, 500, 500]


async def test_1_2_league_chips_buy_in_and_come_back_in_their_own_currency(wallet: Wallet, table_id: str) -> None:
    league = League(wallet)
    await league.open()
    player = league.players[0]
    hold = (await wallet.place(league.account(player), 500)).hold
    escrow = f"escrow/{table_id}/{player}"
    posted = await wallet.call(
        "PostHold", pb.PostHoldRequest(request_id=new_id(), hold_id=hold.hold_id, to_account=escrow)
    )
    assert posted.to_balance.currency == league.currency
    error = await refusal(move(wallet, step(escrow, f"player/{player}/play")))
    assert error.reason == "CURRENCY_MISMATCH"
    back = pb.CashOutRequest(request_id=new_id(), table_id=table_id, player_id=player, expected_amount=500)
    assert (await wallet.call("CashOut", back)).balance.account == league.account(player)


async def test_a_players_league_chips_are_theirs_to_see(wallet: Wallet) -> None:
    league = League(wallet)
    await league.open()
    request = wallet_pb2.GetBalanceRequest(currency=league.currency)
    assert (await wallet.player(league.players[0], "GetBalance", request)).balance.posted == 500


async def test_a_closed_game_moves_no_more_chips(wallet: Wallet) -> None:
    league = League(wallet)
    await league.open()
    assert (await league.close()).closed_accounts == 4
    assert (await refusal(wallet.place(league.account(league.players[0]), 1))).reason == "ACCOUNT_CLOSED"
    assert (await refusal(league.open(new_id()))).reason == "ACCOUNT_CLOSED"
    shown = await wallet.call("GetAccount", pb.GetAccountRequest(account=league.account(league.players[0])))
    assert (shown.balance.posted, shown.balance.closed) == (500, True)


async def names_of_accounts(wallet: Wallet) -> set[str]:
    """Every account that there is."""
    return {row[0] for row in await wallet.pool.fetch("select name from accounts")}


async def test_4_2_a_refused_opening_leaves_a_closed_game_closed(wallet: Wallet) -> None:
    league = League(wallet)
    await league.open()
    await league.close()
    before = await names_of_accounts(wallet)
    assert (await refusal(league.open(new_id(), new_id()))).reason == "ACCOUNT_CLOSED"
    assert await names_of_accounts(wallet) == before
    assert (await league.close()).closed_accounts == 0


def refused_openings(house: str, player: str, table: str, hold_id: str) -> dict[str, tuple[Any, str]]:
    """Requests that would open accounts and are refused."""
    account, escrow = f"player/{player}/play", f"escrow/{table}/{player}"
    in_game, much = f"player/{player}/league/{table}", 10**10
    hold = pb.PlaceHoldRequest(request_id=new_id(), account=account, amount=10_001)
    prize = pb.CreateTransferRequest(request_id=new_id(), instruction=step(house, account, 5_000))
    to_escrow = pb.CreateTransferRequest(request_id=new_id(), instruction=step(account, escrow, 10_001))
    steps = [step(house, account, 1), step(account, escrow, 100_000)]
    linked = pb.CreateLinkedTransfersRequest(request_id=new_id(), instructions=steps)
    grant = pb.GrantRequest(request_id=new_id(), account=account, amount=much, reason="test")
    league = pb.OpenLeagueAccountsRequest(
        request_id=new_id(), game_id=table, player_ids=[player], starting_stack=10**10
    )
    posting = pb.PostHoldRequest(request_id=new_id(), hold_id=hold_id, to_account=escrow)
    adjusting = pb.AdjustRequest(request_id=new_id(), account=in_game, amount=5, reason="test")
    reused = pb.OpenHouseAccountRequest(request_id=house, account=house.replace("/play", "-c/play"))
    return {
        "hold": (hold, "INSUFFICIENT_CHIPS"),
        "prize": (prize, "INSUFFICIENT_CHIPS"),
        "to escrow": (to_escrow, "INSUFFICIENT_CHIPS"),
        "linked": (linked, "INSUFFICIENT_CHIPS"),
        "grant": (grant, "CALL_LIMIT_EXCEEDED"),
        "league": (league, "CALL_LIMIT_EXCEEDED"),
        "posting": (posting, "HOLD_NOT_PENDING"),
        "adjusting": (adjusting, "ACCOUNT_NOT_FOUND"),
        "reused": (reused, "KEY_REUSED"),
    }


async def test_4_2_a_refusal_leaves_no_account(
    wallet: Wallet, pair: tuple[str, str], player_id: str, table_id: str
) -> None:
    house = pair[0]
    await wallet.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=house, account=house))
    hold_id = (await wallet.place(house, 10)).hold.hold_id
    await wallet.call("VoidHold", pb.VoidHoldRequest(request_id=new_id(), hold_id=hold_id))
    before = await names_of_accounts(wallet)
    for what, (request, reason) in refused_openings(house, player_id, table_id, hold_id).items():
        method = type(request).__name__.removesuffix("Request")
        scopes = (*running.EVERYTHING, "wallet.adjust")
        for _ in range(2):
            assert (await refusal(wallet.call(method, request, "service:lobby", *scopes))).reason == reason, what
            assert await names_of_accounts(wallet) == before, what


async def test_who_is_refused_beside_others_takes_no_account_from_them(wallet: Wallet, player_id: str) -> None:
    account, play = f"player/{player_id}/play", pb.GetAccountRequest(account=f"player/{player_id}/play")
    calls = [wallet.place(account, amount) for amount in (10_001, 100, 10_001, 200)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(it, Exception) for it in answers] == [True, False, True, False]
    balance = (await wallet.call("GetAccount", play)).balance
    assert (balance.posted, balance.held, balance.version) == (10_000, 300, 3)


async def test_many_who_open_the_same_accounts_at_once_through_two_replicas_open_them_once(
    wallet: Wallet, amqp_url: str, table_id: str
) -> None:
    players = [new_id() for _ in range(12)]
    other = await running.start(wallet.settings.database_url, amqp_url, lanes=3)
    try:
        calls = [it.place(f"player/{player}/play", 1) for player in players for it in (wallet, other)]
        await asyncio.gather(*calls)
        assert {await wallet.available(f"player/{player}/play") for player in players} == {9_998}
    finally:
        await running.stop(other)
    assert (await wallet.audit()).passed


async def test_a_game_with_chips_held_or_at_a_table_does_not_close(wallet: Wallet) -> None:
    league = League(wallet)
    await league.open()
    await wallet.place(league.account(league.players[0]), 1)
    assert (await refusal(league.close())).reason == "GAME_NOT_AT_REST"


async def test_too_many_waiting_writes_are_refused_as_overload(wallet_database_url: str, amqp_url: str) -> None:
    small = await running.start(wallet_database_url, amqp_url, waiting_max=2, lanes=1)
    try:
        calls = [small.place(f"player/{new_id()}/play", 1) for _ in range(60)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        refused = [it for it in answers if isinstance(it, grpc.aio.AioRpcError)]
        assert refused
        assert {it.code() for it in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    finally:
        await running.stop(small)
