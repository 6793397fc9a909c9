"""A guest's whole visit over each way that the edge speaks: gRPC, gRPC-Web, and JSON with server-sent events."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import uuid
from typing import Any

import pytest
from google.protobuf.json_format import Parse

from cardroom.contracts.identity.v1 import identity_pb2 as identity
from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest
from cardroom.contracts.table.v1 import table_pb2 as table
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.wallet.v1 import types_pb2, wallet_pb2
from cardroom.local import Stack
from cardroom.local.services import http_get
from tests.e2e.door import IDENTITY, WEB, Call, Caller, Door, Refused
from tests.e2e.room import LOBBY, TABLE, WALLET
from tests.party import open_table

WAYS = ["gRPC", "gRPC-Web", "JSON"]
WATCH = "cardroom.spectator.v1.SpectatorService/Watch"
GRANT, BUY_IN = 10_000, 400


class Visitor:
    """A guest who makes every call one way."""

    def __init__(self, door: Door, way: str) -> None:
        self.caller, self.way = door.nobody(), way
        self.refresh_token = ""

    async def says(self, name: str, request: Any) -> Any:
        """Make a call."""
        return await self.caller.ways[self.way](Call.of(name, request))

    async def signs_in(self, name: str) -> None:
        """Come in as a new guest."""
        answer = await self.says(f"{IDENTITY}/SignInAsGuest", identity.SignInAsGuestRequest(display_name=name))
        assert answer.player.display_name == name
        self.takes(answer)

    def takes(self, answer: Any) -> None:
        """Use the tokens of an answer from now on."""
        self.caller = Caller(self.caller.door, answer.tokens.access_token, answer.player.player_id)
        self.refresh_token = answer.tokens.refresh_token

    async def sits(self, table_id: str) -> lobby.Seating:
        """Sit down anywhere."""
        request = lobby.SitDownRequest(table_id=table_id, buy_in=BUY_IN, request_id=str(uuid.uuid4()))
        seating: lobby.Seating = (await self.says(f"{LOBBY}/SitDown", request)).seating
        return seating

    async def sees(self, table_id: str) -> table.Snapshot:
        """The first message of the player's stream."""
        snapshot: table.Snapshot = (await self.says(f"{TABLE}/Play", table.PlayRequest(table_id=table_id))).snapshot
        return snapshot

    async def leaves(self, table_id: str) -> int:
        """Leave, and wait for the chips."""
        async with asyncio.timeout(30):
            while True:
                answer = await self.says(f"{LOBBY}/LeaveTable", lobby.LeaveTableRequest(table_id=table_id))
                if answer.seating.state == lobby.SEATING_STATE_OVER:
                    return int(answer.cashed_out)
                await asyncio.sleep(0.05)


@pytest.fixture(params=WAYS)
async def two(door: Door, request: pytest.FixtureRequest) -> tuple[Visitor, Visitor]:
    """Two guests who speak the same way."""
    ann, bo = Visitor(door, request.param), Visitor(door, request.param)
    await ann.signs_in("Ann")
    await bo.signs_in("Bo")
    return ann, bo


async def test_who_signs_in_is_known_and_has_the_grant(two: tuple[Visitor, Visitor]) -> None:
    ann, bo = two
    who = await ann.says(f"{IDENTITY}/WhoAmI", identity.WhoAmIRequest())
    assert (who.subject, who.player.display_name, list(who.scopes)) == (ann.caller.player_id, "Ann", ["play"])
    assert ann.caller.player_id != bo.caller.player_id
    balance = await ann.says(f"{WALLET}/GetBalance", wallet_pb2.GetBalanceRequest())
    assert (balance.balance.available, balance.at_tables) == (GRANT, 0)


async def test_a_refresh_gives_a_working_token_for_the_same_player_once(two: tuple[Visitor, Visitor]) -> None:
    ann, _ = two
    first, player_id = ann.refresh_token, ann.caller.player_id
    answer = await ann.says(f"{IDENTITY}/RefreshToken", identity.RefreshTokenRequest(refresh_token=first))
    ann.takes(answer)
    assert ann.refresh_token not in {"", first}
    assert (await ann.says(f"{IDENTITY}/WhoAmI", identity.WhoAmIRequest())).subject == player_id
    # An answer that was lost is asked for again; it is not a theft yet.
    again = await ann.says(f"{IDENTITY}/RefreshToken", identity.RefreshTokenRequest(refresh_token=first))
    assert again.player.player_id == player_id


