"""What tests start does not outlive them."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import pytest

from cardroom.local.ports import listens
from tests.integration.gateway import edge
from tests.integration.gateway.edge import Edge
from tests.processes import running


async def test_an_edge_that_never_served_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "READY_SECONDS", 0.0)
    lonely = Edge(tmp_path, lobby_addresses="127.0.0.1:1")
    with pytest.raises(AssertionError, match="Envoy was not ready in time"):
        await lonely.start()
    assert lonely.process is not None
    assert lonely.process.returncode is not None
    assert not listens(lonely.settings.port)


async def test_a_process_is_gone_when_what_was_done_with_it_fails() -> None:
    started = []
    with suppress(ZeroDivisionError):
        async with running("sleep", "600") as process:
            started.append(process)
            raise ZeroDivisionError
    assert [process.returncode for process in started] == [-signal.SIGKILL]
