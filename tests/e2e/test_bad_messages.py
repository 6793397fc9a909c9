"""Messages that are too large, malformed or sent to nobody, and streams opened a thousand times: answered clearly."""

from __future__ import annotations

import asyncio
import io
from collections import Counter
from typing import Any

import grpc
import pytest

from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest
from cardroom.contracts.table.v1.table_pb2 import ActRequest, PlayRequest
from tests.e2e.door import WEB, Call, Caller, Refused
from tests.e2e.room import TABLE, Room

ACT = Call.of(f"{TABLE}/Act", ActRequest())
PLAY = "/v1/tables/{table_id}/play"
ACTIONS = "/v1/tables/{table_id}/actions"
MALFORMED = ("INVALID_ARGUMENT", "MALFORMED_MESSAGE", "cardroom")
UNKNOWN = ("UNIMPLEMENTED", "METHOD_UNKNOWN", "cardroom")
TOO_LARGE = ("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE", "cardroom")
STREAMS, STREAMS_MAX = 1000, 4


async def refusal(awaitable: Any) -> Refused:
    with pytest.raises(Refused) as raised:
        await awaitable
    return raised.value


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"\x0a\x05abc", b"\x0a\x02\xff\xfe", b"{}"])
async def test_bytes_that_are_no_request_are_refused(room: Room, body: bytes) -> None:
    before = await room.state()
    framed = b"\0" + len(body).to_bytes(4, "big") + body
    told = [await refusal(room.actor.grpc(ACT, body)), await refusal(room.actor.grpc_web(ACT, framed))]
    assert {one.says for one in told} == {MALFORMED}
    assert await room.state() == before


@pytest.mark.parametrize("body", [b"", b"\0\0", b"\0\0\0\0\x09abc", b"\1\0\0\0\3abc", b"\0\0\0\0\0\0\0\0\0\0"])
async def test_frames_that_are_cut_off_or_too_many_are_refused_at_once(room: Room, body: bytes) -> None:
    assert (await refusal(room.actor.grpc_web(ACT, body))).says == MALFORMED


async def test_a_call_that_ends_without_a_request_is_refused_at_once(room: Room) -> None:
    async def nothing() -> Any:
        for message in list[bytes]():
            yield message

    call: Any = room.door.channel.stream_unary(ACT.path)  # type: ignore[call-arg]
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call(nothing(), metadata=tuple(room.actor.headers.items()))
    assert Refused.of(raised.value).says == MALFORMED


@pytest.mark.parametrize(
    "body",
    [
        '{"turn": {"hand_number": 1}',
        '{"turn": 7}',
        '{"turn": {"hand_number": "many"}}',
        '{"action": {"kind": "ACTION_KIND_BLUFF"}}',
        '{"action": {"amount": 1.5}}',
        '{"action": {"amount": "99999999999999999999"}}',
        '{"table_id": "of another table"}',
        "[1]",
        '"fold"',
        "null",
        "kind=fold",
        "{}{}",
        '{"turn":' * 1000,
    ],
)
async def test_json_that_is_no_request_is_told_what_is_wrong(room: Room, body: str) -> None:
    before = await room.state()
    status, told = await room.actor.http("POST", ACTIONS.format(table_id=room.table_id), data=body)
    assert (status, told.says) == (400, MALFORMED)
    assert "%" not in told.message, told.message
    assert len(told.message) > 15
    assert await room.state() == before


async def test_a_json_field_that_no_message_has_is_skipped_as_in_binary(room: Room) -> None:
    """So that a client of a later release can talk to this one. What is misspelled is missed as what it should be."""
    misspelled = {"turn": {"hand_nr": 1, "action_number": 1}, "action": {"kind": "ACTION_KIND_FOLD"}}
    _, told = await room.actor.http("POST", ACTIONS.format(table_id=room.table_id), json=misspelled)
    assert told.info.reason == "TURN_MISSING"


async def test_a_query_parameter_that_no_message_has_is_refused(room: Room) -> None:
    status, told = await room.guest.http("GET", "/v1/tables?colour=red")
    assert (status, told.says) == (400, MALFORMED)
    assert "colour" in told.message


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/nothing"),
        ("GET", ACTIONS),
        ("PUT", ACTIONS),
        ("DELETE", "/v1/tables/{table_id}"),
        ("POST", "/v1/tables/{table_id}"),
        ("POST", PLAY),
        ("POST", f"/{TABLE}/Act"),
        ("GET", f"/{TABLE}/Act"),
        ("POST", "/cardroom.table.v1.TableSeatService/EndSeating"),
    ],
)
async def test_a_path_or_verb_that_is_nobodys_is_told_so(room: Room, verb: str, path: str) -> None:
    sent: dict[str, object] = {"json": {}} if verb == "POST" else {}
    status, told = await room.actor.http(verb, path.format(table_id=room.table_id), **sent)
    assert (status, told.says) == (404, UNKNOWN)


