"""The guest of last time comes back."""

from __future__ import annotations

from pathlib import Path

from cardroom.cli.play.guest_file import GuestFile
from cardroom.client import SignedIn

ANN = SignedIn("p1", "Ann", "r1")


def test_what_is_saved_is_loaded_until_it_is_forgotten(tmp_path: Path) -> None:
    kept = GuestFile(tmp_path / "new" / "folder", "localhost:8080")
    assert kept.load() is None
    kept.save(ANN)
    assert GuestFile(tmp_path / "new" / "folder", "http://localhost:8080").load() == ANN
    kept.forget()
    assert kept.load() is None


def test_each_card_room_has_its_own_guest(tmp_path: Path) -> None:
    GuestFile(tmp_path, "localhost:8080").save(ANN)
    assert GuestFile(tmp_path, "https://cards.example.org").load() is None


def test_only_the_user_may_read_the_token(tmp_path: Path) -> None:
    kept = GuestFile(tmp_path, "localhost:8080")
    kept.save(ANN)
    assert kept.path.stat().st_mode & 0o077 == 0


def test_a_damaged_file_is_nobody(tmp_path: Path) -> None:
    kept = GuestFile(tmp_path, "localhost:8080")
    for text in ("", "{", "[]", '{"player_id": 1}'):
        kept.path.write_text(text)
        assert kept.load() is None
