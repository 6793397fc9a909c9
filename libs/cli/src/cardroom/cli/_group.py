"""The command group. A subcommand's module is imported only when it is asked for, so that each starts quickly."""

from __future__ import annotations

import importlib
import importlib.util

import click

# name → module of a click command with the same name.
_COMMANDS = {
    "audit": "cardroom.cli.audit",
    "demo": "cardroom.cli.demo",
    "export": "cardroom.cli.export",
    "play": "cardroom.cli.play",
    "replay": "cardroom.cli.replay",
    "tables": "cardroom.cli.tables",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for name in _COMMANDS if self.get_command(ctx, name) is not None)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None or importlib.util.find_spec(module) is None:
            return None
        command = getattr(importlib.import_module(module), cmd_name)
        return command if isinstance(command, click.Command) else None


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cardroom-cli", prog_name="cardroom")
def main() -> None:
    """A play-money poker backend: run it, play on it, check its books."""
