"""What earlier releases have written is still read, and comes to the same tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cardroom.table.domain.deck import Deck
from cardroom.table.domain.replay import replay
from cardroom.table.domain.state import TableState
from cardroom.table.records import pack_table, unpack_table
from tests.unit.table import record

# What later releases keep beside what a record's release kept: it follows from no such snapshot, and is left out of
# comparisons.
LATER: dict[str, dict[str, Any]] = {
    "0.1": {
        "unseen_since_ms": 0,
        "out_since_ms": 0,
        "absence_generation": 0,
        "is_out_of_chips": False,
        "status_version": 0,
    },
    "0.1-presence": {"is_out_of_chips": False, "status_version": 0},
    "0.1-top-ups": {"status_version": 0},
    "0.1-void": {"status_version": 0},
}
RECORDS = sorted(record.FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_recorded_log_still_replays(path: Path) -> None:
    recorded = json.loads(path.read_text())
    decks = {int(hand): Deck.from_bytes(bytes.fromhex(deck)) for hand, deck in recorded["decks"].items()}
    log = record.entries(recorded)
    whole = replay(None, log, decks.get)
    snapshot = unpack_table(bytes.fromhex(recorded["snapshot"]))
    rest = replay(snapshot, [entry for entry in log if entry.version > snapshot.version], decks.get)
    assert whole is not None
    assert rest is not None
    assert whole.hand is not None
    assert _as_recorded(rest, path) == _as_recorded(whole, path)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_recorded_snapshot_is_still_what_the_log_comes_to(path: Path) -> None:
    recorded = json.loads(path.read_text())
    decks = {int(hand): Deck.from_bytes(bytes.fromhex(deck)) for hand, deck in recorded["decks"].items()}
    snapshot = unpack_table(bytes.fromhex(recorded["snapshot"]))
    log = [entry for entry in record.entries(recorded) if entry.version <= snapshot.version]
    state = replay(None, log, decks.get)
    assert state is not None
    assert pack_table(_as_recorded(state, path)) == pack_table(snapshot)


def _as_recorded(state: TableState, path: Path) -> TableState:
    for number, seat in state.seats.items():
        state.seats[number] = replace(seat, **LATER.get(path.stem, {}))
    return state


def test_there_is_a_record_with_every_kind_of_command_that_happens_at_an_open_table() -> None:
    kinds = {type(entry.command).__name__ for path in RECORDS for entry in record.entries(json.loads(path.read_text()))}
    assert kinds == {
        *("OpenTable", "SeatPlayer", "EndSeating", "SetTimeBank", "DealHand", "Act", "StartTimeBank", "EndTurn"),
        *("RestartTurn", "SitOut", "ComeBack", "SetConnected", "JudgeAbsence", "TakeOver", "TopUp", "VoidHand"),
    }
