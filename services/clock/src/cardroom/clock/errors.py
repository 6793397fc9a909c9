"""The tree of the clock's exceptions."""

from __future__ import annotations


class ClockError(Exception):
    """Anything that the clock itself raises."""


class TableAway(ClockError):
    """A table did not answer. What it was to be told is told again."""