async def test_a_hand_is_played_and_settled(two: tuple[Visitor, Visitor], door: Door, stack: Stack) -> None:
    table_id = (await open_table(door.client, stack, name="Visit")).table_id
    for number, guest in enumerate(two, 1):
        seating = await guest.sits(table_id)
        mine = (await guest.says(f"{LOBBY}/GetMySeat", lobby.GetMySeatRequest())).seating
        assert (mine.seating_id, mine.seat, mine.state) == (seating.seating_id, number, lobby.SEATING_STATE_SEATED)
    found = (await two[0].says(f"{LOBBY}/GetTable", lobby.GetTableRequest(table_id=table_id))).table
    assert (found.name, found.seats_taken, list(found.free_seats)) == ("Visit", 2, [3, 4, 5, 6])
    await _plays_a_hand(table_id, two)
    back = [await guest.leaves(table_id) for guest in two]
    assert sum(back) == 2 * BUY_IN
    for guest, chips in zip(two, back, strict=True):
        assert not (await guest.says(f"{LOBBY}/GetMySeat", lobby.GetMySeatRequest())).HasField("seating")
        balance = await guest.says(f"{WALLET}/GetBalance", wallet_pb2.GetBalanceRequest())
        assert (balance.balance.posted, balance.balance.held) == (GRANT - BUY_IN + chips, 0)
        entries = (await guest.says(f"{WALLET}/ListEntries", wallet_pb2.ListEntriesRequest(page_size=10))).entries
        assert [entry.kind for entry in entries] == [
            types_pb2.TRANSFER_KIND_CASH_OUT,
            types_pb2.TRANSFER_KIND_HOLD_POSTED,
            types_pb2.TRANSFER_KIND_HOLD_PLACED,
            types_pb2.TRANSFER_KIND_SIGN_UP,
        ]
    watched = await two[0].says(WATCH, WatchRequest(table_id=table_id))
    assert watched.version > 0


async def test_a_player_sits_out_and_comes_back(two: tuple[Visitor, Visitor], door: Door, stack: Stack) -> None:
    ann, _ = two
    table_id = (await open_table(door.client, stack)).table_id
    await ann.sits(table_id)
    answer = await ann.says(f"{TABLE}/SitOut", table.SitOutRequest(table_id=table_id))
    assert answer.status == pb.SEAT_STATUS_SITTING_OUT
    answer = await ann.says(f"{TABLE}/ComeBack", table.ComeBackRequest(table_id=table_id))
    assert answer.status == pb.SEAT_STATUS_PLAYING
    assert await ann.leaves(table_id) == BUY_IN


async def test_tables_are_listed_page_by_page(two: tuple[Visitor, Visitor], door: Door, stack: Stack) -> None:
    ann, _ = two
    opened = {(await open_table(door.client, stack)).table_id for _ in range(3)}
    listed, token = set[str](), ""
    while True:
        page = await ann.says(f"{LOBBY}/ListTables", lobby.ListTablesRequest(page_size=2, page_token=token))
        assert len(page.tables) <= 2
        listed |= {found.table_id for found in page.tables}
        token = page.next_page_token
        if not token:
            break
    assert opened <= listed


async def test_a_stream_goes_on_over_grpc_web(door: Door, stack: Stack) -> None:
    ann, bo, table_id = await _seated_pair(door, stack)
    body = _framed(table.PlayRequest(table_id=table_id).SerializeToString())
    headers = {"content-type": WEB, **ann.caller.headers}
    async with door.http.post(f"/{TABLE}/Play", data=body, headers=headers) as answer:

        async def following() -> table.PlayResponse:
            flag, length = struct.unpack(">BI", await answer.content.readexactly(5))
            assert flag == 0
            return table.PlayResponse.FromString(await answer.content.readexactly(length))

        await _assert_follows(following, table_id, (ann, bo))


async def test_a_stream_goes_on_as_server_sent_events(door: Door, stack: Stack) -> None:
    ann, bo, table_id = await _seated_pair(door, stack)
    headers = {"accept": "text/event-stream", **ann.caller.headers}
    async with door.http.get(f"/v1/tables/{table_id}/play", headers=headers) as answer:
        assert answer.content_type == "text/event-stream"

        async def following() -> table.PlayResponse:
            event = (await answer.content.readuntil(b"\n\n")).decode()
            assert event.startswith("data: ")
            return Parse(event.removeprefix("data: "), table.PlayResponse())

        await _assert_follows(following, table_id, (ann, bo))


