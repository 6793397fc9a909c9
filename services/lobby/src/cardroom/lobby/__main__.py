"""Starts the lobby: `python -m cardroom.lobby`."""

from __future__ import annotations

from cardroom.chassis import service
from cardroom.lobby.app import build
from cardroom.lobby.settings import LobbySettings

if __name__ == "__main__":
    service.run(build, LobbySettings)
