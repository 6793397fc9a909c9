"""Who is there, and how long the table bears with who is not (rules 9.5, 10.2)."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.errors import Refused
from cardroom.table.domain.presence import due_ms
from tests.unit.table.driver import Driver, only, player_id, told

MINUTE = 60_000


def due_in(table: Driver, number: int) -> int:
    due = due_ms(table.at(number), table.state.pace)
    return due and due - table.now


def seen(table: Driver, *numbers: int) -> None:
    """The players have opened their streams by now."""
    for number in numbers:
        table.absent(number, is_present=True)


def test_9_5_a_lost_connection_is_told_and_timed() -> None:
    table = Driver(500, 500)
    seen(table, 1)
    decision = table.do(do.SetConnected(player_id(1), False))
    assert told(decision) == ["connection_changed"]
    (absence,) = decision.absences
    assert absence.due_at.ToMilliseconds() == table.now + MINUTE
    assert absence.generation == decision.state.version == table.at(1).absence_generation


def test_what_is_known_already_changes_nothing() -> None:
    table = Driver(500)
    assert not table.do(do.SetConnected(player_id(1), True)).changes
    assert not table.do(do.SetConnected(player_id(7), False)).changes


def test_9_5_a_connection_that_is_back_is_not_timed_any_more() -> None:
    table = Driver(500)
    table.do(do.SetConnected(player_id(1), False))
    (absence,) = table.do(do.SetConnected(player_id(1), True)).absences
    assert not absence.HasField("due_at")


def test_9_5_the_actor_who_is_away_may_not_use_the_bank() -> None:
    table = Driver(500, 500)
    table.deal()
    timing = table.do(do.SetConnected(table.turn.player_id, False)).timing
    assert timing is not None
    assert not timing.turn.bank_allowed
    assert timing.turn.started_at.ToMilliseconds() == table.turn.started_ms
    back = table.do(do.SetConnected(table.turn.player_id, True)).timing
    assert back is not None
    assert back.turn.bank_allowed
    assert back.generation > timing.generation


def test_9_5_whose_turn_it_is_not_changes_no_timer_of_the_turn() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    assert table.do(do.SetConnected(player_id(table.turn.seat % 3 + 1), False)).timing is None


def test_9_5_a_running_bank_runs_on() -> None:
    table = Driver(500, 500)
    table.deal()
    table.now = table.turn.base_deadline_ms
    table.do(do.StartTimeBank(table.turn.token, table.state.timing_generation, table.now + 30_000))
    assert table.do(do.SetConnected(table.turn.player_id, False)).timing is None


def test_9_5_the_next_turn_of_a_player_who_is_away_has_no_bank() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    table.do(do.SetConnected(player_id(2), False))
    timing = table.act(view.ACTION_KIND_FOLD).timing
    assert timing is not None
    assert (timing.turn.player_id, timing.turn.bank_allowed) == (player_id(2), False)


def test_9_5_sat_out_after_60_s_from_the_next_hand() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    table.do(do.SetConnected(player_id(2), False))
    decision = table.absent(2)
    status = only(decision, "seat_status_changed")
    assert (status.status, status.reason) == (view.SEAT_STATUS_SITTING_OUT, view.STATUS_REASON_CONNECTION_LOST)
    assert table.state.is_in_hand(2)
    assert not table.at(2).is_played_at_once
    assert due_in(table, 2) == 15 * MINUTE


def test_a_judgement_that_comes_too_early_is_sent_away() -> None:
    table = Driver(500)
    with pytest.raises(Refused) as refused:
        table.do(do.JudgeAbsence(player_id(1), table.at(1).absence_generation, False))
    assert (refused.value.reason, refused.value.metadata["wait_ms"]) == ("TOO_EARLY", "60000")


@pytest.mark.parametrize(("player", "older"), [(1, 1), (7, 0)])
def test_a_judgement_of_what_has_passed_is_stale(player: int, older: int) -> None:
    table = Driver(500)
    table.now += MINUTE
    stale = table.do(do.JudgeAbsence(player_id(player), table.at(1).absence_generation - older, False))
    assert stale.answer is True
    assert not stale.changes


def test_a_judgement_sent_twice_counts_once() -> None:
    table = Driver(500, 500)
    generation = table.at(1).absence_generation
    table.absent(1)
    again = table.do(do.JudgeAbsence(player_id(1), generation, False))
    assert again.answer is True
    assert not again.changes


def test_9_5_who_sits_down_has_60_s_to_open_a_stream() -> None:
    table = Driver(500)
    assert due_in(table, 1) == MINUTE
    assert table.at(1).connected
    table.absent(1)
    assert not table.at(1).connected
    assert table.at(1).is_sitting_out


def test_9_5_after_a_takeover_everyone_counts_as_present_and_the_60_s_start_again() -> None:
    table = Driver(500, 500, 500)
    seen(table, 3)
    table.do(do.SetConnected(player_id(1), False))
    table.deal()
    table.now += 59_000
    decision = table.do(do.TakeOver())
    assert {absence.player_id for absence in decision.absences} == {player_id(1), player_id(2), player_id(3)}
    assert all(seat.connected and due_in(table, number) == MINUTE for number, seat in table.state.seats.items())
    assert decision.timing is not None
    assert decision.timing.turn.bank_allowed
    assert told(decision)[-1] == "turn_started"


def test_10_2_who_sat_out_before_it_was_written_down_since_when_has_15_minutes_from_the_takeover() -> None:
    table = Driver(500)
    table.do(do.SitOut(player_id(1)))
    table.state.seats[1] = table.state.seats[1].__class__(
        1, "stay", player_id(1), "Old", 500, 0, is_sitting_out=True, connected=False
    )
    table.do(do.TakeOver())
    table.absent(1)
    assert due_in(table, 1) == 14 * MINUTE


def test_10_2_who_sits_out_15_minutes_leaves_with_their_chips() -> None:
    table = Driver(500, 500)
    seen(table, 1)
    table.do(do.SitOut(player_id(1)))
    assert due_in(table, 1) == 15 * MINUTE
    decision = table.absent(1)
    assert only(decision, "player_left").player_id == player_id(1)
    assert decision.ended[0].final_stack == 500
    (absence,) = decision.absences
    assert not absence.HasField("due_at")


def test_10_2_who_sits_out_in_a_hand_that_lasts_leaves_when_it_ends() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    seen(table, 2)
    table.do(do.SitOut(player_id(2)))
    decision = table.absent(2)
    assert only(decision, "seat_status_changed").status == view.SEAT_STATUS_LEAVING
    assert only(table.fold_out(), "player_left").player_id == player_id(2)


def test_10_2_leaving_is_not_timed() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    table.leave(table.turn.seat)
    assert 0 in [due_in(table, number) for number in table.state.seats]
