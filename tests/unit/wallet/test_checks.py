"""Checks of form, pages and the difference between two requests."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import types_pb2
from cardroom.wallet.api import checks, pages
from cardroom.wallet.errors import REMEMBERED, STATUS_OF_REASON, Refused

# More brackets than the reader of JSON can go down.
DEEP = base64.urlsafe_b64encode(b"[" * 100_000).decode()


def reason_of(call: Any, *args: Any, **kwargs: Any) -> str:
    """The reason that a check refuses with."""
    with pytest.raises(Refused) as raised:
        call(*args, **kwargs)
    return raised.value.reason


def test_the_list_of_reasons_is_the_protos() -> None:
    listed = {name.removeprefix("ERROR_REASON_") for name in dict(types_pb2.ErrorReason.items())} - {"UNSPECIFIED"}
    assert set(STATUS_OF_REASON) == listed
    assert listed > REMEMBERED


def test_a_refusal_is_remembered_as_it_was() -> None:
    refused = Refused("INSUFFICIENT_CHIPS", "too few", account="a", available=3)
    again = Refused.from_bytes(refused.to_bytes())
    assert (again.reason, again.message, again.metadata) == (refused.reason, refused.message, refused.metadata)


@pytest.mark.parametrize("text", ["", "x" * 101, "a b", "ä", "a\n"])
def test_request_ids(text: str) -> None:
    assert checks.request_id("saga/0-1_2:3.4") == "saga/0-1_2:3.4"
    assert reason_of(checks.request_id, text) == "REQUEST_ID_INVALID"


@pytest.mark.parametrize("value", [0, -1, 10**12 + 1])
def test_amounts(value: int) -> None:
    assert checks.amount(10**12) == 10**12
    assert reason_of(checks.amount, value) == "AMOUNT_INVALID"


@pytest.mark.parametrize(("asked", "given"), [(0, 50), (1, 1), (500, 500), (501, 500), (2**31 - 1, 500)])
def test_a_page_has_a_size_and_more_than_the_most_means_the_most(asked: int, given: int) -> None:
    assert checks.page_size(asked) == given


@pytest.mark.parametrize("text", ["", " ", "a\0b", "x" * 201])
def test_a_reason_that_is_needed_says_something(text: str) -> None:
    assert checks.reason("x" * 200, needed=True)
    assert reason_of(checks.reason, text, needed=True) == "FIELD_INVALID"


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "9" * 19])
def test_ids_that_were_never_given(text: str) -> None:
    assert reason_of(checks.id_number, text, "hold_id", "HOLD_NOT_FOUND") == "HOLD_NOT_FOUND"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": 6}, "amount"),
        ({"time_to_live": {"seconds": 5}}, "time_to_live.seconds"),
        ({"reason": "other"}, "reason"),
        ({}, "request"),
    ],
)
def test_the_first_field_that_differs_is_named(change: dict[str, Any], field: str) -> None:
    before = pb.PlaceHoldRequest(request_id="k", account="a", amount=5)
    after = pb.PlaceHoldRequest(request_id="k", **{"account": "a", "amount": 5, **change})
    assert checks.first_difference(after, "PlaceHold", "PlaceHold", before.SerializeToString()) == field


def test_a_list_that_grew_is_named_as_a_whole() -> None:
    one = pb.CreateLinkedTransfersRequest(instructions=[pb.TransferInstruction(amount=1)])
    two = pb.CreateLinkedTransfersRequest(instructions=[pb.TransferInstruction(amount=1)] * 2)
    assert checks.first_difference(two, "m", "m", one.SerializeToString()) == "instructions"
    assert checks.first_difference(two, "m", "other", b"") == "method"


def test_a_page_token_goes_on_where_the_page_ended() -> None:
    request = pb.ListAccountEntriesRequest(account="a", page_size=10)
    request.page_token = pages.token(request, "a", 41)
    assert pages.span(request, "a").after == 41
    request.page_size = 20
    assert pages.span(request, "a").after == 41
    assert pages.token(request, "a", None) == ""


@pytest.mark.parametrize("change", [{"kinds": [3]}, {"order": 2}, {"account": "b"}])
def test_a_page_token_belongs_to_its_question(change: dict[str, Any]) -> None:
    request = pb.ListAccountEntriesRequest(account="a")
    token = pages.token(request, "a", 41)
    other = pb.ListAccountEntriesRequest(**{"account": "a", **change}, page_token=token)
    assert reason_of(pages.span, other, other.account) == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize("token", ["x", "!!!!", "bnVsbA", "W10", "WzEsMiwzXQ", "e30", "\N{SNOWMAN}", DEEP])
def test_made_up_page_tokens_are_refused(token: str) -> None:
    request = pb.ListAccountEntriesRequest(account="a", page_token=token)
    assert reason_of(pages.span, request, "a") == "PAGE_TOKEN_INVALID"


@pytest.mark.parametrize("kinds", [[0], [99]])
def test_unknown_kinds_are_refused(kinds: list[int]) -> None:
    request = pb.ListAccountEntriesRequest(account="a", kinds=kinds)  # type: ignore[arg-type]
    assert reason_of(pages.span, request, "a") == "FIELD_INVALID"