@pytest.mark.parametrize(
    "path",
    [f"/{TABLE}/Raise", "/cardroom.table.v1.PokerService/Act", "/cardroom.table.v1.TableSeatService/EndSeating"],
)
async def test_a_grpc_method_that_does_not_exist_is_told_so(room: Room, path: str) -> None:
    call: Any = room.door.channel.unary_unary(path)  # type: ignore[call-arg]
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call(b"", metadata=tuple(room.actor.headers.items()))
    assert Refused.of(raised.value).says == UNKNOWN


async def test_a_message_above_a_mebibyte_is_refused_over_everything(room: Room) -> None:
    before = await room.state()
    large = ActRequest(table_id="x" * 1_100_000)
    raw = large.SerializeToString()
    told = [await refusal(room.actor.grpc(ACT, raw))]
    path = ACTIONS.format(table_id=room.table_id)
    json = b'{"table_id": "' + b"x" * 1_100_000 + b'"}'
    told.append((await room.actor.http("POST", path, data=io.BytesIO(json)))[1])
    framed = b"\0" + len(raw).to_bytes(4, "big") + raw
    async with room.door.http.post(
        ACT.path, data=io.BytesIO(framed), headers={"content-type": WEB, **room.actor.headers}
    ) as answer:
        told.append(Refused.of_headers(answer.headers))
    assert [one.says for one in told] == [TOO_LARGE] * 3
    assert await room.state() == before


async def test_headers_of_any_size_get_an_answer(room: Room) -> None:
    """What the edge takes the services take; more than that is refused, over HTTP/2 by closing the connection."""
    some, many = room.guest.along(**{"x-large": "x" * 30_000}), room.guest.along(**{"x-large": "x" * 100_000})
    call = Call.of(f"{TABLE}/Play", PlayRequest(table_id=room.table_id))
    for way in some.ways:
        assert (await refusal(some.ways[way](call))).info.reason == "NOT_SEATED", way
    assert (await refusal(many.json(call))).says == ("RESOURCE_EXHAUSTED", "HEADERS_TOO_LARGE", "cardroom")
    async with grpc.aio.insecure_channel(room.door.stack.edge_grpc, [("grpc.use_local_subchannel_pool", 1)]) as alone:
        method: Any = alone.unary_unary(ACT.path)  # type: ignore[call-arg]
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await method(b"", metadata=tuple(many.headers.items()))
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("what", ["playing", "watching"])
async def test_a_stream_opened_a_thousand_times_is_served_a_few_times(room: Room, what: str) -> None:
    before = await room.state()
    call = Call.of(f"{TABLE}/Play", PlayRequest(table_id=room.table_id))
    who, own = room.actor, 1
    if what == "watching":
        call = Call.of("cardroom.spectator.v1.SpectatorService/Watch", WatchRequest(table_id=room.table_id))
        who, own = room.guest, 0
    stream: Any = room.door.channel.unary_stream(call.path)  # type: ignore[call-arg]
    raw, metadata = call.request.SerializeToString(), tuple(who.headers.items())
    streams = [stream(raw, metadata=metadata) for _ in range(STREAMS)]
    outcomes = await asyncio.gather(*(one.read() for one in streams), return_exceptions=True)
    refused = [Refused.of(one) for one in outcomes if isinstance(one, grpc.aio.AioRpcError)]
    assert Counter(one.says for one in refused) == {
        ("RESOURCE_EXHAUSTED", "TOO_MANY_STREAMS", "cardroom"): STREAMS - (STREAMS_MAX - own)
    }
    status, told = await _sse(who, call)
    assert (status, told.info.reason) == (429, "TOO_MANY_STREAMS")
    for one in streams:
        one.cancel()
    await _until_served(who, call)
    assert await room.state() == before
    assert all(guest.session.is_connected for guest in room.at.guests)


async def test_after_all_that_the_table_plays_on(room: Room) -> None:
    room.at.gate.set()
    await room.at.until_hands(1)
    assert [guest.refusals for guest in room.at.guests] == [[], [], []]
    assert [guest.session.resyncs for guest in room.at.guests] == [0, 0, 0]


async def _sse(who: Caller, call: Call) -> tuple[int, Any]:
    verb, path, _ = call.http
    return await who.http(verb, path)


async def _until_served(who: Caller, call: Call) -> None:
    """Until the server has noticed that the streams are gone."""
    async with asyncio.timeout(30):
        while True:
            try:
                await who.grpc(call)
            except Refused:
                await asyncio.sleep(0.05)
            else:
                return
