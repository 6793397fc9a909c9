"""`cardroom play`: a terminal client for a person."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from cardroom.cli.explain import explained_for
from cardroom.cli.play.arriving import Choices
from cardroom.cli.play.game import Game
from cardroom.cli.play.guest_file import GuestFile
from cardroom.cli.play.terminal import PlainTerminal, ScreenTerminal, Terminal
from cardroom.client import CardroomError, Client

__all__ = ["play"]


@click.command()
@click.option("--edge", default="localhost:8080", show_default=True, help="The card room's address.")
@click.option("--name", default="", help="The name others see, for a new guest. Default: one is made up.")
@click.option("--table", "table", default="", help="Sit down at this table (name or id) without asking.")
@click.option("--stakes", default="", help="Sit down at the fullest table at these blinds, such as 10/20.")
@click.option("--buy-in", type=click.IntRange(min=1), help="Sit down with so many chips without asking.")
@click.option("--seat", type=click.IntRange(0, 9), default=0, help="Which seat. Default: any free one.")
@click.option("--new", is_flag=True, help="Play as a new guest; forget the one kept from last time.")
@click.option("--plain", is_flag=True, help="Lines of text only, no screen: for pipes and for screen readers.")
@click.option(
    "--config-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: Path(click.get_app_dir("cardroom")),
    show_default="cardroom in your configuration folder",
    help="Where the guest's token is kept, so that you come back to the same seat.",
)
def play(
    *,
    edge: str,
    name: str,
    table: str,
    stakes: str,
    buy_in: int | None,
    seat: int,
    new: bool,
    plain: bool,
    config_dir: Path,
) -> None:
    """Sit down at a table and play; where none has a free seat, wait for one."""
    if table and stakes:
        raise click.UsageError("--table names one table and --stakes any at these blinds: leave one out")
    is_screen = not plain and sys.stdin.isatty() and sys.stdout.isatty()
    terminal: Terminal = ScreenTerminal() if is_screen else PlainTerminal()
    guest_file = GuestFile(config_dir, edge)
    if new:
        guest_file.forget()
    choices = Choices(name=name, table=table or stakes, buy_in=buy_in, seat=seat)
    try:
        asyncio.run(_play(edge, guest_file, choices, terminal))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except CardroomError as error:
        raise click.ClickException(explained_for(error, edge)) from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--edge") from None


async def _play(edge: str, guest_file: GuestFile, choices: Choices, terminal: Terminal) -> None:
    async with Client.connect(edge) as client:
        with terminal:
            await Game(client, guest_file, choices, terminal).run()
