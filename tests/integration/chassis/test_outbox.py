"""The outbox against a real database and broker: order, nothing lost, several replicas."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from cardroom.chassis import outbox, telemetry
from cardroom.chassis.bus import EventBus, Message
from cardroom.chassis.errors import PublishFailed
from cardroom.chassis.outbox import OutboxMessage, Relay
from cardroom.chassis.settings import ServiceSettings
from cardroom.contracts.events.v1.group_pb2 import Group

Until = Callable[..., Awaitable[None]]


class Rig:
    """Two buses, as two replicas have, a consumer of everything in this test's scope, and its relays."""

    def __init__(self, pool: asyncpg.Pool, amqp_url: str) -> None:
        self.pool = pool
        self.scope = secrets.token_hex(4)
        self.buses = [EventBus(amqp_url, "one"), EventBus(amqp_url, "two")]
        self.relays = [Relay(pool, bus, poll_seconds=0.3) for bus in self.buses]
        self.seen: list[Message] = []

    async def start(self) -> None:
        self.buses[0].consume(f"test.{self.scope}", [f"out.{self.scope}.#"], self._handle)
        for bus in self.buses:
            await bus.start()
            await bus.wait_connected()
        for relay in self.relays:
            await relay.start()

    async def stop(self) -> None:
        for relay in self.relays:
            await relay.stop()
        for bus in self.buses:
            await bus.stop()

    async def insert(self, *bodies: str, table: str = "t", mandatory: bool = False) -> None:
        async with self.pool.acquire() as conn, conn.transaction():
            await outbox.insert(conn, [self.message(body, table, mandatory) for body in bodies])

    def message(self, body: str, table: str = "t", mandatory: bool = False) -> OutboxMessage:
        return OutboxMessage(f"out.{self.scope}.{table}", "cardroom.Test", body.encode(), mandatory=mandatory)

    async def until_left(self, number: int) -> None:
        """Wait until so many rows are in the outbox."""
        async with asyncio.timeout(30):
            while await self.pool.fetchval("SELECT count(*) FROM outbox") != number:  # noqa: ASYNC110 - a row tells nobody
                await asyncio.sleep(0.01)

    async def _handle(self, messages: list[Message]) -> None:
        """Keep what is new, as every consumer does: delivery is at least once."""
        known = {message.message_id for message in self.seen}
        self.seen.extend(message for message in messages if message.message_id not in known)

    @property
    def bodies(self) -> list[str]:
        return [message.body.decode() for message in self.seen]


@pytest.fixture
async def rig(pool: asyncpg.Pool, amqp_url: str) -> AsyncIterator[Rig]:
    made = Rig(pool, amqp_url)
    await made.start()
    yield made
    await made.stop()


async def test_committed_rows_are_published_in_order_and_deleted(rig: Rig, until: Until) -> None:
    async with rig.pool.acquire() as conn, conn.transaction():
        headers = {"epoch": "3"}
        await outbox.insert(conn, [OutboxMessage(f"out.{rig.scope}.t", "x.Y", b"first", headers, "id-1")])
    await rig.insert(*(str(number) for number in range(1200)))
    rig.relays[0].wake()
    await until(lambda: len(rig.seen) == 1201)
    assert rig.bodies[1:] == [str(number) for number in range(1200)]
    assert (rig.seen[0].type, rig.seen[0].message_id, rig.seen[0].headers["epoch"]) == ("x.Y", "id-1", "3")
    await rig.until_left(0)


async def test_a_rolled_back_transaction_publishes_nothing(rig: Rig, until: Until) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with rig.pool.acquire() as conn, conn.transaction():
            await outbox.insert(conn, [rig.message("never")])
            raise ZeroDivisionError
    await rig.insert("after")
    rig.relays[0].wake()
    await until(lambda: rig.bodies == ["after"])


async def test_a_row_that_commits_after_a_later_id_is_not_skipped(rig: Rig, until: Until) -> None:
    async with AsyncExitStack() as slow:
        conn = await slow.enter_async_context(rig.pool.acquire())
        await slow.enter_async_context(conn.transaction())
        await outbox.insert(conn, [rig.message("slow", "a")])
        await rig.insert("fast", table="b")
        rig.relays[0].wake()
        await until(lambda: rig.bodies == ["fast"])
    rig.relays[0].wake()
    await until(lambda: rig.bodies == ["fast", "slow"])


async def test_the_order_of_each_table_holds_while_two_replicas_write_and_relay(rig: Rig, until: Until) -> None:
    turns = {f"t{number}": asyncio.Lock() for number in range(8)}

    async def play(table: str) -> None:
        for number in range(40):
            async with turns[table]:
                await rig.insert(f"{table}:{number}", table=table)
            rig.relays[number % 2].wake()

    await asyncio.gather(*(play(table) for table in turns))
    await until(lambda: len(rig.seen) >= 320)
    for table in turns:
        assert [body for body in rig.bodies if body.startswith(f"{table}:")] == [f"{table}:{n}" for n in range(40)]


