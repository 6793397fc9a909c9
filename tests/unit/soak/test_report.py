"""When a soak is good, and what it says otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import pytest

from tests.soak.readings import Played
from tests.soak.report import Soak, lines

LAST = {
    "guests": 3,
    "home": 3,
    "stuck": [],
    "chips": 30_000,
    "granted": 30_000,
    "failures": {"TABLE_FULL (SitDown)": 4},
    "moves": 7,
}


def soak(**changes: Any) -> Soak:
    """A soak in which all is well, but for the changes."""
    options = argparse.Namespace(tables=2, players=3)
    memory: list[Mapping[str, float]] = [{"table-0": 70.0}, {"table-0": 71.0}, {"table-0": 72.5}]
    return Soak(options, minutes=1.0, memory=memory, audit_code=0, **({"last": LAST} | changes))


def test_all_is_well_when_the_audit_holds_and_everybody_is_home() -> None:
    good = soak()
    assert good.verdict()
    text = "\n".join(lines(good))
    assert "✗" not in text
    assert "table-0         70.0      71.0 →    72.5  (+1.5)" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"audit_code": 1}, "cardroom audit ended with 1"),
        ({"last": LAST | {"home": 2, "stuck": ["ann: table t"]}}, "1 guests are stuck: ann: table t"),
        ({"last": LAST | {"chips": 29_999}}, "29,999 chips, and were given 30,000"),
        ({"last": LAST | {"failures": {"INTERNAL_ERROR (Act)": 2}}}, "2 times a guest was told INTERNAL_ERROR (Act)"),
        ({"quiet": ["t1"]}, "1 tables fell silent: t1"),
        ({"stopped_tables": 1}, "1 tables have stopped"),
        ({"played": Played(1, 1, commands={"void_hand": 1})}, "1 hands were void"),
    ],
)
def test_what_must_not_be_is_said_and_fails_the_soak(changes: dict[str, Any], said: str) -> None:
    bad = soak()
    for name, value in changes.items():
        setattr(bad, name, value)
    assert not bad.verdict()
    assert said in "\n".join(lines(bad))
