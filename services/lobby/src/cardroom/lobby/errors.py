"""The tree of the lobby's exceptions. The API translates them; nothing here knows gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cardroom.lobby.domain.refusals import Refusal


class LobbyError(Exception):
    """Anything that the lobby itself raises."""


class Refused(LobbyError):
    """The answer is no, for a reason that a repeat will not change."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.code}/{refusal.reason}: {refusal.message}")
        self.refusal = refusal


class NotNow(LobbyError):
    """A neighbour did not answer, or asks for patience: the same call may be sent again."""


class BrokenPromise(LobbyError):
    """A neighbour answered what its contract excludes. The errand stops there and is tried again, never guessed at."""


class Overtaken(LobbyError):
    """Somebody else wrote the row since it was read. Read it again."""


class LineComesFirst(LobbyError):
    """Seats are free, but players who wait have not been served yet. Serve them, then ask again."""
