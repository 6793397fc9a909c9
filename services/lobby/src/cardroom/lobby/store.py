"""What the lobby keeps, and how it reads and writes it. Each method is one committed unit."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cardroom.lobby import rows
from cardroom.lobby import statements as sql
from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.seating import Seating, Step
from cardroom.lobby.domain.tables import (
    Offer,
    Stakes,
    Table,
    TableState,
    checked_buy_in,
    checked_seat,
    hands_per_hour,
)
from cardroom.lobby.errors import Overtaken, Refused
from cardroom.lobby.seat_taking import take_seat

if TYPE_CHECKING:
    import asyncpg

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

CLAIM: Final = timedelta(seconds=15)
LEFT_RECENTLY: Final = timedelta(minutes=10)
# How long a request id is remembered.
REPEATABLE: Final = timedelta(days=7)
# Most tables on offer.
TABLES_MAX: Final = 10_000
# Closed tables that are forgotten in one round of housekeeping.
FORGOTTEN_AT_ONCE: Final = 20
# How long it is kept which tables have changed; who has not looked for so long reads them all anew.
CHANGES_KEPT: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class SitRequest:
    """A player's wish to sit down, as asked."""

    player_id: str
    display_name: str
    table_id: str
    seat: int
    buy_in: int
    request_id: str
    quick: str = ""
    """What was asked for, as JSON, where the player has left the choice of the table to the lobby."""


@dataclass(frozen=True, slots=True)
class EndedHand:
    """A hand for the table's statistics."""

    table_id: str
    hand_number: int
    pot_total: int
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Departure:
    """A table said that a player has left, at this version of the table."""

    table_id: str
    player_id: str
    version: int


