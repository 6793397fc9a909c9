"""What went wrong with a call, for a person at a terminal."""

from __future__ import annotations

from cardroom.client import CardroomError

_NOBODY_THERE = frozenset({"UNAVAILABLE", "UNIMPLEMENTED", "DEADLINE_EXCEEDED"})


def explained(error: CardroomError) -> str:
    """The card room's own sentence; in place of what gRPC says when it reached none, that none answers."""
    # A card room gives each refusal a reason of its own. Where it is only the status, nobody of a card room spoke.
    if error.reason == error.code.name and error.reason in _NOBODY_THERE:
        return "no card room answers"
    return error.message


def explained_for(error: CardroomError, edge: str) -> str:
    """The same for a call that ends the command, with what to do about it."""
    sentence = explained(error)
    if sentence != error.message:
        return (
            f"{sentence} at {edge}: is it running (`make demo` starts one), and is that its address? [{error.reason}]"
        )
    return f"{sentence} [{error.reason}]"
