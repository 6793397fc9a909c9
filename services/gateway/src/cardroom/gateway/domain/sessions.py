"""Sessions of players: refresh tokens that are good once, and what a second use means."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

REPEAT_GRACE: Final = timedelta(seconds=60)
SIGN_IN_REPEAT: Final = timedelta(minutes=10)


class Verdict(Enum):
    """What to do with a refresh token."""

    GRANT = "grant"
    """Spend it and give a new pair."""
    REPEAT = "repeat"
    """The answer may have been lost: give another new pair."""
    REFUSE = "refuse"
    """Unknown, expired, or its session is over."""
    END_SESSION = "end_session"
    """It was spent a while ago: somebody has a copy. Nobody goes on with this session."""


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """What is known of a refresh token. The token itself is not kept, only its hash."""

    session_id: str
    player_id: str
    display_name: str
    expires_at: datetime
    spent_at: datetime | None
    session_ended: bool


def judge(token: RefreshToken | None, now: datetime) -> Verdict:
    """Return what to do when a refresh token is shown at `now`; None stands for an unknown one."""
    if token is None or token.session_ended or token.expires_at <= now:
        return Verdict.REFUSE
    if token.spent_at is None:
        return Verdict.GRANT
    if now - token.spent_at <= REPEAT_GRACE:
        return Verdict.REPEAT
    return Verdict.END_SESSION


def fingerprint(secret: str) -> bytes:
    """Return what is stored of a secret of 256 random bits. No salt or stretching: there is nothing to guess."""
    return hashlib.sha256(secret.encode()).digest()
