"""The cardroom command: play, replay, export, audit, demo."""

from cardroom.cli._group import main

__all__ = ["main"]
