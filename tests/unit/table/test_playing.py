"""Turns and actions: what the token does, what is refused, and what the table does for those who cannot act."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.commands import Token
from cardroom.table.domain.errors import PassedTurn, Refused
from cardroom.table.domain.view import public_view
from tests.unit.table.driver import CALL, CHECK, FOLD, RAISE, Driver, only, player_id, told


@pytest.fixture
def table() -> Driver:
    """Three players, the first hand dealt: button on seat 1, blinds on 2 and 3, seat 1 to act."""
    table = Driver(1000, 1000, 1000)
    table.deal()
    assert table.turn.seat == 1
    return table


def refusal(table: Driver, command: do.Command) -> Refused:
    before = table.state
    with pytest.raises(Refused) as refused:
        table.do(command)
    assert table.state is before
    return refused.value


def test_a_turn_says_who_what_and_how_long(table: Driver) -> None:
    turn = only(table.history[-1][3], "turn_started")
    assert (turn.seat, turn.player_id, turn.token.hand_number, turn.token.action_number) == (1, player_id(1), 1, 1)
    assert turn.base_deadline.ToMilliseconds() - turn.started_at.ToMilliseconds() == 20_000
    assert turn.time_bank_left_ms == 30_000
    legal = turn.legal
    assert (legal.call_amount, legal.raise_min, legal.raise_max, legal.unit) == (20, 40, 1000, 10)
    assert (legal.can_fold, legal.can_check, legal.is_bet) == (True, False, False)
    assert (legal.preset_half_pot, legal.preset_three_quarter_pot, legal.preset_pot) == (40, 50, 70)


def test_an_action_is_answered_with_what_everyone_sees(table: Driver) -> None:
    decision = table.act(RAISE, 60)
    answer = decision.answer
    assert answer.version == table.state.version
    assert answer.taken == only(decision, "action_taken")
    assert (answer.taken.street_total, answer.taken.added, answer.taken.cause) == (60, 60, view.ACTION_CAUSE_PLAYER)
    assert decision.timing is not None
    assert decision.timing.turn.player_id == player_id(2)
    assert decision.timing.turn.base_ms == 20_000


def test_the_same_action_again_gets_the_first_answer(table: Driver) -> None:
    first = do.Act(player_id(1), table.turn.token, CALL, 0)
    answer = table.do(first).answer
    table.act(CALL)
    again = table.do(first)
    assert again.answer == answer
    assert not again.changes


def test_the_same_action_again_after_the_hand_gets_the_first_answer(table: Driver) -> None:
    first = do.Act(player_id(1), table.turn.token, FOLD, 0)
    answer = table.do(first).answer
    table.act(FOLD)
    assert table.state.hand is None
    assert table.do(first).answer == answer


@pytest.mark.parametrize("late", [(FOLD, 0), (RAISE, 60), (CALL, 0)])
def test_another_action_for_a_passed_turn_is_late(table: Driver, late: tuple[view.ActionKind.ValueType, int]) -> None:
    token = table.turn.token
    table.act(RAISE, 40)
    with pytest.raises(PassedTurn) as passed:
        table.do(do.Act(player_id(1), token, *late))
    assert passed.value.refusal.reason == "LATE_TURN"
    assert "1/1" in passed.value.refusal.message


def test_an_action_after_the_hand_is_late(table: Driver) -> None:
    table.fold_out()
    with pytest.raises(PassedTurn):
        table.do(do.Act(player_id(3), Token(1, 3), FOLD, 0))


def test_a_stranger_who_sends_a_passed_turn_is_told_that_they_do_not_sit_here(table: Driver) -> None:
    table.act(CALL)
    with pytest.raises(PassedTurn) as passed:
        table.do(do.Act(player_id(8), Token(1, 1), CALL, 0))
    assert passed.value.refusal.reason == "NOT_SEATED"


@pytest.mark.parametrize(
    ("player", "token", "kind", "amount", "reason"),
    [
        (2, Token(1, 1), FOLD, 0, "NOT_YOUR_TURN"),
        (2, Token(1, 2), FOLD, 0, "NOT_YOUR_TURN"),
        (1, Token(2, 1), FOLD, 0, "NOT_YOUR_TURN"),
        (8, Token(1, 1), FOLD, 0, "NOT_SEATED"),
        (1, Token(0, 0), FOLD, 0, "TURN_MISSING"),
        (1, Token(1, 0), FOLD, 0, "TURN_MISSING"),
        (1, Token(1, 1), CHECK, 0, "ILLEGAL_ACTION"),
        (1, Token(1, 1), view.ACTION_KIND_UNSPECIFIED, 0, "ILLEGAL_ACTION"),
        (1, Token(1, 1), CALL, 20, "ILLEGAL_AMOUNT"),
        (1, Token(1, 1), RAISE, 39, "ILLEGAL_AMOUNT"),
        (1, Token(1, 1), RAISE, 1001, "ILLEGAL_AMOUNT"),
        (1, Token(1, 1), RAISE, -5, "ILLEGAL_AMOUNT"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(
    table: Driver, player: int, token: Token, kind: view.ActionKind.ValueType, amount: int, reason: str
) -> None:
    assert refusal(table, do.Act(player_id(player), token, kind, amount)).reason == reason


def test_7_1_an_amount_between_units_is_refused_with_the_nearest_named(table: Driver) -> None:
    refused = refusal(table, do.Act(player_id(1), table.turn.token, RAISE, 55))
    assert refused.metadata == {"nearest_below": "50", "nearest_above": "60"}


def test_9_3_time_up_is_a_fold_when_a_check_is_not_free(table: Driver) -> None:
    taken = only(table.time_out(), "action_taken")
    assert (taken.kind, taken.cause) == (FOLD, view.ACTION_CAUSE_TIMEOUT)


def test_9_3_time_up_is_a_check_where_that_is_free(table: Driver) -> None:
    table.act(CALL)
    table.act(CALL)
    taken = only(table.time_out(), "action_taken")
    assert (taken.seat, taken.kind) == (3, CHECK)


@pytest.mark.parametrize("early_ms", [1, 250])
def test_9_7_a_timeout_is_not_applied_within_250_ms_after_the_deadline(table: Driver, early_ms: int) -> None:
    table.now = table.turn.base_deadline_ms + 250 - early_ms
    refused = refusal(table, do.EndTurn(table.turn.token, table.state.timing_generation))
    assert (refused.reason, refused.metadata["wait_ms"]) == ("TOO_EARLY", str(early_ms))
    assert table.act(CALL).changes


def test_9_7_a_timeout_after_the_action_is_stale(table: Driver) -> None:
    late = do.EndTurn(table.turn.token, table.state.timing_generation)
    table.act(CALL)
    table.now += 60_000
    assert table.do(late).answer is True


def test_9_1_the_bank_is_seen_to_run_and_puts_the_timeout_off(table: Driver) -> None:
    turn, generation = table.turn, table.state.timing_generation
    deadline = turn.base_deadline_ms + 12_000
    decision = table.do(do.StartTimeBank(turn.token, generation, deadline))
    assert only(decision, "time_bank_started").bank_deadline.ToMilliseconds() == deadline
    assert decision.timing is None
    assert not table.do(do.StartTimeBank(turn.token, generation, deadline)).changes
    table.now = turn.base_deadline_ms + 1_000
    assert refusal(table, do.EndTurn(turn.token, generation)).reason == "TOO_EARLY"
    table.now = deadline + 250
    assert table.do(do.EndTurn(turn.token, generation)).answer is False


def test_9_1_everyone_sees_in_the_turn_what_the_bank_holds_until_it_runs(table: Driver) -> None:
    table.do(do.SetTimeBank(table.turn.player_id, 25_000, 1))
    assert table.turn.view.time_bank_left_ms == 25_000
    assert public_view(table.state).hand.turn.time_bank_left_ms == 25_000
    turn = table.turn
    table.do(do.StartTimeBank(turn.token, table.state.timing_generation, turn.base_deadline_ms + 25_000))
    table.do(do.SetTimeBank(turn.player_id, 30_000, 2))
    assert table.turn.view.time_bank_left_ms == 25_000
    assert table.turn.bank_deadline_ms == turn.base_deadline_ms + 25_000


def test_9_1_another_players_bank_is_not_the_actors(table: Driver) -> None:
    other = next(seat.player_id for number, seat in table.state.seats.items() if number != table.turn.seat)
    table.do(do.SetTimeBank(other, 25_000, 1))
    assert table.turn.view.time_bank_left_ms == 30_000


def test_9_4_two_timeouts_in_a_row_sit_the_player_out_and_play_the_rest_at_once() -> None:
    table = Driver(1000, 1000)
    table.deal()  # seat 1 has the button
    table.act(CALL)
    table.time_out()  # seat 2 checks; flop, seat 2 first
    decision = table.time_out()
    status = only(decision, "seat_status_changed")
    assert (status.status, status.reason) == (view.SEAT_STATUS_SITTING_OUT, view.STATUS_REASON_TIMEOUTS)
    decision = table.act(CHECK)  # turn: seat 2 is played at once
    taken = [event.action_taken for event in decision.events if event.HasField("action_taken")]
    assert [(one.seat, one.cause) for one in taken] == [(1, view.ACTION_CAUSE_PLAYER), (2, view.ACTION_CAUSE_ABSENT)]
    assert table.turn.seat == 1


def test_9_4_an_action_of_ones_own_resets_the_count() -> None:
    table = Driver(1000, 1000)
    table.deal()
    table.act(CALL)
    table.time_out()
    table.act(CHECK)
    assert table.at(2).timeouts == 0


def test_9_4_who_comes_back_in_the_same_hand_has_their_turns_again() -> None:
    table = Driver(1000, 1000)
    table.deal()
    table.act(CALL)
    table.time_out()
    table.time_out()
    table.do(do.ComeBack(player_id(2)))
    table.act(CHECK)
    assert table.turn.seat == 2


def test_9_6_a_restarted_turn_has_a_full_clock_and_the_same_token(table: Driver) -> None:
    before, generation = table.turn, table.state.timing_generation
    table.now += 15_000
    decision = table.do(do.RestartTurn())
    turn = only(decision, "turn_started")
    assert turn.token == before.view.token
    assert turn.base_deadline.ToMilliseconds() == table.now + 20_000
    assert table.state.timing_generation == generation + 1
    assert table.do(do.EndTurn(before.token, generation)).answer is True


def test_without_a_turn_there_is_nothing_to_restart() -> None:
    assert not Driver(1000).do(do.RestartTurn()).changes


def test_between_hands_a_wait_that_begins_anew_is_the_pause_before_the_deal() -> None:
    table = Driver(1000, 1000)
    table.now += 60_000
    decision = table.do(do.RestartTurn())
    assert decision.timing is not None
    assert decision.timing.deal.due_at.ToMilliseconds() == table.now + 2_000
    assert table.state.next_deal_ms == table.now + 2_000


def test_the_events_of_an_action_come_in_the_order_it_all_happened(table: Driver) -> None:
    table.act(CALL)
    table.act(CALL)
    assert told(table.act(CHECK)) == ["action_taken", "street_dealt", "turn_started"]
