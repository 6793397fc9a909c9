"""`cardroom tables`: what it shows, and what it refuses before it asks anybody."""

from __future__ import annotations

from click.testing import CliRunner
from rich.console import Console

from cardroom.cli import main
from cardroom.cli.tables import grid
from cardroom.contracts.lobby.v1.lobby_pb2 import Table
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Stakes


def test_a_table_is_a_line() -> None:
    stakes = Stakes(
        game=GAME_NO_LIMIT_HOLDEM, small_blind=500, big_blind=1000, min_buy_in=40_000, max_buy_in=100_000, seats=6
    )
    table = Table(name="Maple", stakes=stakes, seats_taken=4, waiting=3, average_pot=2300, hands_per_hour=71)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(grid([table]))
    line = captured.get().splitlines()[1]
    assert line.split() == ["Maple", "holdem", "500/1,000", "4", "of", "6", "3", "40,000-100,000", "2,300", "71"]


def test_an_order_for_a_live_list_is_refused() -> None:
    result = CliRunner().invoke(main, ["tables", "--watch", "--order-by", "name"])
    assert result.exit_code == 2
    assert "--order-by sorts a list that is read once" in result.output


def test_a_game_that_is_none_is_refused() -> None:
    result = CliRunner().invoke(main, ["tables", "--game", "whist"])
    assert result.exit_code == 2
    assert "'holdem', 'omaha'" in result.output
