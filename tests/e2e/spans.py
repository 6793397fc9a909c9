"""Spans of every process: the services write them into files, Envoy sends them to a collector."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from cardroom.local import Stack

EXPORT = "opentelemetry.proto.collector.trace.v1.TraceService"


@dataclass(frozen=True)
class Span:
    """One span, wherever it comes from."""

    service: str
    kind: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int

    @property
    def what(self) -> tuple[str, str, str]:
        """Who did what: service, kind and the name without its package."""
        return self.service, self.kind, self.name.rpartition("/")[2].rpartition("cardroom.events.v1.")[2]


@asynccontextmanager
async def collector(stack: Stack) -> AsyncIterator[list[Span]]:
    """What Envoy sends from now on, while this is open."""
    spans: list[Span] = []

    async def export(request: ExportTraceServiceRequest, _: Any) -> ExportTraceServiceResponse:
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                spans.extend(
                    Span(
                        "edge",
                        {2: "server", 3: "client"}.get(span.kind, "other"),
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                    )
                    for span in scope.spans
                )
        return ExportTraceServiceResponse()

    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        export, ExportTraceServiceRequest.FromString, ExportTraceServiceResponse.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(EXPORT, {"Export": handler}),))
    server.add_insecure_port(urlsplit(stack.edge.env["CARDROOM_EDGE_OTLP_ENDPOINT"]).netloc)
    await server.start()
    try:
        yield spans
    finally:
        await server.stop(0)


def of_trace(stack: Stack, trace_id: str, edge: Iterable[Span] = ()) -> list[Span]:
    """Every span of a trace, the earliest first."""
    found = [span for span in edge if span.trace_id == trace_id]
    for path in stack.logs.glob("*.spans.jsonl"):
        # A line that is being written is not whole yet.
        for line in path.read_text().splitlines():
            if trace_id in line and line.endswith("}"):
                said = json.loads(line)
                found.append(
                    Span(
                        said["service"],
                        said["kind"],
                        said["name"],
                        said["trace_id"],
                        said["span_id"],
                        said["parent_id"] or "",
                        said["start_ns"],
                    )
                )
    return sorted((span for span in found if span.trace_id == trace_id), key=lambda span: span.start_ns)
