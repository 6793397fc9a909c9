"""Two people at their terminals: `cardroom play`, driven through pipes and through a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cardroom.client import Client
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Stakes
from cardroom.local import Stack
from tests.e2e.person import CARDROOM, LINE_SECONDS, Person, StartPerson
from tests.processes import running


@pytest.fixture
async def table_name(stack: Stack) -> AsyncIterator[str]:
    async with Client.connect(stack.edge_grpc) as client:
        stakes = Stakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=5, big_blind=10, seats=2)
        operator = client.service(*stack.client_credentials("operator"))
        table = await operator.create_table(f"Play {os.urandom(4).hex()}", stakes)
        yield table.name


async def plays_a_hand(person: Person) -> None:
    while "wins" not in (line := await person.hears("Your turn", "wins")):
        assert re.search(r" · \d+ s \(\+\d+ s bank\)$", line.strip()), f"9.1: the time left is told: {line}"
        person.types("c")


async def test_two_people_play_a_hand_and_leave(start_person: StartPerson, table_name: str, tmp_path: Path) -> None:
    options = ("--table", table_name, "--buy-in", "1000")
    ann = await start_person(tmp_path / "ann", "--name", "Ann", *options)
    bo = await start_person(tmp_path / "bo", "--name", "Bo", *options)
    await asyncio.gather(ann.hears("You sit on seat"), bo.hears("You sit on seat"))
    await asyncio.gather(plays_a_hand(ann), plays_a_hand(bo))
    for person in (ann, bo):
        person.types("q")
        await person.hears("You have left the table")
    assert await ann.ends() == await bo.ends() == 0


async def test_running_it_again_comes_back_to_the_same_seat(
    start_person: StartPerson, table_name: str, tmp_path: Path
) -> None:
    first = await start_person(tmp_path, "--table", table_name, "--buy-in", "1000", "--seat", "2")
    await first.hears("You sit on seat 2")
    assert await first.ends() == 0
    again = await start_person(tmp_path)
    await again.hears("You are back on seat 2")
    again.types("q")
    await again.hears("You have left the table with 1,000")
    assert await again.ends() == 0


async def test_what_is_refused_is_answered_with_a_sentence(
    start_person: StartPerson, table_name: str, tmp_path: Path
) -> None:
    person = await start_person(tmp_path, "--table", table_name)
    await person.hears("How many chips")
    person.types("7")
    await person.hears("400", "1000")
    await person.hears("How many chips")
    person.types("")
    await person.hears("You sit on seat")
    person.types("r 100")
    await person.hears("It is not your turn")
    person.types("nonsense")
    await person.hears("'nonsense' means nothing here")
    person.types("q")
    await person.hears("You have left")
    assert await person.ends() == 0


async def test_on_a_terminal_it_draws_the_table(
    stack: Stack, start_person: StartPerson, table_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ours, theirs = pty.openpty()
    request.addfinalizer(lambda: os.close(ours))
    command = (CARDROOM, "play", "--edge", stack.edge_grpc, "--config-dir", str(tmp_path))
    options = ("--name", "Ann", "--table", table_name, "--buy-in", "1000")
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    async with running(*command, *options, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        await until_drawn(ours, r"Ann \(you\)", "Waiting for more players.")
        os.write(ours, b"?\n")
        await until_drawn(ours, "all-in")
        bo = await start_person(tmp_path / "bo", "--name", "Bo", "--table", table_name, "--buy-in", "1000")
        await bo.hears("You sit on seat")
        # 9.1: everyone sees the actor's time run. Nobody acts here.
        time_left = r"\D(\d+) s \(\+30 s bank\)"
        first = int((await until_drawn(ours, time_left))[1])
        while int((await until_drawn(ours, time_left))[1]) >= first:
            pass
        # Both leave, whoever is to act: the hand would wait for the other one.
        bo.types("q")
        os.write(ours, b"q\n")
        await until_drawn(ours, "You have left the table with")
        assert await asyncio.wait_for(process.wait(), LINE_SECONDS) == 0


async def until_drawn(terminal: int, *patterns: str) -> re.Match[str]:
    """Reads the screen until all patterns were drawn on it; returns where the last one is."""
    drawn = ""
    found: list[re.Match[str] | None] = [None]
    async with asyncio.timeout(LINE_SECONDS):
        while not all(found := [re.search(pattern, drawn) for pattern in patterns]):
            drawn += (await asyncio.to_thread(os.read, terminal, 65536)).decode(errors="replace")
    last = found[-1]
    assert last is not None
    return last
