"""Groups of events: packed with the commit, joined by the relay, taken apart by the bus, and the same on the wire."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from cardroom.chassis import groups
from cardroom.chassis._message import Message
from cardroom.contracts.events.v1.events_pb2 import TableChanged, TablesChanged
from cardroom.contracts.events.v1.group_pb2 import Group

KIND = "cardroom.events.v1.TablesChanged"


def event(name: str) -> bytes:
    return TableChanged(table_id=name).SerializeToString()


def group(*names: str, key: str = "table.changed", kind: str = KIND, trace: str = "") -> Message:
    body = TablesChanged(changes=[TableChanged(table_id=name) for name in names]).SerializeToString()
    return Message(key, kind, body, {"traceparent": trace} if trace else {})


def names(body: bytes) -> list[str]:
    return [change.table_id for change in TablesChanged.FromString(body).changes]


@given(st.lists(st.text(max_size=5)), st.integers(1, 40))
def test_packed_events_are_all_there_in_order_and_within_the_limit(told: list[str], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "BYTES_MAX", limit)
        packed = list(groups.pack([event(name) for name in told]))
    assert [name for body, _ in packed for name in names(body)] == told
    for body, count in packed:
        inside = names(body)
        assert len(inside) == count
        assert count == 1 or sum(len(event(name)) for name in inside) <= limit


def test_neighbours_of_one_kind_and_way_are_joined() -> None:
    sent = list(groups.join([group("a"), group("b", "c"), group("d", key="else"), group("e", key="else")]))
    assert [(names(message.body), message.routing_key, count) for message, count in sent] == [
        (["a", "b", "c"], "table.changed", 2),
        (["d", "e"], "else", 2),
    ]


def test_what_carries_a_trace_or_is_no_group_is_sent_as_it_is() -> None:
    alone = [group("a"), group("b", trace="00-1-2-01"), group("c"), group("d", kind="x.Y"), group("e", kind="x.Y")]
    assert list(groups.join(alone)) == [(message, 1) for message in alone]


def test_joined_groups_stay_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "BYTES_MAX", 2 * len(group("a").body))
    assert [count for _, count in groups.join([group(name) for name in "abcde"])] == [2, 2, 1]


def test_a_group_is_taken_apart_into_its_events() -> None:
    apart = groups.apart(group("a", "b", trace="00-1-2-01"))
    assert [(one.type, one.body, one.headers["traceparent"]) for one in apart] == [
        ("cardroom.events.v1.TableChanged", event("a"), "00-1-2-01"),
        ("cardroom.events.v1.TableChanged", event("b"), "00-1-2-01"),
    ]
    other = group("a", kind="x.Y")
    assert groups.apart(other) == [other]


def test_an_event_that_cannot_be_read_does_not_hide_the_others() -> None:
    body = Group(events=[event("a"), b"\xff\xff", event("b")]).SerializeToString()
    assert [one.body for one in groups.apart(Message("k", KIND, body))] == [event("a"), b"\xff\xff", event("b")]
    with pytest.raises(DecodeError):
        groups.apart(Message("k", KIND, b"\xff\xff"))
