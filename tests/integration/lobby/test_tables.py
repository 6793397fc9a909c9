"""Tables on offer: opened and closed by operators, listed for players, with numbers from the hands they played."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from cardroom.chassis.bus import EventBus, Message
from cardroom.chassis.errors import FailedPrecondition, InvalidArgument
from cardroom.contracts.events.v1 import events_pb2
from cardroom.contracts.table.v1 import view_pb2
from cardroom.lobby.store import EndedHand, TableStore
from tests.integration.lobby.conftest import Lobby, refusal, token, until


async def test_a_table_is_opened_at_the_table_service_and_offered(lobby: Lobby) -> None:
    made = await lobby.create(name="Amber", ante=5)
    assert made.table_id in lobby.neighbours.tables
    shown = await lobby.player().table(made.table_id)
    assert shown == made
    assert (shown.stakes.min_buy_in, shown.stakes.max_buy_in, shown.stakes.ante) == (800, 2000, 5)
    assert (shown.seats_taken, shown.average_pot, shown.hands_per_hour) == (0, 0, 0)
    assert list(shown.free_seats) == [1, 2, 3, 4, 5, 6]


async def test_a_repeat_opens_no_second_table(lobby: Lobby) -> None:
    request_id = str(uuid4())
    assert await lobby.create(request_id=request_id) == await lobby.create(request_id=request_id)
    error = await refusal(lobby.create(request_id=request_id, name="Other"))
    assert (error.code, error.reason) == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")


@pytest.mark.parametrize(
    "wrong",
    [
        {"small_blind": 0, "big_blind": 0},
        {"big_blind": 30},
        {"ante": 21},
        {"seats": 1},
        {"seats": 10},
        {"min_buy_in": 3000, "max_buy_in": 2000},
        {"game": 0},
        {"game": view_pb2.GAME_POT_LIMIT_OMAHA},
    ],
)
async def test_unsound_stakes_are_refused(lobby: Lobby, wrong: dict[str, Any]) -> None:
    error = await refusal(lobby.create(**wrong))
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_STAKES")
    assert lobby.neighbours.calls["OpenTable"] == 0


@pytest.mark.parametrize("name", ["", " edge", "x" * 41, "line\nbreak"])
async def test_a_name_that_is_none_is_refused(lobby: Lobby, name: str) -> None:
    error = await refusal(lobby.create(name=name))
    assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_NAME")


async def test_a_creation_without_a_request_id_is_refused(lobby: Lobby) -> None:
    assert (await refusal(lobby.create(request_id="no"))).reason == "REQUEST_ID_MISSING"


async def test_only_operators_open_and_close(lobby: Lobby) -> None:
    assert (await refusal(lobby.create(who=token(str(uuid4()))))).reason == "SCOPE_MISSING"


async def test_what_the_table_service_refuses_is_remembered(lobby: Lobby) -> None:
    lobby.neighbours.refusing["OpenTable"] = InvalidArgument("INVALID_STAKES", "not these")
    request_id = str(uuid4())
    assert (await refusal(lobby.create(request_id=request_id))).reason == "INVALID_STAKES"
    lobby.neighbours.refusing.clear()
    assert (await refusal(lobby.create(request_id=request_id))).reason == "INVALID_STAKES"


async def test_a_creation_while_the_table_service_is_down_is_finished_later(lobby: Lobby) -> None:
    lobby.neighbours.failing.add("OpenTable")
    request_id = str(uuid4())
    error = await refusal(lobby.create(request_id=request_id))
    assert (error.code, error.reason) == (grpc.StatusCode.UNAVAILABLE, "OPENING_UNFINISHED")
    lobby.neighbours.failing.clear()
    assert (await lobby.create(request_id=request_id)).name == "Table"


async def test_a_closed_table_is_off_the_offer(lobby: Lobby, table_id: str) -> None:
    await lobby.close(table_id)
    await lobby.close(table_id)
    assert (await refusal(lobby.player().table(table_id))).reason == "TABLE_UNKNOWN"
    assert (await refusal(lobby.player().sit(table_id))).reason == "TABLE_UNKNOWN"


async def test_a_table_with_players_is_not_closed(lobby: Lobby, table_id: str) -> None:
    ada = lobby.player()
    await ada.sit(table_id)
    error = await refusal(lobby.close(table_id))
    assert (error.code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TABLE_OCCUPIED")
    await ada.leave(table_id)
    await lobby.close(table_id)


async def test_a_table_that_the_table_service_keeps_open_stays_on_offer(lobby: Lobby, table_id: str) -> None:
    lobby.neighbours.refusing["CloseTable"] = FailedPrecondition("TABLE_OCCUPIED", "somebody sits")
    assert (await refusal(lobby.close(table_id))).reason == "TABLE_OCCUPIED"
    assert (await lobby.player().table(table_id)).table_id == table_id


@pytest.mark.parametrize("where", [str(uuid4()), "nonsense"])
async def test_an_unknown_table_is_refused(lobby: Lobby, where: str) -> None:
    for call in (lobby.close(where), lobby.player().table(where)):
        error = await refusal(call)
        assert (error.code, error.reason) == (grpc.StatusCode.NOT_FOUND, "TABLE_UNKNOWN")


async def test_pages_are_in_order_and_miss_nothing(lobby: Lobby) -> None:
    made = {
        (await lobby.create(name=name, small_blind=b, big_blind=2 * b)).table_id
        for name, b in [("Zinc", 1), ("Amber", 1), ("Blue", 7), ("Blue", 7), ("Jet", 3)]
    }
    ada, seen, page = lobby.player(), [], ""
    while True:
        answer = await ada.tables(page_size=2, page_token=page)
        seen += answer.tables
        page = answer.next_page_token
        if not page:
            break
    assert [one.stakes.small_blind for one in seen] == sorted(one.stakes.small_blind for one in seen)
    mine = [one for one in seen if one.table_id in made]
    assert [one.name for one in mine] == ["Amber", "Zinc", "Jet", "Blue", "Blue"]


async def test_a_page_smaller_than_nothing_is_refused_and_one_too_large_is_the_largest(
    lobby: Lobby, table_id: str
) -> None:
    assert (await refusal(lobby.player().tables(page_size=-1))).reason == "INVALID_PAGE_SIZE"
    assert table_id in {one.table_id for one in (await lobby.player().tables(page_size=2**31 - 1)).tables}


@pytest.mark.parametrize("page", ["x", "W10=", "WzEsMiwzXQ==", "A" * 2000, "é"])
async def test_a_page_token_of_somebody_else_is_refused(lobby: Lobby, page: str) -> None:
    assert (await refusal(lobby.player().tables(page_token=page))).reason == "INVALID_PAGE_TOKEN"


@pytest.fixture(scope="module")
async def bus(amqp_url: str) -> Any:
    """The tables' way to the broker."""
    made = EventBus(amqp_url, "table")
    try:
        await made.start()
        await made.wait_connected()
        yield made
    finally:
        await made.stop()


