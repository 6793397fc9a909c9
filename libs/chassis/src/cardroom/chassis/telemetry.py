"""OpenTelemetry traces that follow one action over gRPC, the outbox and the bus; nearly free when they are off.

With neither an OTLP endpoint nor a trace file nothing of the SDK runs: `span` returns one shared object that does
nothing. An incoming `traceparent` is still passed on and logged, so that a neighbour's trace does not break here.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider

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
    from cardroom.chassis import _spans  # noqa: PLC0415 - slow import

    provider = _spans.provider(settings)
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