class SeatingStore:
    """Players' stays, and the requests that began them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def reserve(self, ask: SitRequest, *, line_is_served: bool = True) -> tuple[Seating, bool]:
        """Reserve a seat; return the stay, and whether it is new and claimed by the caller (else: it was begun before).

        Raises Refused; a refusal that depended on the state is kept and met again by the same request, unless it leaves
        a quick seat other tables. Raises Overtaken when the same request is being answered elsewhere, and
        LineComesFirst while free seats are for players who wait, unless the caller says that those were served.
        """
        async with self._pool.acquire() as conn, conn.transaction():
            known = await conn.fetchrow(sql.READ_SIT_REQUEST, ask.player_id, ask.request_id)
            if known:
                outcome = await self._first_outcome(conn, ask, known)
            else:
                outcome = await self._reserve(conn, ask, line_is_served=line_is_served)
        if isinstance(outcome, Refusal):
            raise Refused(outcome)
        return outcome, known is None

    async def _reserve(self, conn: Connection, ask: SitRequest, *, line_is_served: bool) -> Seating | Refusal:
        row = await conn.fetchrow(sql.LOCK_OPEN_TABLE, ask.table_id)
        if row is None:
            return refusals.table_unknown(ask.table_id)
        stakes = rows.stakes(row)
        wrong = checked_seat(ask.seat, stakes) or checked_buy_in(ask.buy_in, stakes)
        if wrong:
            return wrong
        taken = await take_seat(conn, ask, CLAIM, line_is_served=line_is_served)
        if ask.quick and isinstance(taken, Refusal) and taken.reason == "TABLE_FULL":
            return taken
        outcome = taken if isinstance(taken, Refusal) else _seating(taken)
        await self._record(conn, ask, outcome)
        return outcome

    async def _record(self, conn: Connection, ask: SitRequest, outcome: Seating | Refusal) -> None:
        stay, no = (outcome.seating_id, None) if isinstance(outcome, Seating) else (None, _dump(outcome))
        table_id, quick = ask.table_id or None, ask.quick or None
        if not await conn.fetchval(
            sql.RECORD_SIT_REQUEST,
            ask.player_id,
            ask.request_id,
            table_id,
            ask.seat,
            ask.buy_in,
            stay,
            no,
            quick,
        ):
            # The same request on another connection came first. This one's seat, if any, must not stay.
            raise Overtaken(f"request {ask.request_id} is being answered elsewhere")

    async def first_outcome(self, ask: SitRequest) -> Seating | None:
        """Return the stay that this request has led to; None when it is new. Raises Refused as it did then."""
        async with self._pool.acquire() as conn:
            known = await conn.fetchrow(sql.READ_SIT_REQUEST, ask.player_id, ask.request_id)
            outcome = await self._first_outcome(conn, ask, known) if known else None
        if isinstance(outcome, Refusal):
            raise Refused(outcome)
        return outcome

    async def refuse(self, ask: SitRequest, why: Refusal) -> None:
        """Keep the refusal for repeats of the request, and raise it as Refused. Raises Overtaken as `reserve` does.

        A player who sits somewhere hears that instead.
        """
        async with self._pool.acquire() as conn, conn.transaction():
            mine = await conn.fetchrow(sql.READ_ACTIVE_SEATING, ask.player_id)
            no = rows.already_seated(mine) if mine else why
            await self._record(conn, ask, no)
        raise Refused(no)

    async def _first_outcome(self, conn: Connection, ask: SitRequest, known: asyncpg.Record) -> Seating | Refusal:
        asked = (str(known["table_id"]), known["seat"], known["buy_in"])
        if known["quick"] is not None or ask.quick:
            # The table is what was found, and no part of what was asked.
            is_same = json.loads(known["quick"] or "null") == json.loads(ask.quick or "null")
            is_same = is_same and ask.buy_in == known["buy_in"]
        else:
            is_same = asked == (ask.table_id, ask.seat, ask.buy_in)
        if not is_same:
            return refusals.request_id_reused(ask.request_id)
        if known["refusal"] is not None:
            return _refusal(known["refusal"])
        return _seating(await conn.fetchrow(sql.READ_SEATING, known["seating_id"]))

    async def forget_old(self) -> None:
        """Drop requests, and stays that are over, from before the time in which repeats are answered."""
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(sql.FORGET_OLD_REQUESTS, REPEATABLE)
            await conn.execute(sql.FORGET_OLD_SEATINGS, REPEATABLE)

    async def read(self, seating_id: str) -> Seating:
        """Return one stay."""
        return _seating(await self._pool.fetchrow(sql.READ_SEATING, seating_id))

    async def active(self, player_id: str) -> Seating | None:
        """Return where the player is now."""
        row = await self._pool.fetchrow(sql.READ_ACTIVE_SEATING, player_id)
        return _seating(row) if row else None

    async def ask_to_leave(self, player_id: str, table_id: str, seating_id: str | None = None) -> Seating | None:
        """Write down that the player wants to end this stay, or whichever is on; None when there is none."""
        row = await self._pool.fetchrow(sql.ASK_TO_LEAVE, player_id, table_id, seating_id)
        return _seating(row) if row else None

    async def left_recently(self, player_id: str, table_id: str, seating_id: str | None = None) -> Seating | None:
        """Return this stay, or the player's last one at this table, if it has just ended."""
        row = await self._pool.fetchrow(sql.READ_PAST_SEATING, player_id, table_id, LEFT_RECENTLY, seating_id)
        return _seating(row) if row else None

    async def note_departures(self, departures: list[Departure]) -> list[str]:
        """Write down who left which table; return the stays that this wakes."""
        rows = await self._pool.fetch(
            sql.NOTE_LEFT,
            [one.table_id for one in departures],
            [one.player_id for one in departures],
            [one.version for one in departures],
        )
        return [str(row["seating_id"]) for row in rows]

    async def claim(self, key: str) -> Seating | None:
        """Claim a stay with work left; None while another worker has it, or nothing is left to do."""
        row = await self._pool.fetchrow(sql.CLAIM_SEATING, key, CLAIM)
        return _seating(row) if row else None

    async def claim_due(self, limit: int) -> list[Seating]:
        """Claim stays whose work is due, the longest waiting first."""
        return [_seating(row) for row in await self._pool.fetch(sql.CLAIM_DUE_SEATINGS, limit, CLAIM)]

    async def is_claimed(self, key: str) -> bool:
        """Whether a worker has this stay now."""
        return bool(await self._pool.fetchval(sql.SEATING_IS_CLAIMED, key))

    async def save(self, seating: Seating, *, at_rest: bool) -> Seating:
        """Write the stay's next step and return it as it now is. At rest it has no work left, and no claim.

        Raises Overtaken if its row was written since it was read.
        """
        row = await self._pool.fetchrow(
            sql.SAVE_SEATING,
            seating.seating_id,
            seating.revision,
            seating.step,
            seating.hold_id,
            seating.seated_version,
            seating.wants_out,
            _dump(seating.refusal),
            seating.final_stack,
            seating.last_hand_number,
            seating.cashed_out,
            at_rest,
            CLAIM,
        )
        return _written(row, seating.seating_id)

    async def postpone(self, seating: Seating, wait: timedelta) -> Seating:
        """Let the stay rest for `wait`, unless something wakes it. Raises Overtaken if its row was written since."""
        row = await self._pool.fetchrow(sql.POSTPONE_SEATING, seating.seating_id, seating.revision, wait)
        return _written(row, seating.seating_id)


