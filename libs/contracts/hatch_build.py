"""Hatch build hook: generates the Python code of every proto when the package is built or installed."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ContractsBuildHook(BuildHookInterface):
    """Runs the generator before hatch collects the files of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate; the files are not in git, so hatch must be told to ship them."""
        sys.path.insert(0, str(Path(self.root)))
        from build_contracts import generate  # noqa: PLC0415  (beside this file, importable only from here on)

        generate()
        build_data["artifacts"].append("src/cardroom/contracts/**")
