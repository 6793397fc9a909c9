"""What the tests of the table service drive: replicas, players, tables."""

from __future__ import annotations

import asyncio
import base64
import inspect
import os
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import asyncpg
import grpc
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.channels import Channels
from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.chassis.leases import LeaseKeeper
from cardroom.chassis.service import App
from cardroom.contracts.events.v1.events_pb2 import TablesChanged
from cardroom.contracts.table.v1 import internal_pb2 as internal
from cardroom.contracts.table.v1 import table_pb2 as pb
from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.contracts.table.v1.internal_pb2_grpc import TableSeatServiceStub, TableTimeServiceStub
from cardroom.contracts.table.v1.table_pb2_grpc import TableServiceStub
from cardroom.local.ports import free_port
from cardroom.table.app import build
from cardroom.table.settings import TableSettings
from cardroom.table.tables import SHARDS, shard_of

KEY = ECKey.generate_key("P-256", {"kid": "test", "alg": "ES256", "use": "sig"})
DECK_KEY = base64.b64encode(os.urandom(32)).decode()
NO_BROKER = "amqp://guest:guest@127.0.0.1:1/"
STAKES = view.Stakes(
    game=view.GAME_NO_LIMIT_HOLDEM, small_blind=10, big_blind=20, min_buy_in=200, max_buy_in=4000, seats=6
)
SERVICE_SCOPES = "table.open table.seat table.time"


def bearer(subject: str, scope: str) -> tuple[tuple[str, str], ...]:
    """Metadata with a token for `subject`."""
    claims = {
        "iss": "https://cardroom.local",
        "aud": "cardroom",
        "sub": subject,
        "scope": scope,
        "exp": int(time.time()) + 3600,
    }
    token = jwt.encode({"alg": "ES256", "kid": "test"}, claims, KEY, algorithms=["ES256"])
    return (("authorization", f"Bearer {token}"),)


SERVICE = bearer("service:test", SERVICE_SCOPES)


@dataclass
class Replica:
    """A running table service and stubs to it."""

    app: App
    address: str
    channel: grpc.aio.Channel
    players: Any = field(init=False)
    seats: Any = field(init=False)
    time: Any = field(init=False)

    def __post_init__(self) -> None:
        self.players = TableServiceStub(self.channel)
        self.seats = TableSeatServiceStub(self.channel)
        self.time = TableTimeServiceStub(self.channel)

    async def stop(self) -> None:
        """Stop it as SIGTERM would."""
        await self.channel.close(None)
        await self.app.stop()

    def part(self, kind: type[Any]) -> Any:
        """The part of the app that is a `kind`."""
        return next(part for part in self.app._parts if isinstance(part, kind))


Sql: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
StartReplica = Callable[..., Awaitable[Replica]]


async def start(database: str, **changes: Any) -> Replica:
    """Start a replica."""
    port = free_port()
    # Tests look at tables through streams that they close again: that is nobody's absence here.
    usual: dict[str, Any] = {"amqp_url": NO_BROKER, "deck_key": DECK_KEY, "stop_seconds": 5, "reconnect_seconds": 10}
    chosen = usual | changes
    settings = TableSettings(database_url=database, grpc_port=port, advertise_address=f"127.0.0.1:{port}", **chosen)
    verifier = TokenVerifier(settings, keys=KeySet([KEY]))
    app = await build(settings, verifier=verifier, channels=Channels(settings, token=lambda: "none"))
    await app.start()
    address = f"127.0.0.1:{port}"
    return Replica(app, address, grpc.aio.insecure_channel(address))


class Player:
    """A player with a token, who acts through whichever replica is said."""

    def __init__(self, name: str) -> None:
        self.id = str(uuid.uuid4())
        self.name = name
        self.seating_id = str(uuid.uuid4())
        self.metadata = bearer(self.id, "play")

    async def act(
        self, replica: Replica, table_id: str, turn: view.TurnToken, kind: view.ActionKind.ValueType, amount: int = 0
    ) -> pb.ActResponse:
        """Send an action."""
        request = pb.ActRequest(table_id=table_id, turn=turn, action=pb.Action(kind=kind, amount=amount))
        answer: pb.ActResponse = await replica.players.Act(request, metadata=self.metadata)
        return answer

    def play(self, replica: Replica, table_id: str) -> Any:
        """Open a stream."""
        return replica.players.Play(pb.PlayRequest(table_id=table_id), metadata=self.metadata)