class TableStore:
    """Tables: their opening and closing, the offer, and the hands they played."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, table: Table, asked: Stakes) -> Table:
        """Write down that a table is to be opened; for a repeated request, return the first one's. Raises Refused."""
        stakes = table.stakes
        content = json.dumps({"name": table.name, **asdict(asked)}, sort_keys=True)
        await self._pool.execute(
            sql.ADD_TABLE,
            table.table_id,
            table.request_id,
            table.name,
            stakes.game,
            stakes.small_blind,
            stakes.big_blind,
            stakes.ante,
            stakes.min_buy_in,
            stakes.max_buy_in,
            stakes.seats,
            content,
        )
        row = await self._pool.fetchrow(sql.READ_TABLE_BY_REQUEST, table.request_id)
        assert row is not None
        if json.loads(row["asked"]) != json.loads(content):
            raise Refused(refusals.request_id_reused(table.request_id))
        return _table(row)

    async def begin_closing(self, table_id: str) -> Table:
        """Take a table without players off the offer. Raises Refused. Closed already: returned as it is."""
        async with self._pool.acquire() as conn, conn.transaction():
            row = await conn.fetchrow(sql.LOCK_TABLE, table_id)
            if row is None or row["state"] == TableState.REFUSED:
                raise Refused(refusals.table_unknown(table_id))
            if row["state"] != TableState.OPEN:
                return _table(row)
            if await conn.fetchval(sql.COUNT_TAKEN, table_id):
                raise Refused(refusals.table_occupied(table_id))
            await conn.execute(sql.BEGIN_CLOSING, table_id)
            return _table(await conn.fetchrow(sql.READ_TABLE, table_id))

    async def read(self, table_id: str) -> Table:
        """Return one table, whatever its state."""
        return _table(await self._pool.fetchrow(sql.READ_TABLE, table_id))

    async def changes(self, since: str) -> tuple[str, list[str]]:
        """Return where to read on the next time, and which tables may have changed on the offer since `since`."""
        row = await self._pool.fetchrow(sql.READ_TABLE_CHANGES, since)
        assert row is not None
        return row["next"], [str(table_id) for table_id in row["table_ids"]]

    async def offers(self, table_ids: list[str] | None = None) -> list[Offer]:
        """Return those of these tables that are open; None: all that are, up to TABLES_MAX, by small blind and name."""
        if table_ids is None:
            return [_offer(row) for row in await self._pool.fetch(sql.OFFERS, TABLES_MAX)]
        return [_offer(row) for row in await self._pool.fetch(sql.OFFERS_OF, table_ids)]

    async def forget_changes(self) -> None:
        """Drop what every replica has read long since."""
        await self._pool.execute(sql.FORGET_TABLE_CHANGES, CHANGES_KEPT)

    async def offer(self, table_id: str) -> Offer:
        """Return one open table. Raises Refused."""
        row = await self._pool.fetchrow(sql.OFFER_OF, table_id)
        if row is None:
            raise Refused(refusals.table_unknown(table_id))
        return _offer(row)

    async def add_hands(self, hands: list[EndedHand]) -> None:
        """Write down ended hands; those known already are left as they are."""
        tables = [hand.table_id for hand in hands]
        ended = [hand.ended_at for hand in hands]
        await self._pool.execute(
            sql.ADD_HANDS, tables, [hand.hand_number for hand in hands], [hand.pot_total for hand in hands], ended
        )

    async def note_first_hands(self, started: dict[str, datetime]) -> None:
        """Write down since when tables play; later hands change nothing."""
        await self._pool.execute(sql.NOTE_FIRST_HANDS, list(started), list(started.values()))

    async def forget_old_hands(self) -> None:
        """Drop hands that no number needs any more."""
        await self._pool.execute(sql.FORGET_OLD_HANDS)

    async def forget_closed(self, kept_for: timedelta) -> None:
        """Drop some tables that were closed so long ago, and to which nothing that is kept refers."""
        await self._pool.execute(sql.FORGET_CLOSED_TABLES, kept_for, FORGOTTEN_AT_ONCE)

    async def count_errands(self) -> tuple[int, int]:
        """Return how many stays and how many tables have work left."""
        row = await self._pool.fetchrow(sql.COUNT_ERRANDS)
        assert row is not None
        return row["seatings"], row["tables"]

    async def claim(self, key: str) -> Table | None:
        """Claim a table with work left; None while another worker has it, or nothing is left to do."""
        row = await self._pool.fetchrow(sql.CLAIM_TABLE, key, CLAIM)
        return _table(row) if row else None

    async def claim_due(self, limit: int) -> list[Table]:
        """Claim tables whose work is due, the longest waiting first."""
        return [_table(row) for row in await self._pool.fetch(sql.CLAIM_DUE_TABLES, limit, CLAIM)]

    async def is_claimed(self, key: str) -> bool:
        """Whether a worker has this table now."""
        return bool(await self._pool.fetchval(sql.TABLE_IS_CLAIMED, key))

    async def save(self, table: Table) -> Table:
        """Write the table's state and return it as it now is. Raises Overtaken if its row was written since."""
        row = await self._pool.fetchrow(
            sql.SAVE_TABLE, table.table_id, table.revision, table.state, _dump(table.refusal)
        )
        if row is None:
            raise Overtaken(f"table {table.table_id} was written since it was read")
        return _table(row)

    async def postpone(self, table: Table, wait: timedelta) -> Table:
        """Let the table's work rest for `wait`. Raises Overtaken if its row was written since."""
        row = await self._pool.fetchrow(sql.POSTPONE_TABLE, table.table_id, table.revision, wait)
        if row is None:
            raise Overtaken(f"table {table.table_id} was written since it was read")
        return _table(row)


