"""Where recorded spans go. The SDK takes its time to load, so only a process that records spans loads it."""

from __future__ import annotations

import json
import threading
from typing import IO, TYPE_CHECKING, Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cardroom.chassis.settings import ServiceSettings


def provider(settings: ServiceSettings) -> TracerProvider:
    """Return what makes spans and sends them where the settings say."""
    resource = Resource.create({"service.name": settings.service, "service.instance.id": settings.advertise_address})
    made = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(settings.trace_sample_ratio)))
    if settings.otlp_endpoint is not None:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow import

        insecure = not settings.otlp_endpoint.startswith("https")
        made.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.otlp_endpoint, insecure=insecure))
        )
    if settings.trace_file is not None:
        made.add_span_processor(SimpleSpanProcessor(JsonLinesExporter(settings.trace_file)))
    return made


class JsonLinesExporter(SpanExporter):
    """Writes each span as one JSON line, at once, so that tests can read what a killed process had done."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append the spans to the file."""
        with self._lock:
            self._file.writelines(json.dumps(_as_dict(one), default=str) + "\n" for one in spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def _as_dict(one: ReadableSpan) -> dict[str, Any]:
    context = one.get_span_context()
    assert context is not None
    return {
        "service": one.resource.attributes.get("service.name"),
        "instance": one.resource.attributes.get("service.instance.id"),
        "name": one.name,
        "kind": one.kind.name.lower(),
        "trace_id": f"{context.trace_id:032x}",
        "span_id": f"{context.span_id:016x}",
        "parent_id": f"{one.parent.span_id:016x}" if one.parent else None,
        "start_ns": one.start_time,
        "end_ns": one.end_time,
        "status": one.status.status_code.name,
        "attributes": dict(one.attributes or {}),
        "events": [{"name": event.name, "attributes": dict(event.attributes or {})} for event in one.events],
    }
