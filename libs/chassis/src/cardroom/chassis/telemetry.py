"""OpenTelemetry traces that follow one action over gRPC, the outbox and the bus; nearly free when they are off.

With neither an OTLP endpoint nor a trace file nothing of the SDK runs: `span` returns one shared object that does
nothing. An incoming `traceparent` is still passed on and logged, so that a neighbour's trace does not break here.
"""

from __future__ import annotations

import json
import secrets
import threading
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cardroom.chassis.settings import ServiceSettings

Kind = Literal["internal", "server", "client", "producer", "consumer"]

_KINDS = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_passed_on: ContextVar[str | None] = ContextVar("traceparent", default=None)


class Span(Protocol):
    """What callers may do with a span."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Add a fact to the span. Never a hidden card, never a token."""


class _NoSpan(AbstractContextManager["_NoSpan"]):
    def __enter__(self) -> _NoSpan:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set_attribute(self, key: str, value: Any) -> None:
        return None


class _State:
    """The tracer of this process, or None while tracing is off."""

    tracer: trace.Tracer | None = None
    provider: TracerProvider | None = None


_NO_SPAN = _NoSpan()
# The last hex digit of the flags, where the lowest bit is set.
_SAMPLED = "13579bdf"


def setup(settings: ServiceSettings) -> None:
    """Turn tracing on if the settings name a collector or a file."""
    if settings.otlp_endpoint is None and settings.trace_file is None:
        return
    resource = Resource.create({"service.name": settings.service, "service.instance.id": settings.advertise_address})
    provider = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(settings.trace_sample_ratio)))
    if settings.otlp_endpoint is not None:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow import

        insecure = not settings.otlp_endpoint.startswith("https")
        provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.otlp_endpoint, insecure=insecure))
        )
    if settings.trace_file is not None:
        provider.add_span_processor(SimpleSpanProcessor(JsonLinesExporter(settings.trace_file)))
    _State.provider = provider
    _State.tracer = provider.get_tracer("cardroom")


def shutdown() -> None:
    """Write out what is buffered and turn tracing off."""
    provider, _State.provider, _State.tracer = _State.provider, None, None
    if provider is not None:
        provider.shutdown()


def enabled() -> bool:
    """Tell whether spans are recorded."""
    return _State.tracer is not None


def span(
    name: str, *, kind: Kind = "internal", parent: str | None = None, **attributes: Any
) -> AbstractContextManager[Span]:
    """Return a context manager for a span; `parent` is a traceparent, else the current span is the parent."""
    tracer = _State.tracer
    if tracer is None:
        return _NO_SPAN
    return _recorded(tracer, name, kind, parent, attributes)


def pass_on(traceparent: str | None) -> None:
    """Remember the traceparent of the call being handled, for a process that records nothing itself."""
    # On the path of every call, so only its shape is looked at: version-traceid-spanid-flags.
    if traceparent is not None and len(traceparent) == 55 and traceparent[2::33][:2] == "--" and traceparent[52] == "-":
        _passed_on.set(traceparent)


def traceparent() -> str | None:
    """Return the W3C traceparent to send along with what is being done now, or None outside of any trace."""
    if _State.tracer is not None:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return _passed_on.get()


def recorded_traceparent() -> str | None:
    """Return the traceparent to send along if its trace is recorded (sampled), here or by whoever began it; else None.

    What must be rare enough to be sent by itself: nothing in a trace that nobody records is worth a message.
    """
    current = traceparent()
    return current if current is not None and current[-1] in _SAMPLED else None


def current_ids() -> tuple[str, str] | None:
    """Return (trace id, span id) in hex, or None outside of any trace."""
    current = traceparent()
    if current is None:
        return None
    _, trace_id, span_id, _ = current.split("-", 3)
    return trace_id, span_id


def trace_id() -> str:
    """Return the current trace id, or a fresh one to find a log line by when there is none."""
    ids = current_ids()
    return ids[0] if ids else secrets.token_hex(16)


def start_client_span(name: str) -> trace.Span | None:
    """Return a started client span that its caller must end, or None while tracing is off."""
    return None if _State.tracer is None else _State.tracer.start_span(name, kind=SpanKind.CLIENT)


def traceparent_of(one: trace.Span) -> str:
    """Return the traceparent that makes `one` the parent."""
    context = one.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def parse(text: str) -> SpanContext | None:
    """Return the span context in a traceparent, or None if it is not one."""
    parts = text.split("-")
    if [len(part) for part in parts[:4]] != [2, 32, 16, 2]:
        return None
    try:
        trace_number, span_number, flags = int(parts[1], 16), int(parts[2], 16), int(parts[3], 16)
    except ValueError:
        return None
    context = SpanContext(trace_number, span_number, is_remote=True, trace_flags=TraceFlags(flags))
    return context if context.is_valid else None


@contextmanager
def _recorded(
    tracer: trace.Tracer, name: str, kind: Kind, parent: str | None, attributes: dict[str, Any]
) -> Iterator[Span]:
    remote = parse(parent) if parent else None
    context = None if remote is None else trace.set_span_in_context(NonRecordingSpan(remote))
    with tracer.start_as_current_span(
        name,
        context=context,
        kind=_KINDS[kind],
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as one:
        try:
            yield one
        except Exception as error:
            # The type only: a text may hold what a trace must not.
            one.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise


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
