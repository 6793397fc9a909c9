"""One running card room for all end-to-end tests of a session."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cardroom.local import Progress, Stack, StackOptions
from cardroom.local.ports import free_port
from cardroom.local.settings import LocalSettings
from tests.e2e.door import Door
from tests.e2e.person import CARDROOM, Person, StartPerson
from tests.e2e.room import Room, held_room
from tests.party import QUICK
from tests.processes import running

GRPCURL = "github.com/fullstorydev/grpcurl/cmd/grpcurl@latest"
BUILD_SECONDS = 120
BY_DEMAND = {"name": "Yew", "small_blind": 13, "seats": 2, "open_seats_min": 1, "tables_max": 3}
"""Stakes at which the lobby of this stack opens tables by itself."""
OPTIONS = StackOptions(
    trace=True,
    durable=False,
    log_level="debug",
    env={
        # Nobody runs out of time while a busy machine thinks.
        "table": {**QUICK, "CARDROOM_TABLE_TURN_MS": "600000"},
        "lobby": {
            "CARDROOM_LOBBY_STAKES": json.dumps([BY_DEMAND]),
            "CARDROOM_LOBBY_DEMAND_LOOK_SECONDS": "0.2",
            "CARDROOM_LOBBY_DEMAND_PATIENCE_SECONDS": "0.5",
        },
        "spectator": {"CARDROOM_SPECTATOR_DELAY_SECONDS_FOR_TESTS_ONLY": "1"},
        # Where Envoy sends its spans; a test that wants them listens there.
        "edge": {"CARDROOM_EDGE_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"},
    },
)
"""How the end-to-end stack differs from a demo: everything it does is written down, pauses are short, watchers are only
a second behind, and a crash of the machine may lose commits."""


@pytest.fixture(scope="session")
def stack_options() -> StackOptions:
    """What the stack of this session is made with."""
    return OPTIONS


@pytest.fixture(scope="session")
async def stack(stack_options: StackOptions, local_settings: LocalSettings) -> AsyncIterator[Stack]:
    """Everything from Postgres to Envoy, with two table replicas."""
    async with Stack(stack_options, progress=Progress(), local_settings=local_settings) as running:
        yield running


@pytest.fixture(scope="session")
async def door(stack: Stack) -> AsyncIterator[Door]:
    """The edge, for calls of every kind."""
    async with Door.open(stack) as opened:
        yield opened


@pytest.fixture(scope="session")
async def grpcurl(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The folder of the tool: installed already, or built now where Go is and can fetch it."""
    found = shutil.which("grpcurl")
    if found is not None:
        yield str(Path(found).parent)
        return
    go, folder = shutil.which("go"), tmp_path_factory.mktemp("go")
    if go is None:
        pytest.skip("there is neither grpcurl nor go here")
    env = {**os.environ, "GOBIN": str(folder)}
    async with running(go, "install", GRPCURL, env=env, stderr=asyncio.subprocess.PIPE) as build:
        try:
            _, complaint = await asyncio.wait_for(build.communicate(), BUILD_SECONDS)
        except TimeoutError:
            pytest.skip(f"grpcurl was not built within {BUILD_SECONDS} s")
    if build.returncode != 0:
        pytest.skip(f"grpcurl cannot be built here: {complaint.decode()[-200:]}")
    yield str(folder)


@pytest.fixture(scope="module")
async def room(door: Door) -> AsyncIterator[Room]:
    """A table held in the middle of a hand, for a module's tests."""
    async with held_room(door) as held:
        yield held


@pytest.fixture
async def start_person(stack: Stack) -> AsyncIterator[StartPerson]:
    """A factory of people who play: `await start_person(folder, "--name", "Ann")`."""
    pipe = asyncio.subprocess.PIPE
    async with AsyncExitStack() as playing:

        async def begin(folder: Path, *options: str) -> Person:
            command = (CARDROOM, "play", "--plain", "--edge", stack.edge_grpc, "--config-dir", str(folder))
            return Person(await playing.enter_async_context(running(*command, *options, stdin=pipe, stdout=pipe)))

        yield begin
