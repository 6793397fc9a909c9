"""Traces: nearly nothing when off; a parent from the wire, one JSON line a span when on."""

from __future__ import annotations

import contextvars
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cardroom.chassis import telemetry
from cardroom.chassis.outbox import OutboxMessage, columns
from cardroom.chassis.settings import ServiceSettings

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def trace_file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "spans.jsonl"
    telemetry.setup(ServiceSettings(trace_file=path))
    yield path
    telemetry.shutdown()


def spans(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_off_means_off() -> None:
    assert not telemetry.enabled()
    assert telemetry.span("a") is telemetry.span("b", kind="server", parent=PARENT)
    with telemetry.span("a") as span:
        span.set_attribute("x", 1)
    assert telemetry.start_client_span("a") is None
    assert telemetry.traceparent() is None
    assert telemetry.current_ids() is None
    assert len(telemetry.trace_id()) == 32


def test_a_neighbours_trace_is_passed_on_while_off() -> None:
    def handle() -> None:
        telemetry.pass_on(PARENT)
        assert telemetry.traceparent() == PARENT
        assert telemetry.current_ids() == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
        assert telemetry.trace_id() == "4bf92f3577b34da6a3ce929d0e0e4736"

    contextvars.copy_context().run(handle)


@pytest.mark.parametrize("wrong", ["", "x", "a-b", PARENT[:-1], PARENT.replace("-", "_"), "é" * 55])
def test_a_traceparent_that_is_none_is_not_passed_on(wrong: str) -> None:
    def handle() -> None:
        telemetry.pass_on(wrong)
        assert telemetry.traceparent() is None

    contextvars.copy_context().run(handle)
    assert telemetry.parse(wrong) is None


def test_spans_are_written_at_once_with_parents_and_attributes(trace_file: Path) -> None:
    with telemetry.span("outer", kind="server", parent=PARENT, shard=3):
        with telemetry.span("inner"):
            pass
        assert [one["name"] for one in spans(trace_file)] == ["inner"]
        sent = telemetry.traceparent()
    inner, outer = spans(trace_file)
    assert outer["trace_id"] == inner["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert outer["parent_id"] == "00f067aa0ba902b7"
    assert inner["parent_id"] == outer["span_id"]
    assert outer["attributes"] == {"shard": 3}
    assert str(sent).startswith(f"00-{outer['trace_id']}-{outer['span_id']}-")


def test_a_failure_is_marked_with_its_type_and_never_its_text(trace_file: Path) -> None:
    with pytest.raises(ValueError, match="Ah"), telemetry.span("deal"):
        raise ValueError("Ah Kd")
    assert spans(trace_file)[0]["status"] == "ERROR"
    assert "Ah" not in trace_file.read_text()


def test_an_event_carries_the_trace_in_which_it_arose(trace_file: Path) -> None:
    with telemetry.span("commit"):
        message = OutboxMessage("a.b", "t", b"", {"epoch": "1"})
    (headers,) = columns([message])[4]
    recorded = spans(trace_file)[0]
    carried = json.loads(headers)
    assert carried["epoch"] == "1"
    assert carried["traceparent"].startswith(f"00-{recorded['trace_id']}-{recorded['span_id']}-")
    assert columns([OutboxMessage("a.b", "t", b"")])[4] == ["{}"]
