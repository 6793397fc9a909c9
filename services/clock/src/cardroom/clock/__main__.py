"""Starts the clock: `python -m cardroom.clock`."""

from __future__ import annotations

from cardroom.chassis import service
from cardroom.clock.app import build
from cardroom.clock.settings import ClockSettings

if __name__ == "__main__":
    service.run(build, ClockSettings)
