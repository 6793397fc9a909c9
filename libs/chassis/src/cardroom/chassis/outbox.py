"""The transactional outbox: events are inserted with the change they tell of, and published after its commit.

**Order.** A relay reads all unpublished rows in order of id, publishes them in that order, and deletes what the broker
confirmed. Ids are drawn before the commit, so across transactions a lower id may become visible after a higher one;
a cursor ("everything after the last id") would skip it, deletion does not. Within one table (or account, or any scope
whose writers take turns) the second transaction starts after the first has committed: whenever its row is visible, so
is the first one's, with a lower id. Hence the order per scope is the order of the commits.

**Several replicas.** Every replica relays, whoever's rows they are; a transaction-level advisory lock lets one round
run at a time, and the rows are read after it was taken. So rows of a dead replica need no special care, and a table
that moves to another owner cannot overtake its own older rows. A replica that is stalled in the middle of a round loses
the lock when the database ends its transaction; the rows are then published again:
at least once, and consumers ignore what they have.

**Groups.** Neighbouring rows that hold groups of events of one kind are published as one message (`groups`).

**Failures.** After a message that was not confirmed, later ones with the same routing key stay too and are sent again,
so that the last deliveries of a scope are in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import asyncpg

from cardroom.chassis import groups, logs, metrics, telemetry
from cardroom.chassis._message import Message
from cardroom.chassis.errors import BusDisconnected, PublishFailed, UnroutableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cardroom.chassis.bus import EventBus

    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

LOCK: Final = 0x4F555442
PUBLISH_SECONDS: Final = 2.0
LOCK_SECONDS: Final = 3
ROLLBACK_SECONDS: Final = 1.0
SMALLEST_BATCH: Final = 16
RETRY_SECONDS: Final = 0.5
STOP_SECONDS: Final = 3.0

INSERT: Final = """
    INSERT INTO outbox (message_id, routing_key, type, body, headers, mandatory)
    SELECT message_id, routing_key, type, body, headers::jsonb, mandatory
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::boolean[])
        WITH ORDINALITY AS new (message_id, routing_key, type, body, headers, mandatory, place)
    ORDER BY place
"""
# For the relay's own session. A lost deletion only publishes again, so its commits need not wait for the disk. The lock
# must outlast a slow publish, and must not outlast a stalled process by much.
SESSION: Final = f"""
    SET synchronous_commit TO off;
    SET idle_in_transaction_session_timeout TO '{LOCK_SECONDS}s'
"""
BEGIN: Final = f"BEGIN; SELECT pg_advisory_xact_lock({LOCK})"
# Rows are deleted first and the transaction is committed once they are published: one statement less in each round.
TAKE: Final = """
    DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox WHERE routing_key <> ALL ($2::text[]) ORDER BY id LIMIT $1
    )
    RETURNING id, message_id, routing_key, type, body, headers, mandatory,
        extract(epoch FROM clock_timestamp() - created_at)::float8 AS age
