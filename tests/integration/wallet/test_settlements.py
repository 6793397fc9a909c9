"""Hands from the table's events: once, in order, healing gaps, waiting for buy-ins, never below zero; cash-out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import grpc
import pytest

from cardroom.chassis.bus import EventBus, Message
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.wallet import measures
from cardroom.wallet.errors import SettlementWrong
from cardroom.wallet.events import QUEUE, Settler
from tests.integration.wallet.running import Wallet, new_id, refusal, until


class Table:
    """A table that tells its hands."""

    def __init__(self, wallet: Wallet, bus: EventBus) -> None:
        self.wallet, self.bus = wallet, bus
        self.id = new_id()
        self.players = [new_id(), new_id(), new_id()]
        self.stacks = dict.fromkeys(self.players, 1_000)

    async def seat(self, *players: str) -> None:
        """Buy in for 1,000 each."""
        for player in players or self.players:
            await self.wallet.buy_in(self.id, player, 1_000)

    def hand(self, number: int, *deltas: int) -> Message:
        """A hand's event; the stacks are those after it."""
        event = events_pb2.HandSettled(table_id=self.id, hand_number=number, currency="PLAY")
        for player, delta in zip(self.players, deltas, strict=False):
            self.stacks[player] += delta
            event.deltas.add(player_id=player, delta=delta, stack=self.stacks[player])
        return Message(f"table.settled.{self.id}", "cardroom.events.v1.HandSettled", event.SerializeToString())

    async def tell(self, *messages: Message) -> None:
        """Publish."""
        await self.bus.wait_connected()
        await self.bus.publish(messages)

    async def settled(self) -> int:
        """The last hand that the wallet has settled."""
        reply = await self.wallet.call("GetTableSettlements", pb.GetTableSettlementsRequest(table_id=self.id))
        return int(reply.settled_hand_number)

    async def waiting(self) -> list[int]:
        """The hands that wait."""
        reply = await self.wallet.call("GetTableSettlements", pb.GetTableSettlementsRequest(table_id=self.id))
        return list(reply.waiting_hand_numbers)

    async def until_settled(self, number: int) -> None:
        """Wait for the wallet."""

        async def there() -> bool:
            try:
                return await self.settled() == number
            except grpc.aio.AioRpcError as error:
                # Reads are refused as UNAVAILABLE while the database is away.
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
                return False

        await until(there)

    async def escrow(self, player: str) -> int:
        """A player's chips at the table."""
        return await self.wallet.available(f"escrow/{self.id}/{player}")

    def cash_out(self, player: str, last_hand: int, expected: int) -> pb.CashOutRequest:
        """A request to bring a player's chips back."""
        return pb.CashOutRequest(
            request_id=f"{self.id}/{player}",
            table_id=self.id,
            player_id=player,
            last_hand_number=last_hand,
            expected_amount=expected,
        )


@pytest.fixture(scope="module")
async def bus(amqp_url: str, wallet: Wallet) -> AsyncIterator[EventBus]:
    """A connection to publish on."""
    made = EventBus(amqp_url, "test")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def table(wallet: Wallet, bus: EventBus) -> Table:
    """A new table."""
    return Table(wallet, bus)


async def test_a_hand_moves_the_escrow(table: Table) -> None:
    await table.seat()
    await table.tell(table.hand(1, 200, -150, -50))
    await table.until_settled(1)
    assert [await table.escrow(it) for it in table.players] == [1_200, 850, 950]


async def test_a_hand_is_found_by_table_and_number(table: Table, wallet: Wallet) -> None:
    await table.seat()
    await table.tell(table.hand(1, 200, -150, -50))
    await table.until_settled(1)
    request = pb.FindTransfersRequest(hand=pb.HandReference(table_id=table.id, hand_number=1))
    [moved] = (await wallet.call("FindTransfers", request)).transfers
    assert ([it.amount for it in moved.entries], moved.reason) == ([200, -150, -50], "hand 1")


async def test_a_hand_told_thrice_counts_once(table: Table) -> None:
    await table.seat()
    hand = table.hand(1, 200, -150, -50)
    await table.tell(hand, hand)
    await table.until_settled(1)
    await table.tell(hand, table.hand(2, 0, 0, 0))
    await table.until_settled(2)
    assert [await table.escrow(it) for it in table.players] == [1_200, 850, 950]


async def test_a_gap_stops_the_table_and_heals_when_the_missing_hand_comes(table: Table) -> None:
    await table.seat()
    first, second, third = table.hand(1, 10, -10, 0), table.hand(2, 0, 10, -10), table.hand(3, -5, 0, 5)
    await table.tell(first, third)
    await until_waiting(table, [3])
    assert await table.settled() == 1
    await until_gauge(measures.TABLES_WITH_GAP, 1)
    await table.tell(second)
    await table.until_settled(3)
    assert [await table.escrow(it) for it in table.players] == [1_005, 1_000, 995]
    assert await table.waiting() == []
    await until_gauge(measures.TABLES_WITH_GAP, 0)


async def test_a_gap_stops_no_other_table(table: Table, wallet: Wallet, bus: EventBus) -> None:
    other = Table(wallet, bus)
    await table.seat()
    await other.seat()
    held_back = table.hand(1, 10, -10, 0)
    await table.tell(table.hand(2, 10, -10, 0), other.hand(1, 10, -10, 0))
    await other.until_settled(1)
    assert await table.settled() == 0
    await table.tell(held_back)
    await table.until_settled(2)


