"""The domain's "no" and "not now" as gRPC has them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import grpc

from cardroom.chassis import errors as answers
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.errors import NotNow, Refused

T = TypeVar("T")


async def told(work: Awaitable[T], unfinished: str) -> T:
    """Return what the work returns. Raises CardroomError for a refusal, and UNAVAILABLE/`unfinished` for "not now"."""
    try:
        return await work
    except Refused as no:
        raise answer(no.refusal) from no
    except NotNow as why:
        raise answers.Unavailable(unfinished, f"{why}: send the same request again") from why


def answer(refusal: Refusal) -> answers.CardroomError:
    """Return the refusal as an error that the chassis answers with."""
    return answers.make(grpc.StatusCode[refusal.code], refusal.reason, refusal.message, refusal.metadata)
