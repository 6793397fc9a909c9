"""Two people at their terminals: `cardroom play`, driven through pipes and through a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cardroom.client import Client
from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Stakes
from cardroom.local import Stack

LINE_SECONDS = 80.0
"""Longer than the longest turn, 20 s and a time bank of 30 s, of another player."""
CARDROOM = str(Path(sys.executable).with_name("cardroom"))


class Person:
    """One `cardroom play --plain`, with what it said and what is answered."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    @classmethod
    async def start(cls, stack: Stack, folder: Path, *options: str) -> Person:
        pipe = asyncio.subprocess.PIPE
        command = (CARDROOM, "play", "--plain", "--edge", stack.edge_grpc, "--config-dir", str(folder))
        return cls(await asyncio.create_subprocess_exec(*command, *options, stdin=pipe, stdout=pipe))

    async def hears(self, *parts: str) -> str:
        """The next line that holds one of the parts."""
        assert self.process.stdout is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINE_SECONDS):
                while line := (await self.process.stdout.readline()).decode():
                    self.said.append(line)
                    if any(part in line for part in parts):
                        return line
        pytest.fail(f"{parts} were never said; what was said:\n{''.join(self.said)}")

    def types(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())

    async def ends(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), LINE_SECONDS)


@pytest.fixture
async def table_name(stack: Stack) -> AsyncIterator[str]:
    async with Client.connect(stack.edge_grpc) as client:
        stakes = Stakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=5, big_blind=10, seats=2)
        operator = client.service(*stack.client_credentials("operator"))
        table = await operator.create_table(f"Play {os.urandom(4).hex()}", stakes)
        yield table.name


async def plays_a_hand(person: Person) -> None:
    while "wins" not in await person.hears("Your turn", "wins"):
        person.types("c")


async def test_two_people_play_a_hand_and_leave(stack: Stack, table_name: str, tmp_path: Path) -> None:
    options = ("--table", table_name, "--buy-in", "1000")
    ann = await Person.start(stack, tmp_path / "ann", "--name", "Ann", *options)
    bo = await Person.start(stack, tmp_path / "bo", "--name", "Bo", *options)
    await asyncio.gather(ann.hears("You sit on seat"), bo.hears("You sit on seat"))
    await asyncio.gather(plays_a_hand(ann), plays_a_hand(bo))
    for person in (ann, bo):
        person.types("q")
        await person.hears("You have left the table")
    assert await ann.ends() == await bo.ends() == 0


async def test_running_it_again_comes_back_to_the_same_seat(stack: Stack, table_name: str, tmp_path: Path) -> None:
    first = await Person.start(stack, tmp_path, "--table", table_name, "--buy-in", "1000", "--seat", "2")
    await first.hears("You sit on seat 2")
    assert await first.ends() == 0
    again = await Person.start(stack, tmp_path)
    await again.hears("You are back on seat 2")
    again.types("q")
    await again.hears("You have left the table with 1,000")
    assert await again.ends() == 0


async def test_what_is_refused_is_answered_with_a_sentence(stack: Stack, table_name: str, tmp_path: Path) -> None:
    person = await Person.start(stack, tmp_path, "--table", table_name)
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


async def test_on_a_terminal_it_draws_the_table(stack: Stack, table_name: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = (CARDROOM, "play", "--edge", stack.edge_grpc, "--config-dir", str(tmp_path))
    options = ("--name", "Ann", "--table", table_name, "--buy-in", "1000")
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    process = await asyncio.create_subprocess_exec(
        *command, *options, stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    try:
        await until_drawn(ours, "Ann (you)", "Waiting for more players.")
        os.write(ours, b"?\n")
        await until_drawn(ours, "all-in")
        os.write(ours, b"q\n")
        await until_drawn(ours, "You have left the table with 1,000")
        assert await asyncio.wait_for(process.wait(), LINE_SECONDS) == 0
    finally:
        if process.returncode is None:
            process.kill()
        os.close(ours)


async def until_drawn(terminal: int, *parts: str) -> None:
    """Reads the screen until all parts were drawn on it."""
    drawn = ""
    async with asyncio.timeout(LINE_SECONDS):
        while not all(part in drawn for part in parts):
            drawn += (await asyncio.to_thread(os.read, terminal, 65536)).decode(errors="replace")
