"""What is stored comes back as it was."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1.storage_pb2 import LoggedCommand, LoggedOpenTable, Pace
from cardroom.engine.blinds import Debt
from cardroom.table.domain import commands as do
from cardroom.table.domain.commands import Token
from cardroom.table.domain.errors import ReplayMismatch
from cardroom.table.records import pack_command, pack_table, unpack_command, unpack_table
from tests.unit.table.driver import CALL, FOLD, RAISE, STAKES, Driver, player_id

COMMANDS: list[do.Command] = [
    do.OpenTable(player_id(1), "Name", STAKES, do.Pace(1, 2, 3, 4, 5, 6)),
    do.CloseTable(),
    do.SeatPlayer("s", player_id(1), "A", 3, 500, 12_000, 8),
    do.EndSeating("s"),
    do.Act(player_id(1), Token(3, 4), RAISE, 60),
    do.Act(player_id(1), Token(3, 4), FOLD, 0),
    do.SitOut(player_id(1), 17),
    do.ComeBack(player_id(1), 18),
    do.StartTimeBank(Token(3, 4), 7, 1_700_000_000_123),
    do.EndTurn(Token(3, 4), 7),
    do.DealHand(7, 123_456),
    do.DealHand(7, 123_456, 0),
    do.SetTimeBank(player_id(1), 5_000, 9),
    do.RestartTurn(),
    do.SetConnected(player_id(1), True),
    do.SetConnected(player_id(1), False),
    do.JudgeAbsence(player_id(1), 12, True),
    do.TakeOver(),
    do.VoidHand(),
    do.TopUp("s", "t", 500),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_a_command_comes_back(command: do.Command) -> None:
    assert unpack_command(pack_command(command)) == command


def test_every_command_has_a_stored_form() -> None:
    assert {type(command) for command in COMMANDS} == set(do.Command.__args__)


def test_a_command_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ReplayMismatch, match="does not know"):
        unpack_command(b"")


def test_a_table_between_hands_comes_back() -> None:
    table = Driver(1000, 500, 200)
    table.deal()
    table.act(CALL)
    table.time_out()
    table.fold_out()
    table.do(do.SitOut(player_id(2)))
    table.do(do.SetTimeBank(player_id(1), 7_000, 3))
    table.seat(5, 300)
    table.do(do.SetConnected(player_id(3), False))
    stored = unpack_table(pack_table(table.state))
    stored.answered = table.state.answered  # older answers are in the log
    assert stored == table.state
    assert stored.positions.debt(5) == Debt.BIG


def test_a_pace_of_before_absences_were_timed_has_the_usual_times() -> None:
    logged = LoggedCommand(open_table=LoggedOpenTable(table_id="t", pace=Pace(turn_ms=1)))
    command = unpack_command(logged.SerializeToString())
    assert isinstance(command, do.OpenTable)
    assert command.pace == do.Pace(1, 0, 0)


def test_a_new_table_comes_back() -> None:
    table = Driver()
    assert unpack_table(pack_table(table.state)) == table.state


def test_a_table_in_a_hand_is_not_pictured() -> None:
    table = Driver(1000, 1000)
    table.deal()
    with pytest.raises(AssertionError):
        pack_table(table.state)