@dataclass
class Table:
    """A table with players on seats 1, 2, …"""

    id: str
    players: list[Player]

    def of(self, player_id: str) -> Player:
        """The player with that id."""
        return next(player for player in self.players if player.id == player_id)


async def open_table(replica: Replica, players: int, *, stack: int = 1000, table_id: str | None = None) -> Table:
    """A table with so many players seated."""
    table = Table(table_id or str(uuid.uuid4()), [Player(f"P{number}") for number in range(1, players + 1)])
    await replica.seats.OpenTable(
        internal.OpenTableRequest(table_id=table.id, name="Test", stakes=STAKES), metadata=SERVICE
    )
    for seat, player in enumerate(table.players, 1):
        await seat_player(replica, table.id, player, seat, stack)
    return table


async def seat_player(replica: Replica, table_id: str, player: Player, seat: int, stack: int = 1000) -> None:
    """Seat one player."""
    request = internal.SeatPlayerRequest(
        table_id=table_id,
        seating_id=player.seating_id,
        player_id=player.id,
        display_name=player.name,
        seat=seat,
        stack=stack,
        time_bank_left_ms=30_000,
    )
    await replica.seats.SeatPlayer(request, metadata=SERVICE)


async def look(replica: Replica, table: Table, player: Player | None = None) -> pb.PlayResponse:
    """The table as a player sees it now."""
    stream = (player or table.players[0]).play(replica, table.id)
    try:
        first: pb.PlayResponse = await stream.read()
    finally:
        stream.cancel()
    return first


async def timing(sql: Sql, table_id: str) -> Any:
    """What the clock was told last about a table."""
    rows = await sql.fetch("select body from outbox where routing_key = 'table.changed' order by id desc")
    for row in rows:
        for changed in TablesChanged.FromString(row["body"]).changes:
            if changed.table_id == table_id and changed.HasField("timing"):
                return changed.timing
    return None


async def deal(replica: Replica, sql: Sql, table: Table) -> view.PublicView:
    """Deal the hand that is due; answers the view afterwards."""
    generation = (await timing(sql, table.id)).generation
    request = internal.DealHandRequest(table_id=table.id, generation=generation)
    answer = await replica.time.DealHand(request, metadata=SERVICE)
    assert not answer.stale
    return (await look(replica, table)).snapshot.view


async def refusal(call: Awaitable[Any]) -> CardroomError:
    """The error that a call is refused with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return from_rpc_error(caught.value)


async def until(true: Callable[[], Any], seconds: float = 30.0) -> None:
    """Wait until something is so; it may be async."""
    async with asyncio.timeout(seconds):
        while True:
            answer = true()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await asyncio.sleep(0.02)


REST_SECONDS = 0.6


async def owners(*replicas: Replica) -> None:
    """Wait until the replicas have shared all shards among themselves, and no more of them move."""
    keepers = [replica.part(LeaseKeeper) for replica in replicas]
    held: list[set[int]] = []
    since = time.monotonic()

    def at_rest() -> bool:
        nonlocal held, since
        now = [set(keeper.owned()) for keeper in keepers]
        if now != held:
            held, since = now, time.monotonic()
        return time.monotonic() - since > REST_SECONDS

    await until(lambda: sum(len(keeper.owned()) for keeper in keepers) == SHARDS and all(k.owned() for k in keepers))
    await until(lambda: all(k.owner_of(shard) is not None for k in keepers for shard in range(SHARDS)))
    await until(at_rest)


def owner_of(table_id: str, *replicas: Replica) -> tuple[Replica, Replica]:
    """Of two replicas, the one that owns a table, and the other."""
    one, two = replicas
    is_one = one.part(LeaseKeeper).epoch(shard_of(table_id)) is not None
    return (one, two) if is_one else (two, one)
