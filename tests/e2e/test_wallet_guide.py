"""The first transfers of the wallet's guide for other teams are made word for word, so that the guide stays true."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cardroom.local import Stack
from cardroom.local.demo.books import sandbox_tokens
from tests.e2e.door import Door
from tests.processes import running

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "services/wallet/README.md").read_text()
POT, PLAYER = "house/spring-event/play", "player/11111111-2222-4333-8444-555555555555/play"
RUN_SECONDS = 90


def block(language: str, about: str) -> str:
    """The guide's one code block in a language that is about something."""
    (found,) = [it for it in re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL) if about in it]
    return str(found)


@pytest.fixture(scope="module")
async def environment(stack: Stack, door: Door) -> dict[str, str]:
    """What the guide has a team export, and no more of the project than its folder."""
    tokens = await sandbox_tokens(door.client, stack.client_credentials("sandbox"))
    return {**os.environ, "CARDROOM_TOKEN": tokens.access_token, "EDGE": stack.edge_grpc}


async def printed(*command: str, env: dict[str, str]) -> str:
    """What a command prints; it must succeed."""
    pipe = asyncio.subprocess.PIPE
    async with running(*command, env=env, stdout=pipe, stderr=pipe, cwd=ROOT) as started:
        output, complaint = await asyncio.wait_for(started.communicate(), RUN_SECONDS)
    assert (started.returncode, complaint.decode()) == (0, "")
    return output.decode()


def replies(output: str) -> list[Any]:
    """The JSON values of an output, one after the other."""
    found, decoder = [], json.JSONDecoder()
    while output := output.lstrip():
        value, end = decoder.raw_decode(output)
        found.append(value)
        output = output[end:]
    return found


@pytest.fixture(scope="module")
async def curled(environment: dict[str, str]) -> list[Any]:
    """What the lines with curl print, asked once."""
    return replies(await printed("bash", "-c", block("sh", "curl -sS"), env=environment))


async def test_curl_makes_the_transfer_once(environment: dict[str, str], curled: list[Any]) -> None:
    opened, granted, moved, shown = curled
    assert opened["balance"]["account"] == shown["balance"]["account"] == POT
    assert (granted["transfer"]["reason"], granted["balance"]["available"]) == ("budget", "50000")
    assert (moved["debit_balance"]["available"], moved["credit_balance"]["available"]) == ("49500", "10500")
    assert replies(await printed("bash", "-c", block("sh", "curl -sS"), env=environment)) == curled


async def test_grpcurl_gets_the_same_answers(environment: dict[str, str], curled: list[Any], grpcurl: str) -> None:
    path = {**environment, "PATH": f"{grpcurl}:{environment['PATH']}"}
    opened, granted, moved = replies(await printed("bash", "-c", block("sh", "grpcurl -plaintext"), env=path))
    assert opened["balance"]["account"] == POT
    assert granted["transfer"]["transfer_id"] == curled[1]["transfer"]["transfer_id"]
    assert moved["transfer"]["transfer_id"] == curled[2]["transfer"]["transfer_id"]
    assert [it["account"] for it in moved["transfer"]["entries"]] == [POT, PLAYER]


async def test_the_python_gets_the_same_answer(environment: dict[str, str], curled: list[Any], tmp_path: Path) -> None:
    script = tmp_path / "prize.py"
    script.write_text(block("python", "wallet.transfer").replace("localhost:8080", environment["EDGE"]))
    said = await printed(sys.executable, str(script), env=environment)
    assert said == f"{curled[2]['transfer']['transfer_id']} 49500\n"
