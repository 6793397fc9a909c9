"""What a replica makes of a table that it cannot decide again: void only what nobody could go on with (rule 14.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table import recovery
from cardroom.table.deckbox import DeckBox
from cardroom.table.domain import commands as do
from cardroom.table.records import pack_command, pack_table
from cardroom.table.recovery import Recovered, Recovery
from cardroom.table.store import LoggedRow, StoredTable
from tests.unit.table.driver import CALL, Driver

BOX = DeckBox([bytes(32)])


def dealt(edition: int) -> StoredTable:
    """A table in its first hand, as its database has it."""
    table = Driver(1000, 1000)
    snapshot, since = pack_table(table.state), table.state.version
    table.deal()
    table.act(CALL)
    log = []
    deck = None
    for command, now, dealt_deck, decision in table.history:
        if decision.state.version > since:
            stored = replace(command, edition=edition) if isinstance(command, do.DealHand) else command
            change = LoggedChange(events=decision.events).SerializeToString()
            log.append(LoggedRow(decision.state.version, 1, now, pack_command(stored), change))
            deck = dealt_deck or deck
    assert deck is not None
    sealed = BOX.seal(deck, table.state.table_id, 1)
    return StoredTable(table.state.table_id, snapshot, 1, BOX.current, sealed, log)


def recovered(table: StoredTable) -> Recovered:
    return Recovery(None, BOX)._recover(table)  # type: ignore[arg-type]  # it reads nothing


def test_a_hand_of_this_release_goes_on() -> None:
    state = recovered(dealt(do.EDITION)).state
    assert state is not None
    assert state.turn is not None


def test_14_4_a_hand_of_a_later_release_is_not_void_here_but_waits_for_a_replica_of_that_release() -> None:
    assert recovered(dealt(do.EDITION + 1)).state is None


def test_2_6_no_card_in_the_text_of_an_error_gets_into_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("'As' is not in list")

    monkeypatch.setattr(recovery, "replay", broken)
    with capture_logs() as logged:
        assert recovered(dealt(do.EDITION)).must_void
    assert [one["why"] for one in logged] == ["ValueError"]
