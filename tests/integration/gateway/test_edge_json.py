"""Design §7: JSON over HTTP, from the annotations in the protos; streams as server-sent events."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from joserfc.jwk import ECKey

from tests.integration.gateway.edge import Edge, FakeServices, Issuer


@pytest.fixture
async def http(edge: Edge) -> Any:
    async with aiohttp.ClientSession(edge.url) as session:
        yield session


@pytest.fixture
def bearer(issuer: Issuer) -> dict[str, str]:
    return {"authorization": f"Bearer {issuer.token()}"}


async def reason(answer: aiohttp.ClientResponse) -> str:
    body = json.loads(await answer.text())
    assert answer.content_type == "application/json"
    (detail,) = body["details"]
    assert detail["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert detail["domain"] == "cardroom"
    assert body["message"]
    return str(detail["reason"])


async def test_a_get_becomes_a_call_and_its_answer_names_every_field(
    http: aiohttp.ClientSession, bearer: dict[str, str]
) -> None:
    async with http.get("/v1/tables/t1", headers=bearer) as answer:
        assert answer.status == 200
        body = await answer.json()
    assert body["table"]["table_id"] == "t1"
    assert body["table"]["seats_taken"] == 0


async def test_a_post_carries_its_body_and_the_path(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices
) -> None:
    action = {"turn": {"hand_number": 3, "action_number": 2}, "action": {"kind": "ACTION_KIND_FOLD"}}
    async with http.post("/v1/tables/t1/actions", headers=bearer, json=action) as answer:
        assert (await answer.json())["turn"] == {"hand_number": "3", "action_number": 2}
    assert clean_services.calls == ["Act"]


async def test_the_token_and_the_trace_reach_the_service(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with http.get("/v1/tables/t1", headers=bearer | {"traceparent": trace}) as answer:
        assert answer.status == 200
    assert clean_services.metadata[0]["authorization"] == bearer["authorization"]
    assert clean_services.metadata[0]["traceparent"] == trace


async def test_a_stream_comes_as_server_sent_events(http: aiohttp.ClientSession, bearer: dict[str, str]) -> None:
    async with http.get("/v1/tables/t1/watch", headers=bearer) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        text = await answer.text()
    events = [json.loads(event.removeprefix("data: ")) for event in text.strip().split("\n\n")]
    assert [event["version"] for event in events] == ["1", "2", "3"]
    assert events[0]["heartbeat"] == {}


async def test_events_come_while_the_stream_is_open(http: aiohttp.ClientSession, bearer: dict[str, str]) -> None:
    async with http.get("/v1/tables/endless/watch", headers=bearer) as answer, asyncio.timeout(30):
        first = await answer.content.readuntil(b"\n\n")
    assert json.loads(first.removeprefix(b"data: "))["version"] == "1"


async def test_a_refusal_of_a_service_comes_as_a_status_with_its_details(
    http: aiohttp.ClientSession, bearer: dict[str, str]
) -> None:
    async with http.get("/v1/tables/unknown", headers=bearer) as answer:
        assert answer.status == 404
        assert await reason(answer) == "TABLE_UNKNOWN"
    async with http.get("/v1/tables/unknown/watch", headers=bearer) as answer:
        assert answer.status == 404
        assert await reason(answer) == "TABLE_UNKNOWN"


async def test_a_bad_token_gets_its_own_error_and_reaches_no_service(
    http: aiohttp.ClientSession, issuer: Issuer, clean_services: FakeServices
) -> None:
    stranger = ECKey.generate_key("P-256", parameters={"kid": "k1"})
    bad: dict[str, list[str | None]] = {
        "TOKEN_MISSING": [None],
        "TOKEN_EXPIRED": [issuer.token(exp=1_000_000)],
        "TOKEN_INVALID": [
            "rubbish",
            issuer.token(key=stranger),
            issuer.token(iss="https://elsewhere.example"),
            issuer.token(aud="someone else"),
        ],
    }
    for expected, tokens in bad.items():
        for token in tokens:
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            async with http.get("/v1/tables/t1", headers=headers) as answer:
                assert answer.status == 401
                assert await reason(answer) == expected
    assert clean_services.calls == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/nothing",
        "/",
        "/cardroom.table.v1.TableSeatService/OpenTable",
        # JSON has paths of its own.
        "/cardroom.table.v1.TableService/Act",
        "/cardroom.table.v1.TableService/Play",
        "/cardroom.identity.v1.IdentityService/SignInAsGuest",
    ],
)
async def test_an_unknown_path_says_so(
    http: aiohttp.ClientSession, bearer: dict[str, str], path: str, clean_services: FakeServices
) -> None:
    async with http.post(path, headers=bearer, json={}) as answer:
        assert answer.status == 404
        assert await reason(answer) == "METHOD_UNKNOWN"
    assert clean_services.calls == []


async def test_a_malformed_request_is_told_what_is_wrong(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices
) -> None:
    async with http.get("/v1/tables/t1?colour=red", headers=bearer) as answer:
        assert answer.status == 400
        assert "colour" in await answer.text()
        assert await reason(answer) == "MALFORMED_MESSAGE"
    for body in ('{"turn', '{"turn": 7}', '{"turn": {"hand_number": "many"}}', '{"table_id": "not the path"}'):
        async with http.post("/v1/tables/t1/actions", headers=bearer, data=body) as answer:
            assert answer.status == 400, body
            assert await reason(answer) == "MALFORMED_MESSAGE"
    assert clean_services.calls == []


async def test_an_oversized_request_is_refused(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices
) -> None:
    body = io.BytesIO(json.dumps({"table_id": "x" * 1_100_000}).encode())
    async with http.post("/v1/tables/t1/actions", headers=bearer, data=body) as answer:
        assert answer.status == 413
        assert await reason(answer) == "MESSAGE_TOO_LARGE"
    assert clean_services.calls == []


async def test_headers_that_are_too_large_are_refused(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices
) -> None:
    async with http.get("/v1/tables/t1", headers=bearer | {"x-large": "x" * 100_000}) as answer:
        assert answer.status == 431
        assert await reason(answer) == "HEADERS_TOO_LARGE"
    assert clean_services.calls == []


async def test_a_web_page_of_an_allowed_origin_may_call(http: aiohttp.ClientSession, bearer: dict[str, str]) -> None:
    asks = {
        "origin": "http://localhost:3000",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    async with http.options("/v1/tables/t1/actions", headers=asks) as answer:
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
        assert "authorization" in answer.headers["access-control-allow-headers"]
    async with http.get("/v1/tables/t1", headers=bearer | {"origin": "http://localhost:3000"}) as answer:
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
    async with http.get("/v1/tables/t1", headers={"origin": "http://localhost:3000"}) as answer:
        assert answer.status == 401
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_a_web_page_of_another_origin_may_not(http: aiohttp.ClientSession) -> None:
    asks = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    async with http.options("/v1/tables/t1/actions", headers=asks) as answer:
        assert "access-control-allow-origin" not in answer.headers


async def test_too_many_requests_are_told_so(
    start_edge: Callable[..., Awaitable[Edge]], bearer: dict[str, str], clean_services: FakeServices
) -> None:
    slow = await start_edge(rate_per_second=1)
    async with aiohttp.ClientSession(slow.url) as session:

        async def ask() -> int:
            async with session.get("/v1/tables/t1", headers=bearer) as answer:
                if answer.status == 429:
                    assert await reason(answer) == "RATE_LIMITED"
                return answer.status

        statuses = await asyncio.gather(*(ask() for _ in range(20)))
    assert 429 in statuses
    assert len(clean_services.calls) == statuses.count(200)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('{"turn": {"hand_number": 1}', "Unexpected end of string"),
        ('{"turn": {"hand_number": "many"}}', "turn.hand_number"),
        ('{"turn": "20%"}', "20%"),
        ("[1]", "must be a message"),
        ("kind=fold", "kind=fold"),
    ],
)
async def test_broken_json_is_told_what_would_be_right_and_what_is_wrong(
    http: aiohttp.ClientSession, bearer: dict[str, str], clean_services: FakeServices, body: str, wrong: str
) -> None:
    async with http.post("/v1/tables/t1/actions", headers=bearer, data=body) as answer:
        assert (answer.status, await reason(answer)) == (400, "MALFORMED_MESSAGE")
        told = (await answer.json())["message"]
    assert told.startswith("the request cannot be read: send one JSON object")
    assert wrong in told.partition("what is wrong with this one: ")[2]
    assert clean_services.calls == []
