"""What is repeated, how often, and after which pauses."""

from __future__ import annotations

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from cardroom.client import errors
from cardroom.client.transport import Backoff, CallPolicy, open_channel, repeated

POLICY = CallPolicy(attempts_max=4, backoff=Backoff(first_seconds=0.0, max_seconds=0.0))


class Attempts:
    """A call that fails with the given codes, then answers."""

    def __init__(self, *codes: grpc.StatusCode) -> None:
        self.codes = list(codes)
        self.made = 0

    async def __call__(self, attempt_seconds: float) -> str:
        assert attempt_seconds == POLICY.attempt_seconds
        self.made += 1
        if self.codes:
            raise AioRpcError(self.codes.pop(0), Metadata(), Metadata(), details="", debug_error_string=None)
        return "done"


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
    ],
)
async def test_what_may_not_have_happened_is_repeated(code: grpc.StatusCode) -> None:
    attempts = Attempts(code, code)
    assert await repeated(attempts, POLICY) == "done"
    assert attempts.made == 3


async def test_repeats_have_an_end() -> None:
    attempts = Attempts(*[grpc.StatusCode.UNAVAILABLE] * 9)
    with pytest.raises(errors.UnavailableError):
        await repeated(attempts, POLICY)
    assert attempts.made == POLICY.attempts_max


@pytest.mark.parametrize("code", [grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INTERNAL])
async def test_a_definite_answer_is_not_asked_for_again(code: grpc.StatusCode) -> None:
    attempts = Attempts(code)
    with pytest.raises(errors.CardroomError):
        await repeated(attempts, POLICY)
    assert attempts.made == 1


async def test_a_write_without_a_key_is_not_repeated() -> None:
    attempts = Attempts(grpc.StatusCode.UNAVAILABLE)
    with pytest.raises(errors.UnavailableError):
        await repeated(attempts, POLICY, is_safe_to_repeat=False)
    assert attempts.made == 1


async def test_a_refused_token_is_renewed_once() -> None:
    renewed = 0

    async def renew() -> bool:
        nonlocal renewed
        renewed += 1
        return True

    assert await repeated(Attempts(grpc.StatusCode.UNAUTHENTICATED), POLICY, renew=renew) == "done"
    with pytest.raises(errors.UnauthenticatedError):
        await repeated(Attempts(*[grpc.StatusCode.UNAUTHENTICATED] * 2), POLICY, renew=renew)
    assert renewed == 2


def test_pauses_grow_are_spread_and_have_a_limit() -> None:
    backoff = Backoff(first_seconds=0.1, max_seconds=2.0)
    for attempt, longest in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]):
        pauses = {backoff.pause_seconds(attempt) for _ in range(50)}
        assert longest / 2 <= min(pauses) <= max(pauses) <= longest
        assert len(pauses) > 1
    assert backoff.pause_seconds(10_000) <= 2.0


@pytest.mark.parametrize("edge", ["", "localhost", "ftp://localhost:1", "http://localhost:8080/path", "http://"])
async def test_an_address_of_another_shape_is_refused_with_its_value(edge: str) -> None:
    with pytest.raises(ValueError, match="edge address"):
        open_channel(edge)
