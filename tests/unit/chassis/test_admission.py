"""A stream opened a thousand times: a limit for each player, and one for all."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from prometheus_client import CollectorRegistry, Gauge

from cardroom.chassis.admission import Admission, StreamLimits
from cardroom.chassis.errors import ResourceExhausted


def test_a_player_has_a_limit_that_others_do_not_share() -> None:
    admission = Admission(StreamLimits(per_player=2, in_all=10))
    with ExitStack() as bob, ExitStack() as ada:
        for _ in range(2):
            ada.enter_context(admission.admit("ada"))
        with pytest.raises(ResourceExhausted, match="you have 2 streams") as raised, admission.admit("ada"):
            pass
        assert raised.value.reason == "TOO_MANY_STREAMS"
        bob.enter_context(admission.admit("bob"))
        ada.close()
        with admission.admit("ada"):
            assert admission.total == 2


def test_all_together_have_a_limit() -> None:
    gauge = Gauge("streams", "Streams.", registry=CollectorRegistry())
    admission = Admission(StreamLimits(per_player=2, in_all=3), gauge)
    with admission.admit("ada"), admission.admit("bob"):
        with admission.admit("cleo"):
            with pytest.raises(ResourceExhausted, match="3 streams are open"), admission.admit("dan"):
                pass
            assert (admission.total, gauge._value.get()) == (3, 3)
        with admission.admit("dan"):
            assert admission.total == 3
    assert (admission.total, gauge._value.get()) == (0, 0)


def test_who_was_refused_or_failed_does_not_count() -> None:
    admission = Admission(StreamLimits(per_player=1, in_all=10))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), admission.admit("ada"):
            raise ZeroDivisionError
    with admission.admit("ada"):
        for _ in range(3):
            with pytest.raises(ResourceExhausted), admission.admit("ada"):
                pass
    assert admission.total == 0
