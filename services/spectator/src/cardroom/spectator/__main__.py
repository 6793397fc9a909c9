"""Starts the spectator: `python -m cardroom.spectator`."""

from cardroom.chassis import service
from cardroom.spectator.app import build
from cardroom.spectator.settings import SpectatorSettings

if __name__ == "__main__":
    service.run(build, SpectatorSettings)
