"""Rule 2.6 in the contracts: nobody but a card's owner is sent a message that has a field for it."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from cardroom.gateway.envoy.surface import descriptor_set

OWN = "cardroom.table.v1.OwnCards"
FACE_UP = {
    "cardroom.table.v1.HandView.board",
    "cardroom.table.v1.StreetDealt.cards",
    "cardroom.table.v1.HandPlayer.shown_cards",
    "cardroom.table.v1.CardsShown.cards",
}
WORDS = ("card", "deck", "hole", "board", "shoe", "burn")


def files() -> list[FileDescriptor]:
    pool = descriptor_pool.DescriptorPool()
    described = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set()).file
    for file in described:
        pool.Add(file)
    return [pool.FindFileByName(file.name) for file in described if file.name.startswith("cardroom/")]


def reachable(message: Descriptor, seen: dict[str, Descriptor]) -> dict[str, Descriptor]:
    if message.full_name not in seen:
        seen[message.full_name] = message
        for field in message.fields:
            if field.message_type is not None:
                reachable(field.message_type, seen)
    return seen


def messages() -> Iterator[Descriptor]:
    for file in files():
        yield from file.message_types_by_name.values()


def test_own_cards_are_in_the_answer_to_play_and_in_nothing_else() -> None:
    answers = {
        method.full_name
        for file in files()
        for service in file.services_by_name.values()
        for method in service.methods
        if OWN in reachable(method.output_type, {})
    }
    assert answers == {"cardroom.table.v1.TableService.Play"}
    holders = {message.full_name.rpartition(".")[2] for message in messages() if OWN in reachable(message, {})}
    assert holders == {"OwnCards", "Snapshot", "Change", "PlayResponse"}


def test_every_other_field_for_cards_is_one_for_cards_that_are_face_up() -> None:
    for message in messages():
        for field in message.fields:
            is_text = field.type in {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}
            if is_text and any(word in field.name for word in WORDS):
                assert field.full_name in FACE_UP | {f"{OWN}.cards"}, f"what is in {field.full_name}?"


def test_no_message_about_a_table_has_a_field_that_could_hold_anything() -> None:
    for file in files():
        if file.package not in {"cardroom.events.v1", "cardroom.table.v1", "cardroom.spectator.v1"}:
            continue
        for message in file.message_types_by_name.values():
            # A group is another message's bytes, and never sent by its own name.
            if message.name != "Group":
                kinds = {field.type for one in reachable(message, {}).values() for field in one.fields}
                assert FieldDescriptor.TYPE_BYTES not in kinds, message.full_name
                assert "google.protobuf.Any" not in reachable(message, {}), message.full_name