def _written(row: asyncpg.Record | None, seating_id: str) -> Seating:
    if row is None:
        raise Overtaken(f"seating {seating_id} was written since it was read")
    return _seating(row)


def _seating(row: Any) -> Seating:
    assert row is not None, "a stay is only deleted long after its end"
    return Seating(
        seating_id=str(row["seating_id"]),
        table_id=str(row["table_id"]),
        player_id=str(row["player_id"]),
        display_name=row["display_name"],
        seat=row["seat"],
        buy_in=row["buy_in"],
        reserved_at=row["reserved_at"],
        step=Step(row["step"]),
        hold_id=row["hold_id"],
        seated_version=row["seated_version"],
        left_version=row["left_version"],
        wants_out=row["wants_out"],
        refusal=_refusal(row["refusal"]) if row["refusal"] else None,
        final_stack=row["final_stack"],
        last_hand_number=row["last_hand_number"],
        cashed_out=row["cashed_out"],
        attempts=row["attempts"],
        revision=row["revision"],
    )


def _table(row: Any) -> Table:
    assert row is not None, "a table is only deleted long after its end"
    return Table(
        table_id=str(row["table_id"]),
        request_id=str(row["request_id"]),
        name=row["name"],
        stakes=rows.stakes(row),
        state=TableState(row["state"]),
        refusal=_refusal(row["refusal"]) if row["refusal"] else None,
        attempts=row["attempts"],
        revision=row["revision"],
    )


def _offer(row: Any) -> Offer:
    return Offer(
        table=_table(row),
        taken_seats=tuple(sorted(row["taken_seats"])),
        average_pot=row["average_pot"],
        hands_per_hour=hands_per_hour(row["hour_hands"], row["played_seconds"]),
        waiting=row["waiting"],
    )


def _dump(refusal: Refusal | None) -> str | None:
    return json.dumps(asdict(refusal)) if refusal else None


def _refusal(text: str) -> Refusal:
    return Refusal(**json.loads(text))
