"""The guest of last time: kept in the user's configuration folder, one for each card room."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cardroom.client import SignedIn


class GuestFile:
    """Keeps a guest's refresh token on disk, readable by the user only."""

    def __init__(self, folder: Path, edge: str) -> None:
        """Names the file after the edge's address."""
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", edge.rpartition("://")[2])
        self.path = folder / f"guest-{name}.json"

    def load(self) -> SignedIn | None:
        """The guest of last time; None when there was none, or the file cannot be understood."""
        try:
            kept = json.loads(self.path.read_text())
            return SignedIn(str(kept["player_id"]), str(kept["display_name"]), str(kept["refresh_token"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, signed_in: SignedIn) -> None:
        """Replaces what was kept, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = {
            "player_id": signed_in.player_id,
            "display_name": signed_in.display_name,
            "refresh_token": signed_in.refresh_token,
        }
        draft = self.path.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(kept))
        draft.replace(self.path)

    def forget(self) -> None:
        """Keeps nobody."""
        self.path.unlink(missing_ok=True)
