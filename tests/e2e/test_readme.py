"""What the README says to try is tried, word for word, so that it stays true. Only the address is the stack's own."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cardroom.contracts.table.v1.view_pb2 import GAME_NO_LIMIT_HOLDEM, Stakes
from cardroom.gateway.envoy.surface import PUBLIC
from cardroom.local import Stack, StackOptions
from cardroom.local.plan import Plan
from tests.e2e.door import Door
from tests.party import eventually
from tests.processes import running

README = Path(__file__).parents[2] / "README.md"
RUN_SECONDS = 90
MARK = "=== end of line"


@dataclass(frozen=True)
class Said:
    """One line of a shell block, what it printed, and how it ended."""

    line: str
    output: str
    code: int

    @property
    def body(self) -> Any:
        """The JSON that it printed."""
        return json.loads(self.output)


def blocks(language: str) -> list[str]:
    """The README's code blocks in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def lines(tool: str) -> list[str]:
    """The lines of the shell block that is about a tool."""
    (block,) = [block for block in blocks("sh") if re.search(rf"^{tool} ", block, re.MULTILINE)]
    return [line for line in block.splitlines() if line and not line.startswith("#")]


async def run(stack: Stack, script: list[str], *, path: str = "") -> list[Said]:
    """Run lines in one shell. Of a stream, the first lines are enough."""
    written = []
    for line in script:
        here = line.replace("localhost:8080", stack.edge_grpc)
        endless = "curl -sN" in line or line.endswith("/Watch")
        written.append(f"head -n {1 if 'curl -sN' in line else 3} < <(timeout 15 {here} 2>&1)" if endless else here)
        written.append(f'echo; echo "{MARK} $?"')
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    command, pipe = ("bash", "-c", "\n".join(written)), asyncio.subprocess.PIPE
    async with running(*command, env=env, stdout=pipe, stderr=asyncio.subprocess.STDOUT) as shell:
        printed, _ = await asyncio.wait_for(shell.communicate(), RUN_SECONDS)
    parts = re.split(rf"\n{MARK} (\d+)\n", printed.decode())
    outputs = zip(script, parts[0::2], parts[1::2], strict=False)
    said = [Said(line, output.strip(), int(code)) for line, output, code in outputs]
    assert len(said) == len(script), printed.decode()
    return said


@pytest.fixture(scope="module", autouse=True)
async def first_table(stack: Stack, door: Door) -> str:
    """A table like the demo's first one: the cheapest, so that it leads the list."""
    stakes = Stakes(game=GAME_NO_LIMIT_HOLDEM, small_blind=1, big_blind=2, min_buy_in=40, max_buy_in=200, seats=6)
    operator = door.client.service(*stack.client_credentials("operator"))
    return (await operator.create_table("Larch", stakes)).table_id


@pytest.fixture(scope="module")
async def curled(stack: Stack) -> list[Said]:
    """What the lines with curl print."""
    return await run(stack, lines("curl"))


def test_every_line_with_curl_does_what_it_says(curled: list[Said]) -> None:
    for said in curled:
        assert said.code == 0, said
        if not said.line.startswith("curl"):
            assert said.output == "", said
        elif "-sN" in said.line:
            assert "version" in json.loads(said.output.removeprefix("data: ")), said
        elif "/actions" in said.line:
            # A turn of another hand, or of nobody: the answer shows what a refusal looks like.
            assert said.body["details"][0]["reason"] in {"NOT_YOUR_TURN", "LATE_TURN"}, said
        else:
            assert "code" not in said.body, said


def test_the_lines_with_curl_tell_of_one_guest_at_one_table(curled: list[Said], first_table: str) -> None:
    by_path = {re.sub(r".*\$EDGE(/\S*).*", r"\1", said.line): said for said in curled if said.line.startswith("curl")}
    assert by_path["/v1/me"].body["player"]["display_name"] == "Ann"
    assert by_path["/v1/wallet/balance"].body["balance"]["available"] == "10000"
    seating = by_path["/v1/tables/$TABLE/sit-down"].body["seating"]
    assert (seating["buy_in"], seating["state"]) == ("200", "SEATING_STATE_SEATED")
    assert by_path["/v1/tables/$TABLE/leave"].body["seating"]["seating_id"] == seating["seating_id"]
    snapshot = json.loads(by_path["/v1/tables/$TABLE/play"].output.removeprefix("data: "))["snapshot"]
    assert "own_cards" in snapshot
    assert snapshot["view"]["stakes"]["big_blind"] == "2"


async def test_every_line_with_grpcurl_does_what_it_says(stack: Stack, curled: list[Said], grpcurl: str) -> None:
    assert curled
    # The token and the table come from the lines before, but nobody has to sit down again for them.
    before = [line for line in lines("curl") if re.match(r"[A-Z]+=", line)]
    said = (await run(stack, [*before, *lines("grpcurl")], path=grpcurl))[len(before) :]
    assert {one.code for one in said} == {0}, said
    listed, described = said[0].output.split(), said[1].output
    assert set(PUBLIC) <= set(listed)
    assert "rpc Act (" in described
    for one in said[2:]:
        if one.line.endswith("/Watch"):
            assert one.output.startswith('{\n  "version"'), one
        elif one.line.startswith("grpcurl"):
            assert isinstance(one.body, dict), one


async def test_the_python_plays(stack: Stack) -> None:
    (snippet,) = blocks("python")
    code = compile(
        snippet.replace("localhost:8080", stack.edge_grpc), "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    )
    rooms: list[dict[str, Any]] = [{}, {}]

    async def play(room: dict[str, Any]) -> None:
        running = eval(code, room)
        assert inspect.iscoroutine(running)
        await running

    async def hand_over() -> bool:
        for one in playing:
            if one.done():
                await one
        return all("table" in room and room["table"].view.hand.is_over for room in rooms)

    playing = [asyncio.create_task(play(room)) for room in rooms]
    await eventually("the end of a hand that both play", hand_over)
    # Who has left has no stream any more: the loop ends by itself, and closes the connection, maybe before the answer.
    leaving = [asyncio.create_task(room["player"].leave(room["seating"].table_id)) for room in rooms]
    await asyncio.wait_for(asyncio.gather(*playing), 30)
    await asyncio.wait(leaving)


def test_the_ports_are_those_that_a_run_takes_where_they_are_free() -> None:
    plan = Plan(StackOptions(ports="default"))
    told = README.read_text()
    table = dict(re.findall(r"^\| ([\d, ]+) \| (\w+) \|", told, re.MULTILINE))
    services = {who: [int(port) for port in ports.split(",")] for ports, who in table.items() if who != "Envoy"}
    assert set(services) == {place.service for place in plan.places}
    for place in plan.places:
        # Another run on this machine may hold the documented port; then a free one is taken.
        assert place.grpc_port in services[place.service] or place.grpc_port > 10_000