async def test_a_hand_waits_for_a_buy_in_that_is_not_posted_yet(table: Table, wallet: Wallet) -> None:
    await table.seat(*table.players[:2])
    await table.tell(table.hand(1, 100, 100, -200), table.hand(2, 0, -100, 100))
    await until_waiting(table, [1, 2])
    assert [await table.escrow(it) for it in table.players[:2]] == [1_000, 1_000]
    await table.seat(table.players[2])
    await table.until_settled(2)
    assert [await table.escrow(it) for it in table.players] == [1_100, 1_000, 900]
    assert (await wallet.audit()).passed


async def test_a_hand_waits_for_a_top_up_and_no_escrow_goes_below_zero(table: Table, wallet: Wallet) -> None:
    await table.seat()
    table.stacks[table.players[0]] += 500
    await table.tell(table.hand(1, -1_400, 1_400, 0))
    await until_waiting(table, [1])
    assert await table.escrow(table.players[0]) == 1_000
    await wallet.buy_in(table.id, table.players[0], 500)
    await table.until_settled(1)
    assert await table.escrow(table.players[0]) == 100


async def test_two_settlers_at_once_settle_a_hand_once(table: Table, wallet: Wallet) -> None:
    await table.seat()
    hands = [table.hand(number, 3, -2, -1) for number in range(1, 9)]
    settlers = [Settler(wallet.pool) for _ in range(4)]
    await asyncio.gather(*(settler.handle(part) for settler in settlers for part in (hands[::2], hands[1::2])))
    await settlers[0].settle_waiting()
    await table.until_settled(8)
    assert await table.escrow(table.players[0]) == 1_024


async def test_another_hand_of_the_same_number_is_an_alert_and_changes_nothing(table: Table, wallet: Wallet) -> None:
    await table.seat()
    settler = Settler(wallet.pool)
    await settler.handle([table.hand(1, 3, -2, -1)])
    with pytest.raises(SettlementWrong, match="different content"):
        await settler.handle([table.hand(1, 5, -5, 0)])
    assert await table.escrow(table.players[0]) == 1_003


@pytest.mark.parametrize("deltas", [(3, -2, 0), (10**13, -(10**13), 0)])
async def test_an_unsound_hand_is_refused_and_the_others_of_its_batch_settled(
    table: Table, wallet: Wallet, bus: EventBus, deltas: tuple[int, ...]
) -> None:
    other = Table(wallet, bus)
    await table.seat()
    await other.seat()
    wrong = table.hand(1, *deltas) if deltas[0] < 10**12 else Message("x", "y", b"\xff\xff")
    with pytest.raises(SettlementWrong):
        await Settler(wallet.pool).handle([wrong, other.hand(1, 1, -1, 0)])
    assert (await table.settled(), await other.settled()) == (0, 1)


async def test_a_poison_message_goes_to_the_dead_letters_and_the_next_hands_go_on(table: Table, amqp_url: str) -> None:
    await table.seat()
    await table.tell(Message(f"table.settled.{table.id}", "cardroom.events.v1.HandSettled", b"\xff\xff"))
    await table.tell(table.hand(1, 1, -1, 0))
    await table.until_settled(1)
    assert QUEUE == "wallet.settlements"


async def test_cash_out_brings_everything_back(table: Table, wallet: Wallet) -> None:
    await table.seat()
    await table.tell(table.hand(1, 200, -150, -50))
    await table.until_settled(1)
    reply = await wallet.call("CashOut", table.cash_out(table.players[0], 1, 1_200))
    assert (reply.amount, reply.balance.posted) == (1_200, 10_200)
    assert await wallet.call("CashOut", table.cash_out(table.players[0], 1, 1_200)) == reply


async def test_cash_out_waits_for_the_last_hand_and_is_safe_to_repeat(table: Table, wallet: Wallet) -> None:
    await table.seat()
    request = table.cash_out(table.players[0], 1, 1_200)
    error = await refusal(wallet.call("CashOut", request))
    assert (error.reason, error.metadata["settled_hand_number"]) == ("SETTLEMENT_PENDING", "0")
    await table.tell(table.hand(1, 200, -150, -50))
    await table.until_settled(1)
    assert (await wallet.call("CashOut", request)).amount == 1_200


async def test_cash_out_refuses_another_amount_than_the_escrow(table: Table, wallet: Wallet) -> None:
    await table.seat()
    error = await refusal(wallet.call("CashOut", table.cash_out(table.players[0], 0, 999)))
    assert (error.reason, error.metadata["escrow"]) == ("ESCROW_MISMATCH", "1000")


async def test_cash_out_of_nothing_is_fine(table: Table, wallet: Wallet) -> None:
    reply = await wallet.call("CashOut", table.cash_out(table.players[0], 0, 0))
    assert (reply.amount, reply.HasField("transfer"), reply.balance.posted) == (0, False, 10_000)


async def test_hands_survive_a_database_that_goes_away(table: Table, wallet: Wallet) -> None:
    await table.seat()
    hands = [table.hand(number, 1, -1, 0) for number in range(1, 31)]
    publishing = asyncio.create_task(table.tell(*hands))
    for _ in range(5):
        admin = await asyncpg.connect(wallet.settings.database_url)
        kill = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cardroom-wallet'"
        await admin.execute(f"{kill} and datname = current_database()")
        await admin.close()
    await publishing
    await table.until_settled(30)
    assert await table.escrow(table.players[0]) == 1_030


async def until_waiting(table: Table, numbers: list[int]) -> None:
    """Wait until exactly these hands wait."""

    async def there() -> bool:
        return await table.waiting() == numbers

    await until(there)


async def until_gauge(gauge: object, value: float) -> None:
    """Wait for a metric."""

    async def there() -> bool:
        return bool(gauge._value.get() == value)  # type: ignore[attr-defined]

    await until(there)
