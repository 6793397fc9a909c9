"""The tree is what it says: members, names, sizes."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

_LINES_MAX = 600
_FUNCTION_LINES_MAX = 70
_NAMES_WITHOUT_MEANING = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def test_every_folder_under_libs_and_services_is_a_member(root: Path) -> None:
    workspace = tomllib.loads((root / "pyproject.toml").read_text())
    sources = workspace["tool"]["uv"]["sources"]
    typed = workspace["tool"]["mypy"]["mypy_path"]
    folders = [path for area in ("libs", "services") for path in sorted((root / area).iterdir()) if path.is_dir()]
    assert folders
    for folder in folders:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        assert project["name"] == f"cardroom-{folder.name}", folder
        assert sources.get(project["name"]) == {"workspace": True}, project["name"]
        assert f"$MYPY_CONFIG_FILE_DIR/{folder.relative_to(root)}/src" in typed, folder
        assert (folder / "src" / "cardroom" / folder.name / "py.typed").exists(), folder


def test_no_file_passes_600_lines_and_no_function_70(sources: list[Any]) -> None:
    long = []
    for source in sources:
        if (lines := len(source.path.read_text().splitlines())) > _LINES_MAX:
            long.append(f"{source.place}: {lines} lines")
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > _FUNCTION_LINES_MAX:
                    long.append(f"{source.place}:{node.lineno} {node.name}: {length} lines")
    assert not long, "\n".join(long)


def test_every_module_is_named_for_what_it_holds(sources: list[Any]) -> None:
    vague = [source.place for source in sources if _NAMES_WITHOUT_MEANING & set(source.module.split("."))]
    assert not vague


def test_everything_public_says_what_it_is(sources: list[Any]) -> None:
    silent = []
    for source in sources:
        if source.path.stat().st_size and ast.get_docstring(source.tree) is None:
            silent.append(source.place)
        for node in source.tree.body:
            defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if defines and not node.name.startswith("_") and ast.get_docstring(node) is None:
                silent.append(f"{source.place}:{node.lineno} {node.name}")
    assert not silent, "\n".join(silent)


def test_a_packages_public_names_equal_its_all(sources: list[Any]) -> None:
    """A package that only collects names lists all it collects; one with code of its own, at least what it defines."""
    wrong = []
    for source in sources:
        listed, bound, defined = _listed(source.tree), _bound(source.tree), _defined(source.tree)
        least = set() if not source.is_package else defined or bound
        if not least <= listed <= bound:
            wrong.append(f"{source.place}: not listed {sorted(least - listed)}, not there {sorted(listed - bound)}")
    assert not wrong, "\n".join(wrong)


def _bound(tree: ast.Module) -> set[str]:
    names = _defined(tree)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return {name for name in names if not name.startswith("_")} - {"annotations"}


def _defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def _listed(tree: ast.Module) -> set[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return set()
