"""`cardroom demo`: the whole card room on this machine, with bots, until Ctrl-C or for so many hands."""

from __future__ import annotations

import asyncio
import sys

import click
from rich.console import Console

from cardroom.local import LocalError
from cardroom.local.demo import DemoOptions, run_demo


@click.command()
@click.option("--hands", type=click.IntRange(min=1), help="Stop after so many hands and audit the books.")
@click.option("--table-replicas", type=click.IntRange(1, 10), default=2, show_default=True)
@click.option("--keep-logs", is_flag=True, help="Keep every process's log when it is over.")
def demo(hands: int | None, table_replicas: int, keep_logs: bool) -> None:
    """Run a card room with bots on this machine.

    Exits with 0 when it ended as asked and the audit holds.
    """
    options = DemoOptions(hands=hands, table_replicas=table_replicas, keep_logs=keep_logs)
    try:
        sys.exit(asyncio.run(run_demo(options, Console())))
    except LocalError as error:
        click.echo(f"✗ {error}", err=True)
        sys.exit(1)