async def test_a_watcher_follows_as_server_sent_events(door: Door, stack: Stack) -> None:
    ann, bo, table_id = await _seated_pair(door, stack)
    watcher = await door.guest("Watcher")
    async with door.http.get(f"/v1/tables/{table_id}/watch", headers=watcher.headers) as answer:
        await _plays_a_hand(table_id, (ann, bo))
        versions, text = list[int](), ""
        async with asyncio.timeout(30):
            while "hand_ended" not in text:
                text = (await answer.content.readuntil(b"\n\n")).decode().removeprefix("data: ")
                assert "own_cards" not in text
                if "heartbeat" not in text:
                    # A second ago there may have been no table yet: version 0, which JSON leaves out.
                    versions.append(int(json.loads(text).get("version", 0)))
    assert versions == list(range(versions[0], versions[0] + len(versions)))


async def test_tokens_are_signed_with_a_published_key(door: Door, stack: Stack) -> None:
    caller = await door.guest()
    header = json.loads(base64.urlsafe_b64decode(caller.token.split(".")[0] + "=="))
    status, body = await http_get(stack.processes["gateway"].place.ops_port, "/.well-known/jwks.json")
    keys = json.loads(body)["keys"]
    assert status == 200
    assert header["kid"] in {key["kid"] for key in keys}
    assert not any({"d", "k", "p"} & key.keys() for key in keys), "public halves only"


async def test_a_services_token_opens_what_its_scopes_say(door: Door) -> None:
    operator = await door.service("operator")
    stakes = pb.Stakes(game=pb.GAME_NO_LIMIT_HOLDEM, small_blind=5, big_blind=10, seats=6)
    name = f"Over {uuid.uuid4().hex[:8]}"
    create = lobby.CreateTableRequest(name=name, stakes=stakes, request_id=str(uuid.uuid4()))
    opened: set[str] = set()
    for way in WAYS:
        answer: Any = await operator.ways[way](Call.of("cardroom.lobby.v1.LobbyAdminService/CreateTable", create))
        opened.add(answer.table.table_id)
    assert len(opened) == 1, "one request, sent three ways"
    with pytest.raises(Refused) as raised:
        await (await door.service("sandbox")).json(Call.of("cardroom.lobby.v1.LobbyAdminService/CreateTable", create))
    assert raised.value.says == ("PERMISSION_DENIED", "SCOPE_MISSING", "cardroom")


async def _seated_pair(door: Door, stack: Stack) -> tuple[Visitor, Visitor, str]:
    ann, bo = Visitor(door, "gRPC"), Visitor(door, "gRPC")
    table_id = (await open_table(door.client, stack)).table_id
    for guest, name in ((ann, "Ann"), (bo, "Bo")):
        await guest.signs_in(name)
        await guest.sits(table_id)
    return ann, bo, table_id


async def _assert_follows(following: Any, table_id: str, guests: tuple[Visitor, Visitor]) -> None:
    """A snapshot, then every change with the next version, while the others play."""
    first: table.PlayResponse = await following()
    assert first.HasField("snapshot")
    await _plays_a_hand(table_id, guests)
    version, events = first.version, list[pb.TableEvent]()
    async with asyncio.timeout(30):
        while not any(event.HasField("hand_ended") for event in events):
            message: table.PlayResponse = await following()
            if message.HasField("change"):
                version += 1
                assert message.version == version
                events += message.change.events


async def _plays_a_hand(table_id: str, guests: tuple[Visitor, Visitor]) -> None:
    """Check and call until a hand is over."""
    async with asyncio.timeout(30):
        number = 0
        while True:
            for guest in guests:
                hand = (await guest.sees(table_id)).view.hand
                number = number or hand.hand_number
                if hand.hand_number > number or (number and hand.is_over):
                    return
                if hand.turn.player_id == guest.caller.player_id:
                    kind = pb.ACTION_KIND_CHECK if hand.turn.legal.can_check else pb.ACTION_KIND_CALL
                    act = table.ActRequest(table_id=table_id, turn=hand.turn.token, action=table.Action(kind=kind))
                    answer = await guest.says(f"{TABLE}/Act", act)
                    assert answer.taken.action_number == hand.turn.token.action_number


def _framed(message: bytes) -> bytes:
    return struct.pack(">BI", 0, len(message)) + message
