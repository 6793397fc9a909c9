"""A stream opened a thousand times: a limit for each player, and one for all."""

from __future__ import annotations

import pytest

from cardroom.spectator.domain.admission import Admission, StreamLimits


def test_a_player_has_a_limit_that_others_do_not_share() -> None:
    admission = Admission(StreamLimits(per_player=2, in_all=10))
    for _ in range(2):
        assert admission.refusal("ada") is None
        admission.enter("ada")
    assert "2 is the most" in str(admission.refusal("ada"))
    assert admission.refusal("bob") is None
    admission.leave("ada")
    assert admission.refusal("ada") is None


def test_all_together_have_a_limit() -> None:
    admission = Admission(StreamLimits(per_player=2, in_all=3))
    for player in ("ada", "bob", "cleo"):
        admission.enter(player)
    assert "3 streams" in str(admission.refusal("dan"))
    admission.leave("bob")
    assert admission.refusal("dan") is None
    assert admission.total == 2


def test_only_an_open_stream_can_end() -> None:
    with pytest.raises(AssertionError):
        Admission(StreamLimits(1, 1)).leave("ada")