def played(table_id: str, number: int, pot: int, seconds_ago: int, *, is_void: bool = False) -> Message:
    """A whole hand in one change."""
    now = Timestamp()
    now.GetCurrentTime()
    now.seconds -= seconds_ago
    events = [
        view_pb2.TableEvent(hand_started=view_pb2.HandStarted(hand_number=number)),
        view_pb2.TableEvent(hand_ended=view_pb2.HandEnded(hand_number=number, pot_total=pot, is_void=is_void)),
    ]
    change = events_pb2.TableChanged(table_id=table_id, version=number, occurred_at=now, events=events)
    group = events_pb2.TablesChanged(changes=[change])
    return Message("table.changed", "cardroom.events.v1.TablesChanged", group.SerializeToString())


async def test_the_average_pot_is_of_the_last_50_hands_and_repeats_count_once(
    lobby: Lobby, table_id: str, bus: EventBus
) -> None:
    hands = [played(table_id, n, 100_000 if n <= 10 else 100 * (n % 2 + 1), 1800 - 30 * n) for n in range(1, 61)]
    await bus.publish([*hands, *hands[-20:], played(str(uuid4()), 1, 5, 1)])

    async def all_counted() -> Any:
        table = await lobby.player().table(table_id)
        return table if table.average_pot == 150 else None

    table = await until(all_counted)
    # 60 hands in 29.5 minutes.
    assert 120 <= table.hands_per_hour <= 124


async def test_hands_of_more_than_an_hour_ago_do_not_count(lobby: Lobby, table_id: str, bus: EventBus) -> None:
    await bus.publish([played(table_id, 1, 60, 7200), played(table_id, 2, 60, 4000), played(table_id, 3, 60, 10)])

    async def counted() -> Any:
        table = await lobby.player().table(table_id)
        return table if table.average_pot else None

    assert (await until(counted)).hands_per_hour == 1


async def test_14_4_a_void_hand_is_no_pot_of_0_in_the_average(lobby: Lobby, table_id: str, bus: EventBus) -> None:
    hands = [played(table_id, 1, 60, 30), played(table_id, 2, 0, 20, is_void=True), played(table_id, 3, 80, 10)]
    await bus.publish(hands)

    async def counted() -> Any:
        table = await lobby.player().table(table_id)
        return table if table.average_pot not in {0, 60} else None

    assert (await until(counted)).average_pot == 70


async def test_the_hands_of_a_closed_table_are_forgotten(lobby: Lobby, table_id: str) -> None:
    now = datetime.now(UTC)
    open_id = str((await lobby.create()).table_id)
    store = TableStore(lobby.pool)
    await store.add_hands([EndedHand(one, 1, 60, now - timedelta(hours=2)) for one in (table_id, open_id)])
    await store.add_hands([EndedHand(table_id, 2, 60, now)])
    await lobby.close(table_id)
    await store.forget_old_hands()
    left = await lobby.pool.fetch("SELECT * FROM hands WHERE table_id = ANY($1::uuid[])", [table_id, open_id])
    assert {(str(row["table_id"]), row["hand_number"]) for row in left} == {(table_id, 2), (open_id, 1)}
