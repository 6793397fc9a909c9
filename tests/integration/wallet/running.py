"""A wallet started in the test's own process, and tokens that it believes."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import grpc
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

from cardroom.chassis.auth import TokenVerifier
from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.chassis.grpc_server import GrpcServer
from cardroom.chassis.service import App
from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.contracts.wallet.v1 import ledger_pb2_grpc, wallet_pb2_grpc
from cardroom.wallet.app import build
from cardroom.wallet.settings import WalletSettings

KEY = ECKey.generate_key("P-256", parameters={"kid": "test", "use": "sig", "alg": "ES256"})
EVERYTHING = ("wallet.read", "wallet.hold", "wallet.transfer", "wallet.grant")


def token(subject: str, scopes: Sequence[str]) -> str:
    """A signed token."""
    now = int(time.time())
    claims = {"iss": "https://cardroom.local", "aud": "cardroom", "sub": subject, "scope": " ".join(scopes)}
    return jwt.encode({"alg": "ES256", "kid": "test"}, {**claims, "iat": now, "exp": now + 3600}, KEY)


def new_id() -> str:
    """A fresh UUID."""
    return str(uuid.uuid4())


@dataclass
class Wallet:
    """A running wallet, and how to call it as whoever a test needs."""

    settings: WalletSettings
    app: App
    channel: grpc.aio.Channel
    pool: asyncpg.Pool[Any]
    _tokens: dict[Any, str] = field(default_factory=dict, repr=False)

    def metadata(self, subject: str, *scopes: str) -> list[tuple[str, str]]:
        """The metadata of a call by `subject`."""
        key = (subject, scopes)
        if key not in self._tokens:
            self._tokens[key] = token(subject, scopes)
        return [("authorization", f"Bearer {self._tokens[key]}")]

    async def player(self, player_id: str, method: str, request: Any) -> Any:
        """A call by a player."""
        stub = wallet_pb2_grpc.WalletServiceStub(self.channel)
        return await getattr(stub, method)(request, metadata=self.metadata(player_id, "play"))

    async def call(self, method: str, request: Any, subject: str = "service:lobby", *scopes: str) -> Any:
        """A call by a service, with every service scope unless said otherwise."""
        stub = ledger_pb2_grpc.LedgerServiceStub(self.channel)
        return await getattr(stub, method)(request, metadata=self.metadata(subject, *(scopes or EVERYTHING)))

    async def grant(self, account: str, amount: int) -> Any:
        """New chips; a house account is opened first."""
        if account.startswith("house/"):
            await self.call("OpenHouseAccount", pb.OpenHouseAccountRequest(request_id=new_id(), account=account))
        request = pb.GrantRequest(request_id=new_id(), account=account, amount=amount, reason="test")
        return await self.call("Grant", request)

    async def available(self, account: str) -> int:
        """What an account may spend."""
        return int((await self.call("GetAccount", pb.GetAccountRequest(account=account))).balance.available)

    async def place(self, account: str, amount: int, **fields: Any) -> Any:
        """A hold."""
        fields.setdefault("request_id", new_id())
        return await self.call("PlaceHold", pb.PlaceHoldRequest(account=account, amount=amount, **fields))

    async def buy_in(self, table_id: str, player_id: str, amount: int) -> None:
        """Chips of a player into the escrow at a table."""
        held = await self.place(f"player/{player_id}/play", amount)
        request = pb.PostHoldRequest(
            request_id=new_id(), hold_id=held.hold.hold_id, to_account=f"escrow/{table_id}/{player_id}"
        )
        await self.call("PostHold", request)

    async def audit(self, *, from_start: bool = True) -> Any:
        """What the audit says."""
        return await self.call("RunAudit", pb.RunAuditRequest(from_start=from_start))


async def start(database_url: str, amqp_url: str, **changes: Any) -> Wallet:
    """Start a wallet on a free port."""
    settings = WalletSettings(
        database_url=database_url, amqp_url=amqp_url, grpc_port=0, ops_port=0, **{"audit_seconds": 0, **changes}
    )
    app = await build(settings, TokenVerifier(settings, keys=KeySet([KEY])))
    await app.ops.start()
    await app.start()
    [server] = [part for part in app._parts if isinstance(part, GrpcServer)]
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{server.port}")
    pool = asyncpg.create_pool(database_url, min_size=1, max_size=8, server_settings={"jit": "off"})
    await pool
    return Wallet(settings, app, channel, pool)


async def stop(wallet: Wallet) -> None:
    """Stop it and free everything."""
    await wallet.channel.close(None)
    await wallet.app.stop()
    await wallet.app.ops.stop()
    await wallet.pool.close()


async def refusal(call: Awaitable[Any]) -> CardroomError:
    """The error that a call is refused with."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return from_rpc_error(raised.value)


async def until(true: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Wait for what happens by itself."""
    give_up = time.monotonic() + seconds
    while not await true():
        assert time.monotonic() < give_up, f"did not happen within {seconds:g} s"
        await asyncio.sleep(0.01)
