"""What every test shares: which folders are slow by nature, and the choices of this machine."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from cardroom.local import Stack, settings
from cardroom.local.settings import LocalSettings

_TESTS = Path(__file__).parent
# Cheap tests first, so that a mistake is seen within seconds.
_ORDER = ("unit", "scenarios", "integration", "e2e", "faults", "bench")
_SLOW = ("integration", "e2e", "faults", "bench")
_TIMEOUT_SECONDS = {"e2e": 240, "faults": 240, "bench": 600}
# `pytest --hypothesis-profile=deep tests/unit/table/test_life.py` searches for minutes instead of seconds.
hypothesis_settings.register_profile("deep", max_examples=2_000)


def _area(item: pytest.Item) -> str:
    parts = item.path.relative_to(_TESTS).parts
    return parts[0] if parts else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the areas from fast to slow; mark those that need real servers as slow and give them time."""
    items.sort(key=lambda item: _ORDER.index(_area(item)) if _area(item) in _ORDER else len(_ORDER))
    for item in items:
        area = _area(item)
        if area in _SLOW:
            item.add_marker(pytest.mark.slow)
        if area in _TIMEOUT_SECONDS and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_SECONDS[area]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of the processes' logs with a test that failed on a running stack."""
    report = yield
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        for name, process in stack.processes.items():
            report.sections.append((f"the end of {name}'s log", process.tail()))
    return report


@pytest.fixture(scope="session")
def local_settings() -> LocalSettings:
    """The choices of this machine: containers or not, image names, where runs live."""
    return settings.load()
