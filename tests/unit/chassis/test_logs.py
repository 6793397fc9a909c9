"""Logs are one JSON object a line, with trace ids, and never with a traceback's variables."""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from cardroom.chassis import logs, telemetry


@pytest.fixture
def restored() -> Iterator[None]:
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:], root.level = handlers, level


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("restored")
def test_a_line_is_json_with_service_and_trace(capsys: pytest.CaptureFixture[str]) -> None:
    logs.setup("lobby", instance="lobby-0")

    def speak() -> None:
        telemetry.pass_on("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        logs.get("seats").info("seat freed", seat=3)
        logs.get("seats").debug("not at this level")

    contextvars.copy_context().run(speak)
    logging.getLogger("somebody.else").warning("careful: %s", "x")
    ours, theirs = lines(capsys)
    assert (ours["event"], ours["seat"], ours["service"], ours["instance"]) == ("seat freed", 3, "lobby", "lobby-0")
    assert (ours["source"], ours["level"]) == ("seats", "info")
    assert ours["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert (theirs["event"], theirs["logger"], theirs["service"]) == ("careful: x", "somebody.else", "lobby")


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("level", ["info", "debug"])
def test_a_traceback_never_shows_local_variables(capsys: pytest.CaptureFixture[str], level: str) -> None:
    logs.setup("table", level)
    fail_with_a_deck()
    logging.getLogger("x").error("as well", exc_info=RuntimeError("boom"))
    text = capsys.readouterr().out
    assert "RuntimeError" in text
    assert "fail_with_a_deck" in text
    assert "AhKd" not in text


def test_not_even_before_setup(capsys: pytest.CaptureFixture[str]) -> None:
    fail_with_a_deck()
    assert "AhKd" not in capsys.readouterr().out


def fail_with_a_deck() -> None:
    try:
        deal("Ah" + "Kd")
    except RuntimeError:
        logs.get("table").exception("failed")


def deal(deck: str) -> None:
    raise RuntimeError(f"boom at card {len(deck)}")
