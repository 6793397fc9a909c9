"""Imports point one way, decisions stay pure, and each outside thing has one door."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

_SERVICES = ("table", "lobby", "wallet", "clock", "spectator", "gateway")
_PURE = ("cardroom.engine", *(f"cardroom.{service}.domain" for service in _SERVICES))
_OUTSIDE = ("grpc", "asyncpg", "psycopg", "aio_pika", "aiormq", "aiohttp", "asyncio", "uvloop", "cardroom.chassis")
_DOMAIN_MAY_USE = ("cardroom.contracts", "cardroom.engine")

_DOORS = {"environ", "getenv"}

# What a service needs only once it works, or not at all: to verify tokens and serve pages, to migrate, to record spans.
_LATER = ("aiohttp", "joserfc", "psycopg", "yoyo", "opentelemetry.sdk", "rich")

_LOAD = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(found.name)
print("\\n".join(sys.modules))
"""


@pytest.mark.slow
@pytest.mark.parametrize("package", _PURE)
def test_decisions_load_no_network_database_broker_or_event_loop(package: str, root: Path) -> None:
    area = f"libs/{package.split('.')[1]}" if package == "cardroom.engine" else f"services/{package.split('.')[1]}"
    if not (root / area / "src" / Path(*package.split("."))).exists():
        pytest.skip(f"{package} decides nothing")
    loaded = subprocess.run([sys.executable, "-c", _LOAD, package], capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr
    assert not set(_OUTSIDE) & set(loaded.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("service", [service for service in _SERVICES if service != "gateway"])
def test_a_service_begins_its_work_without_loading_what_it_needs_only_later(service: str) -> None:
    code = f"import sys, cardroom.chassis.service, cardroom.{service}.app; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(_LATER) & set(loaded.stdout.split())


def test_a_domain_imports_itself_its_services_errors_contracts_and_engine_only(sources: list[Any]) -> None:
    wrong = []
    for source in sources:
        parts = source.module.split(".")
        if source.member.startswith("services/") and "domain" in parts:
            own = (f"cardroom.{parts[1]}.domain", f"cardroom.{parts[1]}.errors")
            wrong += [
                f"{source.place}: {name}" for name in source.imports() if not name.startswith((*own, *_DOMAIN_MAY_USE))
            ]
    assert not wrong, "\n".join(wrong)


def test_no_service_imports_another(sources: list[Any]) -> None:
    wrong = []
    for source in sources:
        for name in source.imports():
            service = name.split(".")[1] if "." in name else ""
            if service in _SERVICES and source.member != f"services/{service}":
                wrong.append(f"{source.place}: {name}")
    assert not wrong, "\n".join(wrong)


def test_libraries_build_on_each_other_in_one_direction(sources: list[Any]) -> None:
    graph: dict[str, set[str]] = {}
    for source in sources:
        targets = {name.split(".")[1] for name in source.imports() if "." in name}
        graph.setdefault(source.module.split(".")[1], set()).update(targets - {source.module.split(".")[1]})
    _assert_no_cycle(graph)


def test_no_module_imports_itself_in_a_circle(sources: list[Any]) -> None:
    modules = {source.module for source in sources}
    graph = {
        source.module: {_module_of(name, modules) for name in source.imports(at_load_only=True)} - {source.module, ""}
        for source in sources
    }
    _assert_no_cycle(graph)


def test_only_settings_read_the_environment(sources: list[Any]) -> None:
    wrong = []
    for source in sources:
        if source.path.name == "settings.py":
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and node.attr in _DOORS:
                wrong.append(f"{source.place}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and node.module == "os" and _DOORS & {a.name for a in node.names}:
                wrong.append(f"{source.place}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def _module_of(name: str, modules: set[str]) -> str:
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _assert_no_cycle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("imports in a circle: " + " → ".join(error.args[1]))
