"""`cardroom tables`: the tables on offer, once or live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table as Grid

from cardroom.cli.explain import explained_for
from cardroom.cli.play.guest_file import GuestFile
from cardroom.client import CardroomError, Client, PlayerClient, UnauthenticatedError
from cardroom.contracts.lobby.v1.lobby_pb2 import Table, TableFilter
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, GAME_POT_LIMIT_OMAHA

__all__ = ["grid", "tables"]

_GAMES = {"holdem": GAME_NO_LIMIT_HOLDEM, "omaha": GAME_POT_LIMIT_OMAHA}
_NAMES = {game: name for name, game in _GAMES.items()}


@click.command()
@click.option("--edge", default="localhost:8080", show_default=True, help="The card room's address.")
@click.option("--game", type=click.Choice(list(_GAMES)), multiple=True, help="Only this game; may be given again.")
@click.option("--blind", type=click.IntRange(min=1), help="Only tables with this small blind.")
@click.option("--seats", type=click.IntRange(2, 9), help="Only tables with so many seats.")
@click.option("--free", is_flag=True, help="Only tables with a free seat.")
@click.option("--players", type=click.IntRange(min=0), help="Only tables with at least so many players.")
@click.option("--order-by", default="", help='Such as "seats_taken desc, name". Default: by small blind, then name.')
@click.option("--watch", is_flag=True, help="Stay, and show what changes.")
@click.option(
    "--config-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: Path(click.get_app_dir("cardroom")),
    show_default="cardroom in your configuration folder",
    help="Where the token of the guest who looks is kept.",
)
def tables(
    *,
    edge: str,
    game: Sequence[str],
    blind: int | None,
    seats: int | None,
    free: bool,
    players: int | None,
    order_by: str,
    watch: bool,
    config_dir: Path,
) -> None:
    """Show the tables on offer."""
    if watch and order_by:
        raise click.UsageError("--order-by sorts a list that is read once: leave it or --watch out")
    wanted = TableFilter(
        games=[_GAMES[name] for name in game],
        small_blind_min=blind,
        small_blind_max=blind,
        seats_min=seats,
        seats_max=seats,
        players_min=players,
        free_seats_min=1 if free else None,
    )
    # A guest of its own: one that plays meanwhile would have to sign in again.
    guest_file = GuestFile(config_dir / "tables", edge)
    try:
        asyncio.run(_show(edge, guest_file, wanted, order_by, watch=watch))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except CardroomError as error:
        raise click.ClickException(explained_for(error, edge)) from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--edge") from None


async def _show(edge: str, guest_file: GuestFile, wanted: TableFilter, order_by: str, *, watch: bool) -> None:
    console = Console()
    async with Client.connect(edge) as client:
        player = await _guest(client, guest_file)
        if not watch:
            console.print(grid(await player.tables(wanted, order_by=order_by)))
            return
        async with player.watch_tables(wanted) as session:
            with Live(console=console, auto_refresh=False) as live:
                async for update in session:
                    live.update(grid(session.in_order), refresh=True)
                    if not console.is_terminal:
                        console.print(grid(update.changed), *update.removed, sep="\n")


async def _guest(client: Client, guest_file: GuestFile) -> PlayerClient:
    kept = guest_file.load()
    if kept is not None:
        try:
            return await client.resume(kept, on_change=guest_file.save)
        except UnauthenticatedError:
            guest_file.forget()
    return await client.sign_in_as_guest(on_change=guest_file.save)


def grid(found: Sequence[Table]) -> Grid:
    """The tables, one a line."""
    made = Grid("table", "game", "blinds", "seated", "waiting", "buy-in", "average pot", "hands/h", box=None)
    for column in made.columns[2:]:
        column.justify = "right"
    for table in found:
        stakes = table.stakes
        made.add_row(
            table.name,
            _NAMES.get(stakes.game, str(stakes.game)),
            f"{stakes.small_blind:,}/{stakes.big_blind:,}",
            f"{table.seats_taken} of {stakes.seats}",
            str(table.waiting),
            f"{stakes.min_buy_in:,}-{stakes.max_buy_in:,}",
            f"{table.average_pot:,}",
            str(table.hands_per_hour),
        )
    return made