async def test_rows_that_a_dead_replica_left_are_published_by_the_other(rig: Rig, until: Until) -> None:
    await rig.relays[1].stop()
    await rig.insert("left behind")
    await until(lambda: rig.bodies == ["left behind"], what="the other replica's poll")


async def test_a_replica_that_stalls_in_a_round_loses_the_lock(rig: Rig, until: Until) -> None:
    async with rig.pool.acquire() as stalled:
        await stalled.execute("SET idle_in_transaction_session_timeout TO '300ms'")
        await stalled.execute(outbox.BEGIN)
        await rig.insert("waiting")
        rig.relays[0].wake()
        await until(lambda: rig.bodies == ["waiting"], 5)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await stalled.execute("COMMIT")


async def test_a_mandatory_event_waits_for_its_queue_and_others_go_on(rig: Rig, amqp_url: str, until: Until) -> None:
    orphan = f"orphan.{rig.scope}"
    async with rig.pool.acquire() as conn, conn.transaction():
        waits = [OutboxMessage(orphan, "x.Settled", str(n).encode(), mandatory=True) for n in range(3)]
        await outbox.insert(conn, [*waits, OutboxMessage(f"{orphan}.dropped", "x.Seen", b""), rig.message("goes on")])
    rig.relays[0].wake()
    await until(lambda: rig.bodies == ["goes on"])
    await rig.until_left(3)
    late = EventBus(amqp_url, "late")
    seen: list[Message] = []

    async def handle(messages: list[Message]) -> None:
        seen.extend(messages)

    late.consume(f"late.{rig.scope}", [orphan], handle)
    await late.start()
    await until(lambda: len(seen) == 3)
    assert [message.body for message in seen] == [b"0", b"1", b"2"]
    await late.stop()


async def test_events_wait_for_a_broker_that_is_away(pool: asyncpg.Pool, amqp_url: str, until: Until) -> None:
    rig = Rig(pool, amqp_url)
    await rig.relays[0].start()
    await rig.insert("patience")
    rig.relays[0].wake()
    await rig.until_left(1)
    await rig.start()
    await until(lambda: rig.bodies == ["patience"])
    await rig.stop()


async def test_after_a_failure_later_messages_of_the_same_scope_stay_and_others_are_done() -> None:
    relay = Relay(None, None)  # type: ignore[arg-type]
    rows = [{"id": n, "routing_key": key, "mandatory": False, "type": "t"} for n, key in enumerate("abab")]
    error = PublishFailed({1: TimeoutError()}, 4)
    assert relay._sort_out([[row] for row in rows], error) == ([0, 2], error)  # type: ignore[list-item]


async def test_groups_that_wait_together_are_one_message_and_reach_the_handler_as_events(
    rig: Rig, until: Until
) -> None:
    key, kind = f"out.{rig.scope}.t", "cardroom.events.v1.TablesChanged"
    async with rig.pool.acquire() as conn, conn.transaction():
        groups = [Group(events=[f"{n}".encode(), f"{n}+".encode()]).SerializeToString() for n in range(3)]
        await outbox.insert(conn, [OutboxMessage(key, kind, body) for body in groups])
    rig.relays[0].wake()
    await rig.until_left(0)
    await until(lambda: rig.bodies == ["0", "0+", "1", "1+", "2", "2+"])
    assert len({message.message_id for message in rig.seen}) == 1
    assert {message.type for message in rig.seen} == {"cardroom.events.v1.TableChanged"}


async def test_a_relay_outlives_its_database_session(rig: Rig, until: Until) -> None:
    await rig.insert("one")
    rig.relays[0].wake()
    await rig.until_left(0)
    async with rig.pool.acquire() as conn:
        await conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        async with conn.transaction():
            await outbox.insert(conn, [rig.message("two")])
    rig.relays[0].wake()
    await until(lambda: rig.bodies == ["one", "two"])


async def test_a_stop_publishes_what_is_committed(rig: Rig, until: Until) -> None:
    for relay in rig.relays:
        relay._poll_seconds = 30
    await rig.relays[1].stop()
    await rig.insert("last words")
    await rig.relays[0].stop()
    await until(lambda: rig.bodies == ["last words"])


async def test_a_trace_goes_on_through_outbox_and_bus_into_the_handler(rig: Rig, until: Until, tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    telemetry.setup(ServiceSettings(trace_file=path))
    try:
        with telemetry.span("act"):
            await rig.insert("traced")
        rig.relays[0].wake()
        await until(lambda: rig.bodies == ["traced"])
        await until(lambda: path.read_text().count("\n") == 3)
    finally:
        telemetry.shutdown()
    act, publish, consume = (
        next(one for one in map(json.loads, path.read_text().splitlines()) if one["kind"] == kind)
        for kind in ("internal", "producer", "consumer")
    )
    assert (publish["parent_id"], consume["parent_id"]) == (act["span_id"], publish["span_id"])
    assert act["trace_id"] == publish["trace_id"] == consume["trace_id"]
