"""ListTables over gRPC: filter, order, pages, and everything that was committed before the call."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from cardroom.contracts.lobby.v1.lobby_pb2 import TableFilter
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, GAME_POT_LIMIT_OMAHA
from tests.integration.lobby.conftest import Lobby, refusal

OWN = 4000  # a small blind that no other test's tables have


@pytest.fixture(scope="module")
async def tables(first_lobby: Lobby) -> list[Any]:
    """Five tables of one's own."""
    made = [("Elm", 0, 2), ("Ash", 0, 9), ("Fir", 1, 6), ("Yew", 1, 2), ("Oak", 2, 6)]
    return [
        await first_lobby.create(name=name, small_blind=OWN + step, big_blind=2 * (OWN + step), seats=seats)
        for name, step, seats in made
    ]


async def names(lobby: Lobby, *, order_by: str = "", **wanted: Any) -> list[str]:
    """The names of the module's tables that the filter lets through, in order."""
    wanted = {"small_blind_min": OWN, "small_blind_max": OWN + 2, **wanted}
    answer = await lobby.player().tables(filter=TableFilter(**wanted), order_by=order_by)
    return [table.name for table in answer.tables]


@pytest.mark.usefixtures("tables")
async def test_tables_are_filtered_by_game_stakes_and_seats(lobby: Lobby) -> None:
    assert await names(lobby) == ["Ash", "Elm", "Fir", "Yew", "Oak"]
    assert await names(lobby, small_blind_min=OWN + 1) == ["Fir", "Yew", "Oak"]
    assert await names(lobby, seats_max=2) == ["Elm", "Yew"]
    assert await names(lobby, seats_min=6, small_blind_max=OWN + 1) == ["Ash", "Fir"]
    assert await names(lobby, games=[GAME_POT_LIMIT_OMAHA]) == []
    assert len(await names(lobby, games=[GAME_POT_LIMIT_OMAHA, GAME_NO_LIMIT_HOLDEM])) == 5


@pytest.mark.usefixtures("tables")
async def test_tables_are_sorted_as_asked(lobby: Lobby) -> None:
    assert await names(lobby, order_by="name desc") == ["Yew", "Oak", "Fir", "Elm", "Ash"]
    assert await names(lobby, order_by="stakes.seats desc, name") == ["Ash", "Fir", "Oak", "Elm", "Yew"]


async def test_who_sits_down_and_leaves_is_counted_at_once(
    lobby: Lobby, second_lobby: Lobby, tables: list[Any]
) -> None:
    elm, ada, bob = tables[0], lobby.player(), lobby.player()
    assert "Elm" in await names(second_lobby, players_max=0)
    lobby.neighbours.balances |= {ada.id: 10**6, bob.id: 10**6}
    for number, player in enumerate((ada, bob), 1):
        await player.sit(elm.table_id, buy_in=elm.stakes.min_buy_in)
        for replica in (lobby, second_lobby):
            assert await names(replica, players_min=number, players_max=number) == ["Elm"]
    assert "Elm" not in await names(second_lobby, free_seats_min=1)
    assert (await names(second_lobby, order_by="seats_taken desc"))[0] == "Elm"
    await bob.leave(elm.table_id)
    assert "Elm" in await names(second_lobby, free_seats_min=1)
    await ada.leave(elm.table_id)
    assert "Elm" in await names(second_lobby, players_max=0)


@pytest.mark.usefixtures("tables")
async def test_pages_keep_filter_and_order(lobby: Lobby) -> None:
    ada, wanted = lobby.player(), TableFilter(small_blind_min=OWN, small_blind_max=OWN + 2)
    asked = {"filter": wanted, "order_by": "stakes.seats, name desc", "page_size": 2}
    first = await ada.tables(**asked)
    second = await ada.tables(**asked, page_token=first.next_page_token)
    third = await ada.tables(**asked, page_token=second.next_page_token)
    found = [table.name for page in (first, second, third) for table in page.tables]
    assert found == ["Yew", "Elm", "Oak", "Fir", "Ash"]
    assert third.next_page_token == ""
    for changed in ({"order_by": "name"}, {"filter": TableFilter()}):
        error = await refusal(ada.tables(**{**asked, **changed}, page_token=first.next_page_token))
        assert (error.code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN")


@pytest.mark.parametrize(
    ("asked", "reason", "field"),
    [
        ({"order_by": "stakes"}, "INVALID_ORDER_BY", "stakes"),
        ({"order_by": "seats_taken down"}, "INVALID_ORDER_BY", None),
        ({"filter": {"games": [0]}}, "INVALID_FILTER", "games"),
        ({"filter": {"games": [99]}}, "INVALID_FILTER", "games"),
        ({"filter": {"small_blind_min": -1}}, "INVALID_FILTER", "small_blind_min"),
        ({"filter": {"seats_min": 7, "seats_max": 6}}, "INVALID_FILTER", "seats_min"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_the_field(
    lobby: Lobby, asked: dict[str, Any], reason: str, field: str | None
) -> None:
    error = await refusal(lobby.player().tables(**asked))
    assert (error.code, error.reason, error.metadata.get("field")) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        reason,
        field,
    )
