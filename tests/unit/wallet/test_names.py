"""Readable account names, and what they say."""

from __future__ import annotations

import uuid

import pytest

from cardroom.wallet.domain import names
from cardroom.wallet.domain.names import Kind
from cardroom.wallet.errors import Refused

A, B = str(uuid.UUID(int=10)), str(uuid.UUID(int=11))


@pytest.mark.parametrize(
    ("text", "kind", "currency", "player_id", "table_id"),
    [
        (f"player/{A}/play", Kind.PLAYER, "PLAY", A, None),
        (f"player/{A}/league/{B}", Kind.PLAYER, f"LEAGUE/{B}", A, None),
        (f"escrow/{A}/{B}", Kind.ESCROW, None, B, A),
        ("house/spring-event.2/play", Kind.HOUSE, "PLAY", None, None),
        (f"house/x/league/{A}", Kind.HOUSE, f"LEAGUE/{A}", None, None),
        ("grants/play", Kind.GRANTS, "PLAY", None, None),
        (f"adjustments/league/{A}", Kind.ADJUSTMENTS, f"LEAGUE/{A}", None, None),
    ],
)
def test_a_name_says_kind_currency_player_and_table(
    text: str, kind: Kind, currency: str | None, player_id: str | None, table_id: str | None
) -> None:
    parsed = names.parse(text)
    assert (parsed.kind, parsed.currency, parsed.player_id, parsed.table_id) == (kind, currency, player_id, table_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "player",
        f"player/{A}",
        f"player/{A}/PLAY",
        f"player/{A.upper()}/play ",
        f"player/{A}/play/",
        f"player/{A}/play\n",
        f"player/{A}/league/7",
        f"escrow/{A}",
        "house//play",
        "house/UPPER/play",
        "house/" + "x" * 41 + "/play",
        "grants/other",
        "x" * 10_000,
    ],
)
def test_anything_else_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(Refused, match="not one of player/") as refused:
        names.parse(text, "to_account")
    assert refused.value.metadata["field"] == "to_account"


@pytest.mark.parametrize("currency", [names.PLAY, names.league(A)])
def test_built_names_are_well_formed(currency: str) -> None:
    for text in (
        names.player_account(A, currency),
        names.grants_account(currency),
        names.adjustments_account(currency),
    ):
        assert names.parse(text).currency == currency
    assert names.parse(names.escrow_account(A, B)).table_id == A


def test_only_grants_and_adjustments_make_chips() -> None:
    made = [names.parse(it).is_source for it in ("grants/play", "adjustments/play", "house/x/play", f"player/{A}/play")]
    assert made == [True, True, False, False]


@pytest.mark.parametrize("text", ["LEAGUE", "LEAGUE/", "LEAGUE/x", "play", "EUR"])
def test_a_currency_is_play_or_a_game(text: str) -> None:
    assert names.check_currency("") == "PLAY"
    with pytest.raises(Refused):
        names.check_currency(text)
