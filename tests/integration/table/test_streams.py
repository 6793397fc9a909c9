"""Players' streams over the network: limits, heartbeats, and what ends them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cardroom.chassis.leases import LeaseKeeper
from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.table.streams import Streams
from tests.integration.table.replicas import SERVICE, Player, Sql, StartReplica, deal, look, open_table, refusal, until


async def test_a_fifth_stream_is_refused_and_the_four_go_on(start_replica: StartReplica) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    streams = [table.players[0].play(replica, table.id) for _ in range(4)]
    for stream in streams:
        await stream.read()
    error = await refusal(table.players[0].play(replica, table.id).read())
    assert (error.code.name, error.reason) == ("RESOURCE_EXHAUSTED", "TOO_MANY_STREAMS")
    await table.players[1].play(replica, table.id).read()
    await replica.seats.EndSeating(
        internal.EndSeatingRequest(table_id=table.id, seating_id=table.players[1].seating_id), metadata=SERVICE
    )
    changes = [await stream.read() for stream in streams]
    assert all(change.change.events[0].HasField("player_left") for change in changes)
    for stream in streams:
        stream.cancel()


async def test_a_stream_opened_a_thousand_times_leaves_nothing_behind(start_replica: StartReplica) -> None:
    replica = await start_replica()
    table = await open_table(replica, 1)
    kept = table.players[0].play(replica, table.id)
    await kept.read()

    async def begins(stream: Any) -> str:
        try:
            return str((await stream.read()).WhichOneof("content"))
        except Exception:
            return "refused"

    outcomes: list[Any] = []
    for _ in range(20):
        streams = [table.players[0].play(replica, table.id) for _ in range(50)]
        outcomes += await asyncio.gather(*map(begins, streams))
        for stream in streams:
            stream.cancel()
    assert set(outcomes) <= {"snapshot", "refused"}
    assert "refused" in outcomes
    await until(lambda: len(replica.part(Streams)._open) == 1)
    assert not kept.done()
    kept.cancel()


async def test_the_whole_replica_has_a_limit_too(start_replica: StartReplica) -> None:
    replica = await start_replica(streams_max=1)
    table = await open_table(replica, 2)
    first = table.players[0].play(replica, table.id)
    await first.read()
    assert (await refusal(table.players[1].play(replica, table.id).read())).reason == "TOO_MANY_STREAMS"
    first.cancel()


async def test_a_silent_stream_beats(start_replica: StartReplica) -> None:
    replica = await start_replica(heartbeat_seconds=0.2)
    table = await open_table(replica, 1)
    stream = table.players[0].play(replica, table.id)
    kinds = [(await stream.read()).WhichOneof("content") for _ in range(3)]
    assert kinds == ["snapshot", "heartbeat", "heartbeat"]
    stream.cancel()


async def test_10_6_who_leaves_sees_nothing_more(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 3)
    leaver = table.players[2]
    stream = leaver.play(replica, table.id)
    await stream.read()
    await replica.seats.EndSeating(
        internal.EndSeatingRequest(table_id=table.id, seating_id=leaver.seating_id), metadata=SERVICE
    )
    await deal(replica, sql, table)
    assert (await stream.read()).change.events[0].player_left.player_id == leaver.id
    error = await refusal(stream.read())
    assert (error.code.name, error.reason) == ("PERMISSION_DENIED", "NOT_SEATED")
    assert (await refusal(leaver.play(replica, table.id).read())).reason == "NOT_SEATED"


async def test_2_6_each_player_is_sent_their_own_cards_only(start_replica: StartReplica, sql: Sql) -> None:
    replica = await start_replica()
    table = await open_table(replica, 2)
    streams = [player.play(replica, table.id) for player in table.players]
    for stream in streams:
        await stream.read()
    await deal(replica, sql, table)
    changes = [await stream.read() for stream in streams]
    own = [change.change.own_cards.cards for change in changes]
    assert all(len(cards) == 4 for cards in own)
    for mine, theirs in ((0, 1), (1, 0)):
        assert own[theirs] not in str(changes[mine])
    bodies = b"".join(row["body"] for row in await sql.fetch("select body from outbox"))
    logs = b"".join(row["events"] + row["command"] for row in await sql.fetch("select events, command from table_log"))
    for cards in own:
        for card in (cards, cards[2:] + cards[:2]):
            assert card.encode() not in bodies + logs
    for stream in streams:
        stream.cancel()


async def test_a_stranger_gets_no_stream(start_replica: StartReplica) -> None:
    replica = await start_replica()
    table = await open_table(replica, 1)
    assert (await refusal(Player("stranger").play(replica, table.id).read())).reason == "NOT_SEATED"


async def test_the_streams_of_an_owner_that_cannot_renew_end_although_nobody_tells_it(
    start_replica: StartReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = await start_replica()
    table = await open_table(replica, 1)
    stream = table.players[0].play(replica, table.id)
    await stream.read()
    # As when the database is out of reach: the lease runs out, and no callback of the keeper says so.
    monkeypatch.setattr(replica.part(LeaseKeeper), "epoch", lambda _: None)
    async with asyncio.timeout(30):
        error = await refusal(stream.read())
    assert error.reason == "TABLE_MOVING"
    monkeypatch.undo()
    assert (await look(replica, table)).snapshot.view.seats
