"""Errors as a person at a terminal reads them."""

from __future__ import annotations

from cardroom.cli.explain import explained, explained_for
from cardroom.client.errors import FailedPreconditionError, UnavailableError


def test_a_refusal_is_told_in_the_card_rooms_own_words() -> None:
    error = FailedPreconditionError("TABLE_FULL", "all seats are taken")
    assert explained(error) == "all seats are taken"
    assert explained_for(error, "localhost:8080") == "all seats are taken [TABLE_FULL]"


def test_where_nobody_answers_it_says_so_and_what_to_do() -> None:
    error = UnavailableError("UNAVAILABLE", "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1")
    assert explained(error) == "no card room answers"
    told = explained_for(error, "localhost:8081")
    assert told.startswith("no card room answers at localhost:8081: ")
    assert "make demo" in told


def test_an_edge_that_cannot_reach_a_service_speaks_for_itself() -> None:
    error = UnavailableError("SERVICE_UNAVAILABLE", "no replica of this service can be reached now")
    assert explained(error) == "no replica of this service can be reached now"
