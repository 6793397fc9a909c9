"""The source as the tests of this folder see it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Source:
    """One Python file of a member."""

    path: Path
    module: str

    @property
    def member(self) -> str:
        """`libs/engine`, `services/table`."""
        return "/".join(self.path.relative_to(ROOT).parts[:2])

    @property
    def is_package(self) -> bool:
        """Whether the file is a package's `__init__`."""
        return self.path.name == "__init__.py"

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.path.read_text(), str(self.path))

    def imports(self, *, at_load_only: bool = False) -> set[str]:
        """Every `cardroom` module or name that it imports, fully written; optionally only what loading it imports."""
        found: set[str] = set()
        for node in _loaded(self.tree) if at_load_only else ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        return {name for name in found if name.split(".")[0] == "cardroom"}


def _loaded(tree: ast.Module) -> list[ast.stmt]:
    """The statements that run when the module is loaded, without those for type checkers."""
    found: list[ast.stmt] = []
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        found.append(node)
        if isinstance(node, ast.Try):
            todo += node.body
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            todo += node.body + node.orelse
    return found


def _sources() -> list[Source]:
    found = []
    for folder in sorted([*ROOT.glob("libs/*/src"), *ROOT.glob("services/*/src")]):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not module.startswith("cardroom.contracts.") and "_contracts_staging" not in parts:
                found.append(Source(path, module))
    return found


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every file of every member; generated contracts are left out."""
    return _sources()
