"""What the lobby keeps of top-ups. Each method is one committed unit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cardroom.lobby import statements as sql
from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.topping_up import Step, TopUp
from cardroom.lobby.errors import Overtaken, Refused
from cardroom.lobby.store import CLAIM, REPEATABLE

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]


@dataclass(frozen=True, slots=True)
class TopUpRequest:
    """A player's wish for more chips, as asked."""

    player_id: str
    table_id: str
    amount: int
    request_id: str


class TopUpStore:
    """Top-ups, and the requests that began them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, ask: TopUpRequest) -> tuple[TopUp, bool]:
        """Write a top-up down; return it, and whether it is new and claimed by the caller (else: it was asked before).

        Raises Refused; a refusal that depended on the state is kept and met again by the same request. Raises
        Overtaken when the same request is being answered elsewhere.
        """
        async with self._pool.acquire() as conn, conn.transaction():
            known = await conn.fetchrow(sql.READ_TOP_UP_REQUEST, ask.player_id, ask.request_id)
            outcome = _first_outcome(ask, known) if known else await self._add(conn, ask)
        if isinstance(outcome, Refusal):
            raise Refused(outcome)
        return outcome, known is None

    async def _add(self, conn: Connection, ask: TopUpRequest) -> TopUp | Refusal:
        seated = await conn.fetchrow(sql.LOCK_SEATED, ask.player_id, ask.table_id)
        most = seated["max_buy_in"] if seated else None
        if ask.amount < 1 or (most is not None and ask.amount > most):
            return refusals.top_up_out_of_range(ask.amount, most)
        if seated is None:
            return await self._refuse(conn, ask, refusals.not_seated(ask.table_id, or_leaves=True))
        row = await conn.fetchrow(
            sql.ADD_TOP_UP,
            uuid4(),
            ask.player_id,
            ask.request_id,
            ask.table_id,
            ask.amount,
            seated["seating_id"],
            CLAIM,
        )
        if row is not None:
            return _top_up(row)
        other = await conn.fetchrow(sql.UNFINISHED_TOP_UP, seated["seating_id"])
        if other is None or str(other["request_id"]) == ask.request_id:
            raise Overtaken(f"request {ask.request_id} is being answered elsewhere")
        return await self._refuse(conn, ask, refusals.top_up_pending(other["amount"]))

    async def _refuse(self, conn: Connection, ask: TopUpRequest, no: Refusal) -> Refusal:
        kept = await conn.fetchval(
            sql.ADD_REFUSED_TOP_UP,
            uuid4(),
            ask.player_id,
            ask.request_id,
            ask.table_id,
            ask.amount,
            json.dumps(asdict(no)),
        )
        if kept is None:
            raise Overtaken(f"request {ask.request_id} is being answered elsewhere")
        return no

    async def read(self, top_up_id: str) -> TopUp:
        """Return one top-up."""
        return _top_up(await self._pool.fetchrow(sql.READ_TOP_UP, top_up_id))

    async def wake_of_stay(self, seating_id: str) -> list[str]:
        """Return the unfinished top-ups of a stay, due now."""
        return [str(row["top_up_id"]) for row in await self._pool.fetch(sql.WAKE_TOP_UPS, [seating_id])]

    async def wake_at(self, players: Iterable[tuple[str, str]]) -> bool:
        """Let what waits for these players at these tables be looked at; return whether something does."""
        pairs = list(players)
        rows = await self._pool.fetch(sql.WAKE_TOP_UPS_AT, [one[0] for one in pairs], [one[1] for one in pairs])
        return bool(rows)

    async def claim(self, key: str) -> TopUp | None:
        """Claim a top-up with work left; None while another worker has it, or nothing is left to do."""
        row = await self._pool.fetchrow(sql.CLAIM_TOP_UP, key, CLAIM)
        return _top_up(row) if row else None

    async def claim_due(self, limit: int) -> list[TopUp]:
        """Claim top-ups whose work is due, the longest waiting first."""
        return [_top_up(row) for row in await self._pool.fetch(sql.CLAIM_DUE_TOP_UPS, limit, CLAIM)]

    async def is_claimed(self, key: str) -> bool:
        """Whether a worker has this top-up now."""
        return bool(await self._pool.fetchval(sql.TOP_UP_IS_CLAIMED, key))

    async def save(self, top_up: TopUp) -> TopUp:
        """Write the next step and return the top-up as it now is. Raises Overtaken if it was written since."""
        row = await self._pool.fetchrow(
            sql.SAVE_TOP_UP,
            top_up.top_up_id,
            top_up.revision,
            top_up.step,
            top_up.hold_id,
            top_up.added,
            json.dumps(asdict(top_up.refusal)) if top_up.refusal else None,
            CLAIM,
        )
        return _written(row, top_up)

    async def postpone(self, top_up: TopUp, wait: timedelta) -> TopUp:
        """Let the top-up rest for `wait`, unless something wakes it. Raises Overtaken if it was written since."""
        return _written(await self._pool.fetchrow(sql.POSTPONE_TOP_UP, top_up.top_up_id, top_up.revision, wait), top_up)

    async def count(self) -> int:
        """Return how many top-ups have work left."""
        return int(await self._pool.fetchval(sql.COUNT_TOP_UPS))

    async def forget_old(self) -> None:
        """Drop top-ups that are over, from before the time in which repeats are answered."""
        await self._pool.execute(sql.FORGET_OLD_TOP_UPS, REPEATABLE)


def _first_outcome(ask: TopUpRequest, known: asyncpg.Record) -> TopUp | Refusal:
    if (str(known["table_id"]), known["amount"]) != (ask.table_id, ask.amount):
        return refusals.request_id_reused(ask.request_id)
    if known["seating_id"] is None:
        return Refusal(**json.loads(known["refusal"]))
    return _top_up(known)


def _written(row: asyncpg.Record | None, top_up: TopUp) -> TopUp:
    if row is None:
        raise Overtaken(f"top-up {top_up.top_up_id} was written since it was read")
    return _top_up(row)


def _top_up(row: Any) -> TopUp:
    assert row is not None, "a top-up is not deleted while it is asked for"
    return TopUp(
        top_up_id=str(row["top_up_id"]),
        seating_id=str(row["seating_id"]),
        table_id=str(row["table_id"]),
        player_id=str(row["player_id"]),
        amount=row["amount"],
        step=Step(row["step"]),
        hold_id=row["hold_id"],
        added=row["added"],
        refusal=Refusal(**json.loads(row["refusal"])) if row["refusal"] else None,
        attempts=row["attempts"],
        revision=row["revision"],
    )
