"""The edge as a client of any kind meets it: the same call over gRPC, gRPC-Web or JSON, with whatever token.

The JSON form of a call is made from the annotations in the protos, so that every test can be made over each of them.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
import grpc
from google.api import annotations_pb2
from google.protobuf import any_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from cardroom.client import Client, PlayerClient
from cardroom.contracts.identity.v1.identity_pb2 import IssueServiceTokenRequest, SignInAsGuestRequest, Tokens
from cardroom.local import Stack

IDENTITY = "cardroom.identity.v1.IdentityService"
SECONDS = 20
WEB = "application/grpc-web+proto"


class Refused(Exception):
    """A call that was refused, with all that the answer says."""

    def __init__(self, status: status_pb2.Status, http_status: int = 0) -> None:
        self.code = next(code for code in grpc.StatusCode if code.value[0] == status.code).name
        self.message = status.message
        self.http_status = http_status
        infos = [error_details_pb2.ErrorInfo() for _ in status.details]
        unpacked = [info for info, detail in zip(infos, status.details, strict=True) if detail.Unpack(info)]
        self.info = unpacked[0] if unpacked else error_details_pb2.ErrorInfo()
        super().__init__(f"{self.code}/{self.info.reason}: {self.message}")

    @classmethod
    def of(cls, error: grpc.aio.AioRpcError) -> Refused:
        """The refusal that a gRPC call ended with."""
        return cls(_status(error))

    @classmethod
    def of_headers(cls, headers: Mapping[str, str]) -> Refused:
        """The refusal in the headers of a gRPC-Web answer, or in its trailers."""
        return cls(_status_of_headers(headers))

    @property
    def says(self) -> tuple[str, str, str]:
        """Status, reason and domain."""
        return self.code, self.info.reason, self.info.domain


@dataclass(frozen=True)
class Call:
    """One call: `Call("cardroom.table.v1.TableService/Act", ActRequest(...))`."""

    method: MethodDescriptor
    request: Message

    @classmethod
    def of(cls, name: str, request: Message) -> Self:
        """The call of that name; the module with its contract must be imported."""
        service, _, method = name.partition("/")
        return cls(descriptor_pool.Default().FindServiceByName(service).methods_by_name[method], request)

    @property
    def path(self) -> str:
        """Its path in gRPC."""
        return f"/{self.method.containing_service.full_name}/{self.method.name}"

    def answer(self, raw: bytes) -> Message:
        """What was answered."""
        return message_factory.GetMessageClass(self.method.output_type).FromString(raw)

    @property
    def has_json(self) -> bool:
        """Whether it has a JSON form."""
        return bool(self.method.GetOptions().HasExtension(annotations_pb2.http))

    @property
    def http(self) -> tuple[str, str, dict[str, Any]]:
        """Verb, path and fields of its JSON form. The fields go into the body of a POST, or the query of a GET."""
        rule = self.method.GetOptions().Extensions[annotations_pb2.http]
        fields = json_format.MessageToDict(self.request, preserving_proto_field_name=True)
        path = rule.post or rule.get
        for name in [name for name in fields if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", str(fields.pop(name)))
        return ("POST" if rule.post else "GET"), path, fields


@dataclass
class Caller:
    """Somebody with a token. Each way of calling returns the first or only answer, or raises Refused."""

    door: Door
    token: str = ""
    player_id: str = ""
    extra: dict[str, str] = field(default_factory=dict)
    """Headers to send along."""

    @property
    def headers(self) -> dict[str, str]:
        """What every call carries."""
        return {**({"authorization": f"Bearer {self.token}"} if self.token else {}), **self.extra}

    @property
    def ways(self) -> Mapping[str, Callable[[Call], Awaitable[Message]]]:
        """Every way of making a call."""
        return {"gRPC": self.grpc, "gRPC-Web": self.grpc_web, "JSON": self.json}

    async def grpc(self, call: Call, raw: bytes | None = None) -> Message:
        """Call over gRPC; `raw` is sent instead of the request."""
        body = call.request.SerializeToString() if raw is None else raw
        metadata = tuple(self.headers.items())
        try:
            if call.method.server_streaming:
                stream: Any = self.door.channel.unary_stream(call.path)  # type: ignore[call-arg]
                running = stream(body, metadata=metadata, timeout=SECONDS)
                first = await running.read()
                running.cancel()
                return call.answer(first)
            method: Any = self.door.channel.unary_unary(call.path)  # type: ignore[call-arg]
            return call.answer(await method(body, metadata=metadata, timeout=SECONDS))
        except grpc.aio.AioRpcError as error:
            raise Refused.of(error) from None

    async def grpc_web(self, call: Call, raw: bytes | None = None) -> Message:
        """Call as a web page does; `raw` is sent instead of the framed request."""
        message = call.request.SerializeToString()
        body = struct.pack(">BI", 0, len(message)) + message if raw is None else raw
        headers = {"content-type": WEB, "x-grpc-web": "1", **self.headers}
        async with self.door.http.post(call.path, data=body, headers=headers) as answer:
            assert answer.status == 200, (answer.status, await answer.text())
            if "grpc-status" in answer.headers:
                raise Refused.of_headers(answer.headers)
            flag, length = struct.unpack(">BI", await answer.content.readexactly(5))
            frame = await answer.content.readexactly(length)
        if flag & 0x80:
            raise Refused.of_headers(dict(line.split(":", 1) for line in frame.decode().split("\r\n") if line))
        return call.answer(frame)

    async def json(self, call: Call) -> Message:
        """Call over HTTP with JSON; of a stream, the first server-sent event."""
        verb, path, fields = call.http
        sent: dict[str, Any] = {"json": fields} if verb == "POST" else {"params": list(_query(fields))}
        async with self.door.http.request(verb, path, headers=self.headers, **sent) as answer:
            if answer.status != 200:
                raise Refused(status_of_json(await answer.text()), answer.status)
            if answer.content_type == "text/event-stream":
                text = (await answer.content.readuntil(b"\n\n")).decode().removeprefix("data: ")
            else:
                text = await answer.text()
        return json_format.Parse(text, message_factory.GetMessageClass(call.method.output_type)())

    async def http(self, verb: str, path: str, **sent: Any) -> tuple[int, Refused | Any]:
        """Any HTTP request: the status, and the refusal or what the JSON says."""
        async with self.door.http.request(verb, path, headers=self.headers, **sent) as answer:
            text = await answer.text()
            if answer.status == 200:
                return 200, json.loads(text)
            return answer.status, Refused(status_of_json(text), answer.status)

    def with_token(self, token: str) -> Caller:
        """The same with another token."""
        return Caller(self.door, token, self.player_id, self.extra)

    def along(self, **headers: str) -> Caller:
        """The same with more headers."""
        return Caller(self.door, self.token, self.player_id, self.extra | headers)


class Door:
    """A connection to the edge of each kind, shared by all callers of a session."""

    def __init__(self, stack: Stack, channel: grpc.aio.Channel, http: aiohttp.ClientSession, client: Client) -> None:
        self.stack = stack
        self.channel = channel
        self.http = http
        self.client = client

    @classmethod
    @asynccontextmanager
    async def open(cls, stack: Stack) -> AsyncIterator[Door]:
        """Connect, and close at the end."""
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with (
            grpc.aio.insecure_channel(stack.edge_grpc) as channel,
            aiohttp.ClientSession(stack.edge_url, timeout=timeout) as http,
            Client.connect(stack.edge_grpc) as client,
        ):
            yield cls(stack, channel, http, client)

    def nobody(self) -> Caller:
        """A caller without a token."""
        return Caller(self)

    async def guest(self, name: str = "Guest") -> Caller:
        """A new player."""
        sign_in = Call.of(f"{IDENTITY}/SignInAsGuest", SignInAsGuestRequest(display_name=name))
        answer: Any = await self.nobody().grpc(sign_in)
        tokens: Tokens = answer.tokens
        return Caller(self, tokens.access_token, answer.player.player_id)

    async def service(self, client: str) -> Caller:
        """A service, or the operator."""
        client_id, secret = self.stack.client_credentials(client)
        request = IssueServiceTokenRequest(client_id=client_id, client_secret=secret)
        answer: Any = await self.nobody().grpc(Call.of(f"{IDENTITY}/IssueServiceToken", request))
        return Caller(self, answer.tokens.access_token)

    async def player(self, caller: Caller) -> PlayerClient:
        """The same person with the Python client."""
        return await self.client.player_with_token(caller.token)


def _query(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The fields of a GET: those of a message in a message with dots between, those of a list each by itself."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _query(value, f"{prefix}{name}.")
        else:
            yield from ((f"{prefix}{name}", str(one)) for one in (value if isinstance(value, list) else [value]))


def status_of_json(text: str) -> status_pb2.Status:
    """The status in the JSON body of a refusal."""
    body = json.loads(text)
    assert set(body) <= {"code", "message", "details"}, text
    status = status_pb2.Status(code=body["code"], message=body["message"])
    for detail in body.get("details", ()):
        assert detail.pop("@type") == "type.googleapis.com/google.rpc.ErrorInfo", text
        packed = any_pb2.Any()
        packed.Pack(json_format.ParseDict(detail, error_details_pb2.ErrorInfo()))
        status.details.append(packed)
    return status


def _status(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    trailing: Any = error.trailing_metadata() or ()
    for key, value in trailing:
        if key == "grpc-status-details-bin":
            return status_pb2.Status.FromString(value)
    return status_pb2.Status(code=error.code().value[0], message=error.details() or "")


def _status_of_headers(headers: Mapping[str, str]) -> status_pb2.Status:
    details = headers.get("grpc-status-details-bin", "").strip()
    if details:
        return status_pb2.Status.FromString(base64.b64decode(details + "=" * (-len(details) % 4)))
    return status_pb2.Status(code=int(headers["grpc-status"]), message=headers.get("grpc-message", ""))
