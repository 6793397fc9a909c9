"""Concurrent callers, retries and crashes against a model: what was accepted is one sequence of sound steps."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.wallet.api import replies
from cardroom.wallet.domain import names
from cardroom.wallet.domain.commands import Command, Instruction, MoveChips, PlaceHold, PostHold, VoidHold
from cardroom.wallet.errors import Refused
from cardroom.wallet.posting import Poster, Request
from tests.integration.wallet.killing import KillingPool
from tests.integration.wallet.running import Wallet, new_id
from tests.unit.wallet.ledgers import Ledger

PLAYERS = 3
Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["hold", "post", "void", "pay", "return"]), st.integers(0, PLAYERS - 1), st.integers(1, 6_000)
    ),
    min_size=5,
    max_size=25,
)


@dataclass
class Players:
    """Fresh accounts for one example, and the holds placed in it."""

    ids: list[str]
    house: str
    holds: list[int]
    waiting: int = 0

    def command(self, step: Step) -> tuple[Command, Any]:
        """The command of a step, and how its reply is written."""
        kind, who, amount = step
        account = names.player_account(self.ids[who])
        if kind == "hold":
            return PlaceHold("test", account, amount, timedelta(hours=1), ""), replies.placed
        if kind in ("pay", "return"):
            pair = (account, self.house) if kind == "pay" else (self.house, account)
            return MoveChips("test", [Instruction(*pair, amount, "")]), replies.moved_one
        hold_id = self.holds[amount % len(self.holds)] if self.holds else 1
        if kind == "post":
            return PostHold("test", hold_id, self.house, 0, ""), replies.posted
        return VoidHold("test", hold_id, ""), replies.voided


async def send(poster: Poster, players: Players, step: Step, sends: int) -> tuple[Command, bytes | str]:
    """Send a step `sends` times at once under one id; every answer must be the same."""
    command, render = players.command(step)
    key = str(uuid.uuid4())

    async def once() -> bytes | str:
        try:
            return await poster.post(Request(command, step[0], key, key.encode(), render))
        except Refused as refused:
            return refused.reason

    answers = await asyncio.gather(*(once() for _ in range(sends)))
    assert len(set(answers)) == 1
    if step[0] == "hold" and isinstance(answers[0], bytes):
        players.holds.append(int(pb.PlaceHoldResponse.FromString(answers[0]).hold.hold_id))
    return command, answers[0]


def replayed(accepted: list[tuple[int, Command]], house: str) -> dict[str, int]:
    """The accepted commands, one after the other in the order of their transfers, on books in memory."""
    ledger = Ledger()
    ledger.open(house)
    known: dict[int, int] = {}
    for transfer_id, command in sorted(accepted, key=lambda it: it[0]):
        if isinstance(command, PostHold | VoidHold):
            command.hold_id = known[command.hold_id]
        outcome = ledger.do(command)
        if outcome.hold is not None and isinstance(command, PlaceHold):
            known[transfer_id] = outcome.hold.id
    return {name: it.available for name, it in ledger.books.accounts.items() if not name.startswith("grants")}


@given(work=steps, callers=st.integers(1, 6), sends=st.integers(1, 3), kills=st.sets(st.integers(1, 120), max_size=3))
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_what_was_accepted_is_one_sound_sequence(
    wallet: Wallet, work: list[Step], callers: int, sends: int, kills: set[int]
) -> None:
    house = f"house/{uuid.uuid4().hex[:12]}/play"
    await wallet.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=new_id(), account=house))
    players = Players([new_id() for _ in range(PLAYERS)], house, [])
    poster = Poster(KillingPool(wallet.pool, kills), batch_max=8, waiting_max=500, lanes=2)  # type: ignore[arg-type]
    await poster.start()

    async def caller(part: list[Step]) -> list[tuple[Command, bytes | str]]:
        return [await send(poster, players, step, sends) for step in part]

    parts = await asyncio.gather(*(caller(work[index::callers]) for index in range(callers)))
    await poster.stop()
    results = [result for part in parts for result in part]
    accepted = [(_transfer_id(command, answer), command) for command, answer in results if isinstance(answer, bytes)]
    for name, available in replayed(accepted, house).items():
        assert await wallet.available(name) == available
    assert (await wallet.audit(from_start=False)).passed


def _transfer_id(command: Command, answer: bytes) -> int:
    reply_types: dict[type[Command], Any] = {
        PlaceHold: pb.PlaceHoldResponse,
        PostHold: pb.PostHoldResponse,
        VoidHold: pb.VoidHoldResponse,
        MoveChips: pb.CreateTransferResponse,
    }
    return int(reply_types[type(command)].FromString(answer).transfer.transfer_id)
