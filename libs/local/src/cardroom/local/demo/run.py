"""Runs the demo from the first container to the last audit."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

from rich.console import Console

from cardroom.client import Client
from cardroom.client.bots import BotSettings
from cardroom.local.demo import books
from cardroom.local.demo.house import STAKES, House
from cardroom.local.demo.screen import LiveScreen, PlainScreen, Screen
from cardroom.local.demo.totals import Totals
from cardroom.local.errors import RunInvalid
from cardroom.local.interrupts import cancelled_by_signals
from cardroom.local.plan import StackOptions
from cardroom.local.progress import Progress
from cardroom.local.stack import Stack

_STALL_SECONDS = 120.0
_DEFAULT_EDGE = "127.0.0.1:8080"
# Slow enough to follow, or as quick as a run that only counts hands wants it.
_TO_WATCH, _TO_COUNT = (0.4, 2.5), (0.02, 0.15)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """`hands`: stop after so many, over all tables, and audit; None: go on until told to stop."""

    hands: int | None = None
    table_replicas: int = 2
    keep_logs: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.hands is not None and self.hands < 1:
            raise RunInvalid(f"hands is {self.hands}; at least 1 must be played")


async def run_demo(options: DemoOptions, console: Console) -> int:
    """Run it; returns the exit code: 0 if it ended as asked and the books hold, 1 if not, 130 if told to stop early."""
    progress = Progress(lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True))
    stack_options = StackOptions(
        ports="default",
        table_replicas=options.table_replicas,
        keep_logs=options.keep_logs,
        log_level="warning",
        env={"lobby": {"CARDROOM_LOBBY_STAKES": json.dumps(STAKES), "CARDROOM_LOBBY_DEMAND_PATIENCE_SECONDS": "60"}},
    )
    with cancelled_by_signals():
        try:
            async with Stack(stack_options, progress=progress) as stack:
                progress.say(f"✓ the card room is open ({stack.started_seconds:.1f} s)")
                return await _play(stack, options, console, progress)
        except asyncio.CancelledError:
            progress.say("✓ stopped, nothing is left behind")
            return 0 if options.hands is None else 130


async def _play(stack: Stack, options: DemoOptions, console: Console, progress: Progress) -> int:
    totals = Totals()
    think = _TO_WATCH if options.hands is None else _TO_COUNT
    async with Client.connect(stack.edge_grpc) as client:
        operator = stack.client_credentials("operator")
        house = House(client, totals, bot=BotSettings(think_seconds=think))
        with progress.step("opening three tables"):
            await house.find_tables()
        about = await _about(stack, client)
        for line in about:
            progress.say(line)
        try:
            with _screen(console, about) as screen:
                house.seat_bots(screen)
                await _count(house, totals, screen, options.hands)
            if options.hands is None:
                return 0
            held = await books.audit_at_the_tables(client, operator, progress)
            with progress.step("the bots leave their tables"):
                await house.send_home()
        finally:
            await house.stop()
        holds = await books.audit(client, operator, progress)
    return 0 if held and holds else 1


def _screen(console: Console, about: list[str]) -> Screen:
    return LiveScreen(console, [about[0], about[-1]]) if console.is_terminal else PlainScreen(console)


async def _count(house: House, totals: Totals, screen: Screen, hands: int | None) -> None:
    """A reading a second, until so many hands have ended."""
    began = moved = time.monotonic()
    last = 0
    while hands is None or totals.hands < hands:
        await asyncio.sleep(1)
        house.failed()
        now = time.monotonic()
        screen.totals(totals.read(now - began))
        if totals.hands > last:
            last, moved = totals.hands, now
        elif now - moved > _STALL_SECONDS:
            raise RunInvalid(f"no hand has ended for {_STALL_SECONDS:g} s; a bot was told: {house.last_refusal}")


async def _about(stack: Stack, client: Client) -> list[str]:
    """Where to look, and how to join in."""
    edge = "" if stack.edge_grpc == _DEFAULT_EDGE else f" EDGE={stack.edge_grpc}"
    operator, secret = stack.client_credentials("operator")
    tokens = await books.sandbox_tokens(client, stack.client_credentials("sandbox"))
    metrics = " ".join(f"{name}:{process.place.ops_port}" for name, process in stack.processes.items())
    return [
        f"sit down yourself   make play{edge}",
        f"the edge            {stack.edge_url} (gRPC, gRPC-Web, JSON)   Envoy's own pages {stack.admin_url}",
        f"metrics             http://127.0.0.1:<port>/metrics   {metrics}",
        f"logs                {stack.logs}",
        f"operator            client id {operator}, client secret {secret}",
        f"wallet sandbox      {tokens.access_token}   (a token for {tokens.expires_in_seconds // 60} minutes)",
        "Ctrl-C ends it and leaves nothing behind",
    ]
