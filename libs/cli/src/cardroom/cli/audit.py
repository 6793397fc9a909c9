"""`cardroom audit`: checks every chip of a running card room, and says what it found."""

from __future__ import annotations

import asyncio
import sys

import click
from rich.console import Console
from rich.table import Table

from cardroom.cli.explain import explained_for
from cardroom.client import CardroomError, Client
from cardroom.client.service import ServiceClient
from cardroom.contracts.wallet.v1.ledger_pb2 import RunAuditResponse

SECRET_HELP = "The client's secret. Better given as CARDROOM_CLIENT_SECRET."  # noqa: S105 - a help text
TOKEN_HELP = "An access token with the scope wallet.read, instead of a client. Better given as CARDROOM_TOKEN."  # noqa: S105


@click.command()
@click.option("--edge", default="localhost:8080", show_default=True, help="The card room's address.")
@click.option("--client-id", default="operator", show_default=True, envvar="CARDROOM_CLIENT_ID", help="Who asks.")
@click.option("--client-secret", default="", envvar="CARDROOM_CLIENT_SECRET", help=SECRET_HELP)
@click.option("--token", default="", envvar="CARDROOM_TOKEN", help=TOKEN_HELP)
@click.option("--from-start", is_flag=True, help="Check everything again, not only what is new since the last audit.")
def audit(*, edge: str, client_id: str, client_secret: str, token: str, from_start: bool) -> None:
    """Check the books: every chip of every currency.

    Exits with 0 when all is right, 1 when something is wrong, 2 when the audit could not be made.
    """
    if not token and not client_secret:
        raise click.UsageError("say who you are: set CARDROOM_TOKEN, or CARDROOM_CLIENT_ID and CARDROOM_CLIENT_SECRET")
    try:
        found = asyncio.run(_ask(edge, client_id, client_secret, token, from_start))
    except CardroomError as error:
        click.echo(f"✗ the audit could not be made: {explained_for(error, edge)}", err=True)
        sys.exit(2)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--edge") from None
    show(found, Console())
    sys.exit(0 if found.passed else 1)


async def _ask(edge: str, client_id: str, client_secret: str, token: str, from_start: bool) -> RunAuditResponse:
    async with Client.connect(edge) as client:
        asker: ServiceClient = client.service_with_token(token) if token else client.service(client_id, client_secret)
        return await asker.audit(from_start=from_start)


def show(found: RunAuditResponse, console: Console) -> None:
    """Print the checks, the currencies, and the first thing wrong."""
    console.print(_checks(found))
    console.print(_currencies(found))
    if found.waiting_hands:
        console.print(f"{found.waiting_hands} hands have come in and are not settled yet")
    wrong = next((check for check in found.checks if not check.passed), None)
    if wrong is None:
        console.print(
            f"✓ the books are right, up to position {found.verified_position or '0'} ({found.duration_ms} ms)"
        )
    else:
        console.print(f"✗ first thing wrong, {wrong.name}: {wrong.first_failure}", markup=False)


def _checks(found: RunAuditResponse) -> Table:
    table = Table("", "check", "what must be so", "checked", box=None)
    table.columns[3].justify = "right"
    for check in found.checks:
        mark = "[green]✓" if check.passed else "[red]✗"
        table.add_row(mark, check.name, check.rule, f"{check.checked:,}")
    return table


def _currencies(found: RunAuditResponse) -> Table:
    names = ("currency", "granted", "adjusted", "players", "at tables", "house", "difference")
    table = Table(*names, box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for it in found.currencies:
        numbers = (it.granted, it.adjusted, it.players, it.escrow, it.house, it.difference)
        table.add_row(it.currency, *(f"{number:,}" for number in numbers))
    return table
