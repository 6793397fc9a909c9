"""A watcher who cannot keep up costs a limited amount of memory, and goes on from a snapshot."""

from __future__ import annotations

import pytest

from cardroom.spectator.domain.backlog import Backlog


def test_messages_come_out_in_order_and_once() -> None:
    backlog = Backlog()
    for number in range(3):
        backlog.offer(bytes([number]))
    assert backlog.take() == [b"\0", b"\1", b"\2"]
    assert backlog.take() == []


def test_a_full_backlog_is_thrown_away_for_a_snapshot() -> None:
    backlog = Backlog(2)
    for number in range(5):
        backlog.offer(bytes([number]))
    assert backlog.needs_snapshot
    assert backlog.take() == []
    backlog.restart(b"snapshot")
    backlog.offer(b"next")
    assert backlog.take() == [b"snapshot", b"next"]


def test_a_snapshot_replaces_what_waited() -> None:
    backlog = Backlog()
    backlog.offer(b"old")
    backlog.restart(b"snapshot")
    assert backlog.take() == [b"snapshot"]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Backlog(0)
