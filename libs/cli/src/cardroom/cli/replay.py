"""`cardroom replay`: play recorded hands through the engine and compare the stacks."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from cardroom.engine import phh
from cardroom.engine.errors import PhhError
from cardroom.engine.phh import ReplayResult

__all__ = ["replay"]

_LONG_RUN = 2_000  # hands from which a progress bar is worth its line


@click.command(short_help="Replay PHH files and compare finishing stacks.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a hand.")
@click.option("--summary", is_flag=True, help="Print totals; with --json they go to standard error.")
def replay(files: tuple[Path, ...], as_json: bool, summary: bool) -> None:
    """Replay PHH files (.phh, .phhs; variants NT and PO) and compare finishing stacks.

    Exits with 0 only if every hand is legal to its end and no stacks differ, else with 1.
    """
    totals: Counter[str] = Counter()
    for path, result in _results(files, decisions=as_json):
        totals[_outcome(result)] += 1
        if as_json:
            click.echo(json.dumps(result.as_json()))
        elif not summary or _is_bad(result):
            click.echo(_line(path, result))
    if summary:
        click.echo(_totals(totals), err=as_json)
    if totals["refused"] or totals["different"]:
        sys.exit(1)


def _results(files: tuple[Path, ...], *, decisions: bool) -> Iterator[tuple[Path, ReplayResult]]:
    for path in files:
        try:
            hands = list(phh.read(path))
        except (OSError, PhhError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            yield path, ReplayResult(None, error=f"BAD_FILE: {why}")
            continue
        hidden = len(hands) < _LONG_RUN or not sys.stderr.isatty()
        with click.progressbar(hands, label=path.name, file=sys.stderr, hidden=hidden) as bar:
            for label, record in bar:
                if isinstance(record, PhhError):
                    yield path, ReplayResult(label, error=f"{record.reason}: {record}")
                else:
                    yield path, phh.replay(record, decisions=decisions)


def _outcome(result: ReplayResult) -> str:
    if not result.ok:
        return "refused"
    if result.matches is False:
        return "different"
    return "complete" if result.complete else "unfinished"


def _is_bad(result: ReplayResult) -> bool:
    return _outcome(result) in ("refused", "different")


def _line(path: Path, result: ReplayResult) -> str:
    where = path.name if result.label is None else f"{path.name} hand {result.label}"
    match _outcome(result):
        case "refused":
            at = "" if result.at is None else f" at action {result.at}"
            return f"{where}: refused{at}: {result.error}"
        case "different":
            return f"{where}: stacks {result.finishing_stacks}, recorded {result.expected}"
        case "unfinished":
            return f"{where}: ok, unfinished"
        case _:
            return f"{where}: ok" + ("" if result.matches else ", no stacks recorded")


def _totals(totals: Counter[str]) -> str:
    parts = [f"{totals[name]} {name}" for name in ("complete", "unfinished", "different", "refused")]
    return f"{totals.total()} hands: " + ", ".join(parts)
