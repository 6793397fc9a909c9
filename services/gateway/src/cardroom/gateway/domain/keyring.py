"""When signing keys come and go.

A key is published before it signs, so that everyone who checks tokens has it by then, and stays published after its
successor took over until the last token it signed has expired.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scheduled(Protocol):
    """What the schedule must know of a key."""

    @property
    def signs_from(self) -> datetime:
        """When it begins to sign; it signs until the next one begins."""


K = TypeVar("K", bound=Scheduled)


@dataclass(frozen=True, slots=True)
class RotationPolicy:
    """How keys rotate. `token_life` is that of the longest token; `leeway` covers clocks that differ."""

    period: timedelta
    ahead: timedelta
    token_life: timedelta
    leeway: timedelta

    def __post_init__(self) -> None:
        """Refuse what could sign with a key that is not published."""
        if not timedelta(0) < self.ahead < self.period:
            raise ValueError(f"a key must be published between 0 and {self.period} before it signs, not {self.ahead}")


def next_begin(keys: Sequence[K], now: datetime, policy: RotationPolicy) -> datetime | None:
    """Return when a key that is made now begins to sign, or None while none is needed."""
    if not keys:
        return now
    due = max(key.signs_from for key in keys) + policy.period
    if now < due - policy.ahead:
        return None
    # Late, for example after a long stop: the old key goes on until the new one has been published long enough.
    return max(due, now + policy.ahead)


def signer(keys: Sequence[K], now: datetime) -> K:
    """Return the key that signs now: the last one whose time has come. Raises ValueError when there is none."""
    begun = [key for key in keys if key.signs_from <= now]
    if not begun:
        raise ValueError(f"none of {len(keys)} keys signs at {now}")
    return max(begun, key=lambda key: key.signs_from)


def expired(keys: Sequence[K], now: datetime, policy: RotationPolicy) -> list[K]:
    """Return the keys that no token needs any more."""
    ordered = sorted(keys, key=lambda key: key.signs_from)
    keep = policy.token_life + policy.leeway
    return [key for key, successor in itertools.pairwise(ordered) if successor.signs_from + keep <= now]
