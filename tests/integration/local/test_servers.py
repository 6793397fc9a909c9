"""The fixtures keep what they promise: real servers, and a place of its own for each test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aio_pika
import asyncpg


async def test_a_fresh_database_is_empty_and_ones_own(fresh_database: Callable[[], Awaitable[str]]) -> None:
    first, second = await fresh_database(), await fresh_database()
    assert first != second
    connection = await asyncpg.connect(first)
    try:
        tables = await connection.fetchval(
            "select count(*) from information_schema.tables where table_schema = 'public'"
        )
        encoding = await connection.fetchval("show server_encoding")
    finally:
        await connection.close()
    assert (tables, encoding) == (0, "UTF8")


async def test_a_message_passes_through_a_quorum_queue(amqp_url: str) -> None:
    connection = await aio_pika.connect(amqp_url)
    async with connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("hands", durable=True, arguments={"x-queue-type": "quorum"})
        await channel.default_exchange.publish(aio_pika.Message(b"a hand"), routing_key="hands")
        message = await queue.get(timeout=10)
        assert message is not None
        assert message.body == b"a hand"
        await message.ack()
