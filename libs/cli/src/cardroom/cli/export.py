"""`cardroom export`: recorded hands of ours as PHH."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import click

from cardroom.engine import codec, phh
from cardroom.engine.errors import EngineError

__all__ = ["export"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.File("r", encoding="utf-8"))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not to the screen.")
def export(files: tuple[TextIO, ...], output: Path | None) -> None:
    """Write finished hands as PHH, which other tools read.

    FILES hold the events of hands as JSON lines ("-" is standard input). One hand gives a .phh document, several a
    .phhs.
    """
    try:
        documents = [phh.export(events) for file in files for events in codec.load_lines(file)]
    except EngineError as error:
        raise click.ClickException(f"{error.reason}: {error}") from None
    if not documents:
        raise click.ClickException("no hand in the input")
    text = _joined(documents)
    if output is None:
        click.echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.FileError(str(output), error.strerror or str(error)) from None


def _joined(documents: Iterable[str]) -> str:
    hands = list(documents)
    if len(hands) == 1:
        return hands[0]
    return "\n".join([f"[{number}]\n{hand}" for number, hand in enumerate(hands, 1)])
