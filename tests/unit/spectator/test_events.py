"""What is taken from the bus; and rule 2.6: a hidden card has no field in which it could come here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from cardroom.chassis.bus import Message
from cardroom.contracts.events.v1.events_pb2 import TableChanged, TablesChanged
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchResponse
from cardroom.contracts.table.v1.view_pb2 import PublicView
from cardroom.spectator.events import no_sooner_than, read

TABLE = "5e1c1c0e-6f0a-4a9e-9d0b-0d3b9a6b4c11"
# Every text field on the way to a watcher that may hold cards, and why each is public.
FACE_UP = {
    "cardroom.table.v1.HandView.board": "the board",
    "cardroom.table.v1.StreetDealt.cards": "the board",
    "cardroom.table.v1.HandPlayer.shown_cards": "turned face up",
    "cardroom.table.v1.CardsShown.cards": "turned face up",
}
NO_CARDS = {"table_id", "player_id", "display_name", "name"}


def fields(message: Descriptor, seen: set[str]) -> Iterator[FieldDescriptor]:
    """Every field that can be reached from a message."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for field in message.fields:
        yield field
        if field.message_type is not None:
            yield from fields(field.message_type, seen)


@pytest.mark.parametrize("message", [TablesChanged.DESCRIPTOR, WatchResponse.DESCRIPTOR], ids=lambda m: str(m.name))
def test_2_6_no_field_can_hold_a_hidden_card(message: Descriptor) -> None:
    for field in fields(message, set()):
        assert field.type != FieldDescriptor.TYPE_BYTES, f"{field.full_name} could hold anything"
        assert not field.full_name.startswith("google.protobuf.Any."), f"{field.full_name} could hold anything"
        if field.type == FieldDescriptor.TYPE_STRING:
            assert field.name in NO_CARDS or field.full_name in FACE_UP, f"what is in {field.full_name}?"
    reachable: set[str] = set()
    list(fields(message, reachable))
    assert "cardroom.table.v1.OwnCards" not in reachable


def changed(version: int = 3, **parts: object) -> TableChanged:
    return TableChanged(
        table_id=TABLE, version=version, occurred_at=Timestamp(seconds=1_900_000_000), view=PublicView(version=version)
    )


def message(body: TableChanged | bytes, kind: str = "cardroom.events.v1.TableChanged") -> Message:
    return Message("table.changed", kind, body if isinstance(body, bytes) else body.SerializeToString())


def test_a_change_is_read() -> None:
    arrival = read(message(changed()))
    assert arrival is not None
    assert (arrival.table_id, arrival.version) == (TABLE, 3)
    assert arrival.occurred_at == datetime.fromtimestamp(1_900_000_000, UTC)


def test_what_is_no_change_is_refused() -> None:
    lacks_time, lacks_view, bad_id = changed(), changed(), changed()
    lacks_time.ClearField("occurred_at")
    lacks_view.ClearField("view")
    bad_id.table_id = "one"
    bad = [message(changed(), "other.Type"), message(b"\xff\xff"), message(changed(0))]
    for wrong in [*bad, message(lacks_time), message(lacks_view), message(bad_id)]:
        with pytest.raises(Exception, match=r".+"):
            read(wrong)


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_999_999))
def test_rounding_makes_no_change_older_than_it_is(seconds: int, nanos: int) -> None:
    kept = no_sooner_than(Timestamp(seconds=seconds, nanos=nanos)) - datetime.fromtimestamp(0, UTC)
    exact = seconds * 10**9 + nanos
    assert 0 <= kept // timedelta(microseconds=1) * 1000 - exact < 1000
