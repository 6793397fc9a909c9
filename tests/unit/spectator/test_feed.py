"""Rule 10.6 and the stream's promises: in order, nothing twice, a fresh snapshot at a gap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cardroom.spectator.domain.feed import Change, Feed, Kind

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def change(version: int) -> Change:
    return Change("t", version, BEGAN + timedelta(seconds=version), b"")


def shown(feed: Feed, *versions: int) -> list[tuple[str, int]]:
    return [(step.kind.value, step.change.version) for step in feed.follow(change(version) for version in versions)]


def test_changes_follow_the_snapshot_one_by_one() -> None:
    assert shown(Feed(change(4)), 5, 6, 7) == [("change", 5), ("change", 6), ("change", 7)]


def test_the_first_change_that_is_due_comes_as_a_snapshot() -> None:
    feed = Feed(None)
    assert feed.version == 0
    assert shown(feed, 1, 2) == [("snapshot", 1), ("change", 2)]


def test_a_gap_brings_a_fresh_snapshot_and_what_was_missing_is_not_shown_later() -> None:
    feed = Feed(change(4))
    assert shown(feed, 5, 8, 9) == [("change", 5), ("snapshot", 8), ("change", 9)]
    assert shown(feed, 6, 7, 10) == [("change", 10)]


def test_what_was_shown_is_not_shown_again() -> None:
    feed = Feed(change(4))
    assert shown(feed, 3, 4, 5) == [("change", 5)]
    assert shown(feed, 5) == []
    assert feed.version == 5


@given(st.lists(st.lists(st.integers(1, 30), max_size=8).map(sorted), max_size=10))
def test_whatever_comes_a_client_can_always_follow(batches: list[list[int]]) -> None:
    feed, known = Feed(None), 0
    for batch in batches:
        for step in feed.follow(change(version) for version in batch):
            assert step.change.version > known
            assert step.kind is Kind.SNAPSHOT or step.change.version == known + 1
            known = step.change.version
    assert known == max((version for batch in batches for version in batch), default=0)
