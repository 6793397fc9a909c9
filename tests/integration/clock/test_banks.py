"""Banks measured from the tables' facts, charged once, told to the table, and kept over everything."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import grpc
import pytest

from cardroom.chassis.errors import from_rpc_error
from cardroom.contracts.table.v1 import view_pb2
from tests.integration.clock.conftest import Clock, Publish, Site, token
from tests.integration.clock.room import FakeTables, Table, now_ms

FULL_MS = 30_000
BASE_MS = 20_000


async def use_bank(site: Site, table: Table, tables: FakeTables, publish: Publish, used_ms: int = 0) -> Any:
    """Let the player think into the bank, then act; the charge is told to the table."""
    already = len(tables.of("SetTimeBank", table.table_id))
    started = len(tables.of("StartTimeBank", table.table_id))
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS + used_ms))
    await tables.until_told("StartTimeBank", table.table_id, started + 1)
    # The clock writes down that the bank runs a moment after it told the table.
    await site.until_timer(table.table_id, phase="bank")
    await publish(table.deal(60_000, acted=True))
    return (await tables.until_told("SetTimeBank", table.table_id, already + 1))[-1].request


async def test_9_1_what_was_used_is_gone_and_the_table_is_told(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    told = await use_bank(site, table, tables, publish, used_ms=4_000)
    left = told.left.ToMilliseconds()
    assert FULL_MS - 4_000 - 1_500 <= left <= FULL_MS - 4_000
    assert (told.player_id, told.generation) == (table.player_id, 1)
    assert await clock.bank_ms(table.player_id) == left
    again = (await use_bank(site, table, tables, publish)).left.ToMilliseconds()
    assert again < left
    assert tables.of("SetTimeBank", table.table_id)[-1].request.generation == 2
    assert (await clock.bank(table.player_id)).generation == 2, "who sits down next brings what the table was told last"


async def test_the_next_turn_has_what_is_left(clock: Clock, tables: FakeTables, publish: Publish, site: Site) -> None:
    table = Table()
    left = (await use_bank(site, table, tables, publish, used_ms=20_000)).left.ToMilliseconds()
    base_ends = now_ms()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS))
    told = (await tables.until_told("StartTimeBank", table.table_id, 2))[-1]
    assert told.request.bank_deadline.ToMilliseconds() - base_ends <= left + 50


async def test_events_that_come_again_charge_nothing_again(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS + 3_000))
    await tables.until_told("StartTimeBank", table.table_id)
    await site.until_timer(table.table_id, phase="bank")
    acted = table.deal(60_000, acted=True)
    await publish(acted, acted)
    await publish(acted)
    left = (await tables.until_told("SetTimeBank", table.table_id))[0].request.left.ToMilliseconds()
    other = Table()
    await publish(acted, other.deal(0))
    await tables.until_told("DealHand", other.table_id)
    assert await clock.bank_ms(table.player_id) == left


async def test_9_6_a_turn_that_begins_anew_costs_no_bank(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS + 3_000))
    await tables.until_told("StartTimeBank", table.table_id)
    await site.until_timer(table.table_id, phase="bank")
    await publish(table.turn(base_ms=BASE_MS, anew=True))
    await publish(table.deal(0, acted=True))
    await tables.until_told("DealHand", table.table_id)
    assert await clock.bank_ms(table.player_id) == FULL_MS


async def test_9_2_the_bank_grows_with_hands_dealt_and_follows_the_player(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    left = (await use_bank(site, table, tables, publish, used_ms=12_000)).left.ToMilliseconds()
    dealt = view_pb2.HandStarted(players=[view_pb2.HandStarted.DealtIn(seat=1, player_id=table.player_id)])
    await publish(*(table.change([view_pb2.TableEvent(hand_started=dealt)]) for _ in range(20)))
    told = (await tables.until_told("SetTimeBank", table.table_id, 2))[-1].request
    assert told.left.ToMilliseconds() == left + 5_000
    gone = view_pb2.PlayerLeft(seat=1, player_id=table.player_id)
    other = Table(player_id=table.player_id)
    seated = view_pb2.PlayerSeated(seat=view_pb2.SeatView(seat=4, player_id=table.player_id))
    await publish(
        table.change([view_pb2.TableEvent(player_left=gone)]), other.change([view_pb2.TableEvent(player_seated=seated)])
    )
    elsewhere = (await tables.until_told("SetTimeBank", other.table_id))[0].request
    assert elsewhere.left.ToMilliseconds() == left + 5_000


async def test_9_2_running_out_of_chips_and_buying_back_in_fills_it(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    await use_bank(site, table, tables, publish, used_ms=12_000)
    ended = view_pb2.HandEnded(hand_number=1, outcomes=[view_pb2.HandEnded.Outcome(seat=1, stack=0, delta=-10)])
    bought = view_pb2.StackChanged(seat=1, stack=2000)
    await publish(
        table.change([view_pb2.TableEvent(hand_ended=ended)]), table.change([view_pb2.TableEvent(stack_changed=bought)])
    )
    told = (await tables.until_told("SetTimeBank", table.table_id, 2))[-1].request
    assert told.left.ToMilliseconds() == FULL_MS


async def test_a_table_that_is_down_is_told_when_it_is_back(
    clock: Clock, tables: FakeTables, publish: Publish, site: Site
) -> None:
    table = Table()
    await publish(table.turn(base_ms=BASE_MS, started_ago_ms=BASE_MS + 3_000))
    await tables.until_told("StartTimeBank", table.table_id)
    await site.until_timer(table.table_id, phase="bank")
    tables.down = True
    await publish(table.nothing(acted=True))
    await tables.until_told("SetTimeBank", table.table_id)
    tables.down = False
    await tables.until_told("SetTimeBank", table.table_id, 2)


async def test_who_may_ask_for_a_bank(clock: Clock) -> None:
    ada, ben = str(uuid4()), str(uuid4())
    assert await clock.bank_ms(ada, token(ada)) == FULL_MS
    for player_id, who, reason in (
        (ada, token(ben), "NOT_YOUR_TIME_BANK"),
        ("nonsense", token(ben), "INVALID_PLAYER_ID"),
        (ada, (("x", "y"),), "TOKEN_MISSING"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await clock.bank_ms(player_id, who)
        assert from_rpc_error(raised.value).reason == reason
