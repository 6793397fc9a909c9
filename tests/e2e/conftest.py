"""One running card room for all end-to-end tests of a session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.settings import LocalSettings


@pytest.fixture(scope="session")
def stack_options() -> StackOptions:
    """How the end-to-end stack differs from a demo: spans go to files, and a crash of the machine may lose commits."""
    return StackOptions(trace=True, durable=False)


@pytest.fixture(scope="session")
async def stack(stack_options: StackOptions, local_settings: LocalSettings) -> AsyncIterator[Stack]:
    """Everything from Postgres to Envoy, with two table replicas."""
    async with Stack(stack_options, progress=Progress(), local_settings=local_settings) as running:
        yield running
