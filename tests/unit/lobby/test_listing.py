"""The list of tables: filter, order, pages (AIP-132, AIP-158)."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.lobby.domain.listing import (
    PAGE_DEFAULT,
    PAGE_MAX,
    SORTABLE,
    Order,
    Query,
    Span,
    TableFilter,
    checked_filter,
    read_order,
)
from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.errors import Refused
from tests.unit.lobby.offering import offer

GAMES = frozenset({1, 2})
OFFERS = [
    offer(1, name="Cedar", taken=6, waiting=2, small_blind=25),
    offer(2, name="Birch", taken=2, small_blind=5),
    offer(3, name="Alder", taken=0, small_blind=5, seats=9),
    offer(4, name="Dogwood", taken=1, small_blind=1, game=2, seats=2),
]


def names(offers: list[Offer]) -> list[str]:
    return [one.table.name for one in offers]


def refused(work: Any, *arguments: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as raised:
        work(*arguments)
    return raised.value.refusal.reason, raised.value.refusal.metadata.get("field", "")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["Dogwood", "Alder", "Birch", "Cedar"]),
        ({"games": frozenset({2})}, ["Dogwood"]),
        ({"games": frozenset({1, 2})}, ["Dogwood", "Alder", "Birch", "Cedar"]),
        ({"small_blind": Span(5, 5)}, ["Alder", "Birch"]),
        ({"small_blind": Span(least=6)}, ["Cedar"]),
        ({"seats": Span(most=2)}, ["Dogwood"]),
        ({"seats": Span(6, 9), "small_blind": Span(most=5)}, ["Alder", "Birch"]),
        ({"players": Span(1, 2)}, ["Dogwood", "Birch"]),
        ({"players": Span(most=0)}, ["Alder"]),
        ({"free_seats": Span(least=1)}, ["Dogwood", "Alder", "Birch"]),
        ({"free_seats": Span(least=10)}, []),
    ],
)
def test_a_filter_lets_through_what_it_says(wanted: dict[str, Any], found: list[str]) -> None:
    assert names(Query(TableFilter(**wanted)).page(OFFERS)[0]) == found


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"games": frozenset({0})}, "games"),
        ({"games": frozenset({1, 77})}, "games"),
        ({"small_blind": Span(least=-1)}, "small_blind_min"),
        ({"players": Span(most=-1)}, "players_max"),
        ({"seats": Span(9, 2)}, "seats_min"),
        ({"free_seats": Span(least=-(2**31))}, "free_seats_min"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_with_the_field(wanted: dict[str, Any], field: str) -> None:
    assert refused(checked_filter, TableFilter(**wanted), GAMES) == ("INVALID_FILTER", field)


def test_a_filter_that_makes_sense_is_left_as_it_is() -> None:
    wanted = TableFilter(games=GAMES, players=Span(0, 0), seats=Span(least=0))
    assert checked_filter(wanted, GAMES) == wanted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["Dogwood", "Alder", "Birch", "Cedar"]),
        ("name", ["Alder", "Birch", "Cedar", "Dogwood"]),
        ("name desc", ["Dogwood", "Cedar", "Birch", "Alder"]),
        ("seats_taken desc", ["Cedar", "Birch", "Dogwood", "Alder"]),
        ("stakes.seats desc,seats_taken", ["Alder", "Birch", "Cedar", "Dogwood"]),
        ("  stakes.small_blind   desc ,  name desc ", ["Cedar", "Birch", "Alder", "Dogwood"]),
        ("stakes.game desc, stakes.small_blind asc", ["Dogwood", "Alder", "Birch", "Cedar"]),
        ("waiting desc", ["Cedar", "Dogwood", "Alder", "Birch"]),
        ("average_pot, hands_per_hour desc", ["Dogwood", "Alder", "Birch", "Cedar"]),
    ],
)
def test_an_order_is_fields_with_commas_and_desc(text: str, found: list[str]) -> None:
    assert names(Query(order=read_order(text)).page(OFFERS)[0]) == found


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("stake", "stake"),
        ("name, players desc", "players"),
        ("Name", "Name"),
        ("name, name desc", "name"),
        ("name down", ""),
        ("name desc desc", ""),
        ("name,", ""),
        (",", ""),
        ("name;drop", "name;drop"),
        ("free_seats", "free_seats"),
        ("x" * 301, ""),
    ],
)
def test_an_order_that_is_none_is_refused(text: str, field: str) -> None:
    assert refused(read_order, text) == ("INVALID_ORDER_BY", field)


def test_an_unknown_field_is_told_which_there_are() -> None:
    with pytest.raises(Refused, match=r"stakes\.small_blind, .*seats_taken"):
        read_order("stake")


@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6), st.sampled_from("abc")), max_size=30),
    fields=st.lists(st.tuples(st.sampled_from(sorted(SORTABLE)), st.booleans()), max_size=3, unique_by=lambda f: f[0]),
    size=st.integers(1, 7),
)
def test_pages_put_together_are_the_list_in_order(
    rows: list[tuple[int, int, str]], fields: list[tuple[str, bool]], size: int
) -> None:
    offers = [offer(n, small_blind=b, taken=t, name=name) for n, (b, t, name) in enumerate(rows)]
    order, found, token = Order(tuple(fields)), list[Offer](), ""
    while True:
        random.shuffle(offers)
        page, token = Query(order=order, size=size, token=token).page(offers)
        found += page
        if not token:
            break
        assert len(page) == size
    assert found == order.sorted(offers)
    assert len(found) == len(offers)
    for field, is_descending in fields[:1]:
        values = [SORTABLE[field](one) for one in found]
        assert values == sorted(values, reverse=is_descending)


def test_a_page_without_a_size_has_the_usual_one() -> None:
    page, token = Query().page([offer(n) for n in range(PAGE_DEFAULT + 1)])
    assert len(page) == PAGE_DEFAULT
    assert token


@pytest.mark.parametrize("size", [PAGE_MAX, PAGE_MAX + 1, 2**31 - 1])
def test_who_asks_for_a_page_too_large_gets_the_largest(size: int) -> None:
    page, token = Query(size=size).page([offer(n) for n in range(PAGE_MAX + 1)])
    assert len(page) == PAGE_MAX
    assert token


@pytest.mark.parametrize("size", [-1, -(2**31)])
def test_a_page_smaller_than_nothing_is_refused(size: int) -> None:
    assert refused(Query(size=size).page, OFFERS)[0] == "INVALID_PAGE_SIZE"


def test_a_table_that_comes_and_goes_between_two_pages_moves_no_other() -> None:
    first, token = Query(size=2).page(OFFERS)
    rest = [one for one in OFFERS if one not in first] + [offer(9, name="Aaa", small_blind=1)]
    assert names(Query(token=token).page(rest)[0]) == ["Birch", "Cedar"]


def test_a_page_token_of_another_list_is_refused() -> None:
    _, token = Query(size=1).page(OFFERS)
    for other in (Query(order=read_order("name"), token=token), Query(TableFilter(players=Span(most=9)), token=token)):
        assert refused(other.page, OFFERS)[0] == "INVALID_PAGE_TOKEN"


def forged(*content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


ID = "5f0e8a53-8a43-4d3f-9a55-8f9a3c1f7a11"
MARK = Query().fingerprint


@pytest.mark.parametrize(
    "token",
    [
        *("x", "W10=", "e30=", "WzEsMiwzXQ==", "WyJhIiwgImIiLCAiYyJd", "A" * 1001, "é"),
        forged(MARK),
        forged(MARK, 1, "a", "no id"),
        forged(MARK, 1, ID),
        forged(MARK, "1", "a", ID),
        forged(MARK, True, "a", ID),
        forged(MARK, 1, 2, ID),
        forged(MARK, 1, "a", "b", ID),
        forged("other", 1, "a", ID),
    ],
)
def test_a_page_token_of_ones_own_is_refused(token: str) -> None:
    assert refused(Query(token=token).page, OFFERS)[0] == "INVALID_PAGE_TOKEN"
