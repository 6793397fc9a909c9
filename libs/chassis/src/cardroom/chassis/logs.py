"""JSON logs, one object a line on standard output, with the ids of the current trace.

No log line is written per action at level info: the hot path has metrics and traces.
"""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from cardroom.chassis import telemetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from structlog.typing import EventDict, FilteringBoundLogger, Processor


@contextmanager
def _not_to_be_found(library: str) -> Iterator[None]:
    """Let whoever tries to import `library` do without it."""
    if library in sys.modules:
        yield
        return
    sys.modules[library] = None  # type: ignore[assignment]  # that is how Python is told
    try:
        yield
    finally:
        del sys.modules[library]


# For coloured tracebacks, which are not wanted here, structlog would load rich where that is installed: a quarter of
# the time that a service takes to load.
with _not_to_be_found("rich"):
    import structlog

# Until `setup` is called (tests, scripts): readable lines, and never the local variables of a traceback.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

_QUIET = ("aiormq", "aio_pika", "grpc", "asyncio", "aiohttp.access", "yoyo", "opentelemetry")


def get(name: str, **bound: object) -> FilteringBoundLogger:
    """Return a logger; `name` is the part that speaks, `bound` goes into each of its lines."""
    return cast("FilteringBoundLogger", structlog.get_logger(source=name, **bound))


def setup(service: str, level: str = "info", *, instance: str = "") -> None:
    """Send everything, the libraries' own records included, to standard output as JSON lines."""
    number = logging.getLevelNamesMapping()[level.upper()]
    about = {"service": service, "instance": instance} if instance else {"service": service}

    def add_service(_logger: Any, _method: str, event: EventDict) -> EventDict:
        event.update(about)
        return event

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_service,
        _add_trace,
        # Never with local variables: a deck may be among them.
        structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=False,
    )
    _take_over_stdlib(shared, number)


def _add_trace(_logger: Any, _method: str, event: EventDict) -> EventDict:
    ids = telemetry.current_ids()
    if ids is not None:
        event["trace_id"], event["span_id"] = ids
    return event


def _take_over_stdlib(shared: list[Processor], level: int) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