"""
DELETE: Final = "DELETE FROM outbox WHERE id = ANY ($1::bigint[])"
ANY_LEFT: Final = "SELECT EXISTS (SELECT FROM outbox)"

log = logs.get("outbox")


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """An event to publish once the transaction that inserts it is committed. It carries the current trace along.

    `mandatory`: with no queue bound for it the row is kept and tried again every second, with an alert; rows with other
    routing keys go on. Else it is dropped, and counted.
    """

    routing_key: str
    type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    message_id: str = field(default_factory=lambda: str(uuid4()))
    mandatory: bool = False
    traceparent: str | None = field(default_factory=telemetry.traceparent)


async def insert(conn: Connection, messages: Sequence[OutboxMessage]) -> None:
    """Insert the messages, in order, in the transaction that `conn` is in; one statement for all."""
    if messages:
        await conn.execute(INSERT, *columns(messages))


def columns(messages: Sequence[OutboxMessage]) -> tuple[list[Any], ...]:
    """Return the parameters of `INSERT`, for a service that puts it into a larger statement."""
    return (
        [message.message_id for message in messages],
        [message.routing_key for message in messages],
        [message.type for message in messages],
        [message.body for message in messages],
        [_headers(message) for message in messages],
        [message.mandatory for message in messages],
    )


class Relay:
    """Publishes the outbox of one database, in order. A part of an `App`; run one in every replica."""

    def __init__(
        self, pool: Pool, bus: EventBus, *, batch_max: int = 500, poll_seconds: float = 1.0, gap_ms: float = 10
    ) -> None:
        """Publish up to `batch_max` rows a round, a round at most every `gap_ms`: after a quiet time at once, under
        load in batches. Every `poll_seconds` look for what nobody woke this relay for.
        """
        self._pool = pool
        self._bus = bus
        self._batch_max = batch_max
        self._batch = batch_max
        self._poll_seconds = poll_seconds
        self._gap = gap_ms / 1000
        self._awake = asyncio.Event()
        self._stopping = False
        self._held_back: set[str] = set()
        self._try_again_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Say that rows were committed. Call it right after the commit; costs nothing."""
        self._awake.set()

    async def start(self) -> None:
        """Begin to relay, what others left behind included."""
        if self._task is None:
            self._stopping = False
            self._awake.set()
            self._task = asyncio.create_task(self._run(), name="outbox")

    async def stop(self) -> None:
        """Relay what is committed, if database and broker are there, and stop."""
        task, self._task = self._task, None
        if task is None:
            return
        self._stopping = True
        self._awake.set()
        await asyncio.wait({task}, timeout=STOP_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        while not self._stopping:
            try:
                await self._bus.wait_connected()
                async with self._pool.acquire() as conn:
                    try:
                        await self._rounds(conn)
                    finally:
                        # Its session commits without waiting for the disk: nobody else may get it.
                        conn.terminate()
                continue
            except (BusDisconnected, PublishFailed) as error:
                log.warning("the outbox waits for the broker", error=str(error))
            except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
                log.warning("the outbox waits for the database", error=repr(error))
            except Exception:
                log.exception("the outbox failed in an unforeseen way; trying again")
            metrics.OUTBOX_FAILED.inc()
            # An overloaded broker or machine may never confirm a large batch in time.
            self._batch = max(self._batch // 2, min(SMALLEST_BATCH, self._batch_max))
            await asyncio.sleep(RETRY_SECONDS)
            self._awake.set()

    async def _rounds(self, conn: Connection) -> None:
        """Relay on one connection until asked to stop."""
        await conn.execute(SESSION)
        while True:
            asked = await self._woken()
            if asked or await conn.fetchval(ANY_LEFT):
                while await self._round(conn) == self._batch:
                    self._batch = min(self._batch * 2, self._batch_max)
            if self._stopping:
                return
            await asyncio.sleep(self._gap)

    async def _woken(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll_seconds):
                await self._awake.wait()
        asked = self._awake.is_set()
        self._awake.clear()
        return asked

    async def _round(self, conn: Connection) -> int:
        """Publish up to a batch and delete what was confirmed; return how many rows were read."""
        self._release_held_back()
        await conn.execute(BEGIN)
        try:
            rows = await conn.fetch(TAKE, self._batch, sorted(self._held_back))
            rows.sort(key=itemgetter("id"))
            failure = await self._settle(conn, rows) if rows else None
            await conn.execute("COMMIT")
        except BaseException:
            await _abandon(conn)
            raise
        if failure is not None:
            raise failure
        return len(rows)

    async def _settle(self, conn: Connection, rows: Sequence[asyncpg.Record]) -> PublishFailed | None:
        """Publish rows that the transaction has deleted; undo that for those that were not confirmed."""
        metrics.OUTBOX_LAG_SECONDS.set(rows[0]["age"])
        done, failure = await self._publish(rows)
        if len(done) < len(rows):
            await conn.execute("ROLLBACK")
            await conn.execute(BEGIN)
            await conn.execute(DELETE, done)
        metrics.OUTBOX_PUBLISHED.inc(len(done))
        return failure

    async def _publish(self, rows: Sequence[asyncpg.Record]) -> tuple[list[int], PublishFailed | None]:
        parcels = _parcels(rows)
        try:
            await self._bus.publish([message for message, _ in parcels], timeout_seconds=PUBLISH_SECONDS)
        except PublishFailed as error:
            return self._sort_out([carried for _, carried in parcels], error)
        return [row["id"] for row in rows], None

    def _sort_out(
        self, parcels: Sequence[Sequence[asyncpg.Record]], error: PublishFailed
    ) -> tuple[list[int], PublishFailed | None]:
        """Return the ids that are done, and the failure if one is worth a pause. A parcel's rows share its fate."""
        done: list[int] = []
        kept: set[str] = set()
        failure: PublishFailed | None = None
        for place, rows in enumerate(parcels):
            row, cause = rows[0], error.failed.get(place)
            key = row["routing_key"]
            if isinstance(cause, UnroutableError):
                self._alert_unroutable(row)
                if row["mandatory"]:
                    self._hold_back(key)
                    kept.add(key)
                    continue
            elif cause is not None:
                failure = error
                kept.add(key)
            if key not in kept:
                done.extend(row["id"] for row in rows)
        return done, failure

    def _alert_unroutable(self, row: asyncpg.Record) -> None:
        outcome = "kept" if row["mandatory"] else "dropped"
        metrics.OUTBOX_UNROUTABLE.labels(outcome).inc()
        if row["mandatory"] and row["routing_key"] not in self._held_back:
            log.error("no queue is bound for an event; it is kept", routing_key=row["routing_key"], type=row["type"])

    def _hold_back(self, routing_key: str) -> None:
        if not self._held_back:
            self._try_again_at = time.monotonic() + self._poll_seconds
        self._held_back.add(routing_key)

    def _release_held_back(self) -> None:
        if self._held_back and time.monotonic() >= self._try_again_at:
            self._held_back.clear()


async def _abandon(conn: Connection) -> None:
    """End the round's transaction; a session that cannot even do that is given up."""
    try:
        await asyncio.wait_for(conn.execute("ROLLBACK"), ROLLBACK_SECONDS)
    except Exception:
        log.debug("a round could not be rolled back", exc_info=True)
        with contextlib.suppress(asyncpg.InterfaceError):
            conn.terminate()


def _headers(message: OutboxMessage) -> str:
    if message.traceparent is None and not message.headers:
        return "{}"
    headers = dict(message.headers)
    if message.traceparent is not None:
        headers["traceparent"] = message.traceparent
    return json.dumps(headers)


def _parcels(rows: Sequence[asyncpg.Record]) -> list[tuple[Message, Sequence[asyncpg.Record]]]:
    """Return the messages to publish, each with the rows that are in it."""
    parcels: list[tuple[Message, Sequence[asyncpg.Record]]] = []
    place = 0
    for message, count in groups.join([_message(row) for row in rows]):
        parcels.append((message, rows[place : place + count]))
        place += count
    return parcels


def _message(row: asyncpg.Record) -> Message:
    return Message(
        routing_key=row["routing_key"],
        type=row["type"],
        body=row["body"],
        headers=json.loads(row["headers"]) if row["headers"] != "{}" else {},
        message_id=row["message_id"],
        # Always asked for, so that a message nobody gets is at least counted.
        mandatory=True,
    )
