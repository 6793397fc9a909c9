"""Forged and expired tokens, at the edge and at the services behind it: each is told why, and does nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc
import pytest
from joserfc.jwk import ECKey

from cardroom.contracts.identity.v1.identity_pb2 import WhoAmIRequest
from cardroom.contracts.lobby.v1.lobby_pb2 import GetMySeatRequest
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import PlayRequest
from cardroom.local import Stack
from tests.e2e import tokens
from tests.e2e.door import Call, Caller, Refused
from tests.e2e.room import LOBBY, TABLE, Room

WHO_AM_I = Call.of("cardroom.identity.v1.IdentityService/WhoAmI", WhoAmIRequest())
MY_SEAT = Call.of(f"{LOBBY}/GetMySeat", GetMySeatRequest())
REASONS = {
    "none at all": "TOKEN_MISSING",
    "rubbish": "TOKEN_INVALID",
    "far too long": "TOKEN_INVALID",
    "without a signature": "TOKEN_INVALID",
    "signed by a stranger": "TOKEN_INVALID",
    "signed by a stranger under an unknown key": "TOKEN_INVALID",
    "another player's name on my signature": "TOKEN_INVALID",
    "of another issuer": "TOKEN_INVALID",
    "for another audience": "TOKEN_INVALID",
    "expired": "TOKEN_EXPIRED",
}


@pytest.fixture(scope="module")
async def bad(stack: Stack, room: Room) -> dict[str, str]:
    """Every kind of bad token in the name of the player whose turn it is."""
    key, stranger = await tokens.signing_key(stack), ECKey.generate_key("P-256")
    said = tokens.claims(room.actor.player_id)
    mine, theirs = room.guest.token.split("."), room.actor.token.split(".")
    assert await room.actor.with_token(tokens.signed(key, said)).grpc(WHO_AM_I), "the key is the gateway's"
    return {
        "none at all": "",
        "rubbish": "a.b.c",
        "far too long": "x" * 20_000,
        "without a signature": tokens.unsigned(said),
        "signed by a stranger": tokens.signed(stranger, said, str(key.kid)),
        "signed by a stranger under an unknown key": tokens.signed(stranger, said, "1-unknown"),
        "another player's name on my signature": ".".join((mine[0], theirs[1], mine[2])),
        "of another issuer": tokens.signed(key, said | {"iss": "https://elsewhere.example"}),
        "for another audience": tokens.signed(key, said | {"aud": "elsewhere"}),
        "expired": tokens.signed(key, said | {"exp": int(time.time()) - 60}),
    }


@pytest.mark.parametrize("way", ["gRPC", "gRPC-Web", "JSON"])
async def test_a_bad_token_is_told_why_and_acts_for_nobody(room: Room, bad: dict[str, str], way: str) -> None:
    before = await room.state()
    calls = (WHO_AM_I, MY_SEAT, room.act(pb.ACTION_KIND_FOLD), _play(room), room.sit())
    for kind, token in bad.items():
        for call in calls:
            told = await _refusal(room.actor.with_token(token), way, call)
            assert told.says == ("UNAUTHENTICATED", REASONS[kind], "cardroom"), (kind, call.path)
            assert way != "JSON" or told.http_status == 401
    assert await room.state() == before


async def test_the_services_behind_the_edge_look_at_the_token_again(
    stack: Stack, room: Room, bad: dict[str, str]
) -> None:
    before = await room.state()
    addresses = [stack.address_of(name) for name in ("table-0", "table-1")]
    for address in addresses:
        async with grpc.aio.insecure_channel(address) as channel:
            act: Any = channel.unary_unary(f"/{TABLE}/Act")  # type: ignore[call-arg]
            for kind, token in bad.items():
                metadata = (("authorization", f"Bearer {token}"),) if token else ()
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await act(room.act(pb.ACTION_KIND_FOLD).request.SerializeToString(), metadata=metadata)
                assert Refused.of(raised.value).says == ("UNAUTHENTICATED", REASONS[kind], "cardroom"), kind
    assert await room.state() == before


async def test_a_service_is_no_player(room: Room) -> None:
    caller = await room.door.service("operator")
    for call in (MY_SEAT, room.act(pb.ACTION_KIND_FOLD), _play(room), room.sit()):
        told = await asyncio.gather(*(_refusal(caller, way, call) for way in caller.ways))
        assert {one.says for one in told} == {("PERMISSION_DENIED", "NOT_A_PLAYER", "cardroom")}, call.path


def _play(room: Room) -> Call:
    return Call.of(f"{TABLE}/Play", PlayRequest(table_id=room.table_id))


async def _refusal(caller: Caller, way: str, call: Call) -> Refused:
    with pytest.raises(Refused) as raised:
        await caller.ways[way](call)
    return raised.value
