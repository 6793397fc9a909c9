"""A card room to break: one per test module, whole again before each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.settings import LocalSettings


@pytest.fixture(scope="module")
def stack_options() -> StackOptions:
    """Overridden in a module that needs another shape."""
    return StackOptions(durable=False)


@pytest.fixture(scope="module")
async def module_stack(stack_options: StackOptions, local_settings: LocalSettings) -> AsyncIterator[Stack]:
    """The stack that the tests of one module share."""
    async with Stack(stack_options, progress=Progress(), local_settings=local_settings) as running:
        yield running


@pytest.fixture
async def stack(module_stack: Stack) -> Stack:
    """The module's stack with every process running, awake and ready, whatever the test before did to it."""
    await module_stack.repair()
    return module_stack
