"""Opening a table, sitting down, sitting out, coming back, leaving."""

from __future__ import annotations

import pytest

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.errors import Refused
from cardroom.table.domain.seating import check_stakes
from tests.unit.table.driver import FOLD, SEAT_2_WINS, STAKES, Driver, only, player_id, told


def refusal(table: Driver, command: do.Command) -> str:
    with pytest.raises(Refused) as refused:
        table.do(command)
    return refused.value.reason


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"game": 0}, "game 0"),
        ({"seats": 1}, "seats 1"),
        ({"seats": 10}, "seats 10"),
        ({"small_blind": 0}, "blinds 0/20"),
        ({"big_blind": 25}, "blinds 10/25"),
        ({"ante": 21}, "ante 21"),
        ({"min_buy_in": 19}, "buy-in 19"),
        ({"max_buy_in": 19}, "buy-in 20 to 19"),
    ],
)
def test_stakes_that_no_hand_can_be_played_for_are_refused(wrong: dict[str, int], said: str) -> None:
    stakes = view.Stakes()
    stakes.CopyFrom(STAKES)
    for name, value in wrong.items():
        setattr(stakes, name, value)
    with pytest.raises(Refused, match=said) as refused:
        check_stakes(stakes)
    assert refused.value.reason == "INVALID_STAKES"


def test_opening_again_with_the_same_content_changes_nothing() -> None:
    table = Driver()
    again = table.do(do.OpenTable(table.state.table_id, "Table", STAKES, do.Pace(turn_ms=1)))
    assert not again.changes
    assert table.state.version == 1


def test_opening_again_with_another_name_is_refused() -> None:
    table = Driver()
    assert refusal(table, do.OpenTable(table.state.table_id, "Other", STAKES, do.Pace())) == "TABLE_DIFFERS"


def test_sitting_down_shows_the_player_to_everyone() -> None:
    seated = only(Driver().seat(3, 500), "player_seated")
    assert (seated.seat.seat, seated.seat.stack, seated.seat.status) == (3, 500, view.SEAT_STATUS_PLAYING)


def test_a_repeated_seating_changes_nothing() -> None:
    table = Driver(500)
    command = table.history[-1][0]
    assert not table.do(command).changes


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (do.SeatPlayer("s", player_id(2), "B", 1, 500, 0), "SEAT_TAKEN"),
        (do.SeatPlayer("s", player_id(1), "A", 2, 500, 0), "SEAT_TAKEN"),
        (do.SeatPlayer("s", player_id(2), "B", 7, 500, 0), "SEAT_UNKNOWN"),
        (do.SeatPlayer("s", player_id(2), "B", 2, 0, 0), "INVALID_STACK"),
        (do.SitOut(player_id(2)), "NOT_SEATED"),
        (do.ComeBack(player_id(2)), "NOT_SEATED"),
        (do.CloseTable(), "TABLE_OCCUPIED"),
    ],
)
def test_what_cannot_be_is_refused(command: do.Command, reason: str) -> None:
    table = Driver(500)
    before = table.state
    assert refusal(table, command) == reason
    assert table.state is before


def test_a_seating_of_another_player_is_refused() -> None:
    table = Driver(500)
    stay = table.at(1).seating_id
    assert refusal(table, do.SeatPlayer(stay, player_id(5), "E", 1, 500, 0)) == "SEATING_DIFFERS"


def test_nobody_sits_down_at_a_closed_table() -> None:
    table = Driver()
    assert table.do(do.CloseTable()).changes
    assert not table.do(do.CloseTable()).changes
    assert refusal(table, do.SeatPlayer("s", player_id(1), "A", 1, 500, 0)) == "TABLE_CLOSED"


def test_2_5_the_second_player_makes_a_deal_due() -> None:
    table = Driver(500)
    assert not table.state.next_deal_ms
    decision = table.seat(2, 500)
    assert only(decision, "next_deal_scheduled").at.ToMilliseconds() == table.now + 2000
    assert decision.timing is not None
    assert decision.timing.deal.due_at.ToMilliseconds() == table.now + 2000


def test_2_5_a_third_player_does_not_put_it_off() -> None:
    table = Driver(500, 500)
    due = table.state.next_deal_ms
    table.now += 500
    assert table.seat(3, 500).timing is None
    assert table.state.next_deal_ms == due


def test_2_4_a_deal_is_called_off_when_only_one_is_left_to_play() -> None:
    table = Driver(500, 500)
    decision = table.do(do.SitOut(player_id(1)))
    assert not only(decision, "next_deal_scheduled").HasField("at")
    assert decision.timing is not None
    assert decision.timing.WhichOneof("waiting_for") is None


def test_9_2_what_an_earlier_stay_was_told_of_the_bank_does_not_count_in_this_one() -> None:
    table = Driver(500, 500)
    told_late = do.SetTimeBank(player_id(2), 12_000, 4)
    assert table.do(told_late).changes
    table.leave(2)
    # Away for five minutes: the bank is full again, and the clock still has it under the same generation.
    table.do(do.SeatPlayer("back", player_id(2), "B", 2, 500, 30_000, 4))
    again = table.do(told_late)
    assert (again.changes, again.answer) == (False, True)
    assert table.at(2).time_bank_ms == 30_000
    assert not table.do(do.SetTimeBank(player_id(2), 30_000, 5)).answer, "what the clock says of this stay counts"


def test_10_1_sitting_out_twice_changes_nothing() -> None:
    table = Driver(500, 500)
    table.do(do.SitOut(player_id(1)))
    again = table.do(do.SitOut(player_id(1)))
    assert not again.changes
    assert again.answer.status == view.SEAT_STATUS_SITTING_OUT
    assert again.answer.version == table.state.version


def test_10_1_who_sits_out_in_a_hand_still_plays_it() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    actor = table.turn.player_id
    table.do(do.SitOut(actor))
    assert table.turn.player_id == actor
    table.fold_out()
    table.deal()
    assert table.state.hand is not None
    assert len(table.state.hand.seats) == 2


def test_3_4_a_player_who_missed_no_blind_comes_straight_back() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    table.do(do.SitOut(player_id(1)))
    assert table.do(do.ComeBack(player_id(1))).answer.status == view.SEAT_STATUS_PLAYING


def test_3_4_a_new_player_waits_for_the_big_blind_and_is_dealt_in_by_it() -> None:
    table = Driver(500, 500, 500)
    table.deal()  # the button is on seat 1, the big blind on seat 3
    assert only(table.seat(5, 500), "player_seated").seat.status == view.SEAT_STATUS_WAITING_FOR_BIG_BLIND
    table.fold_out()
    dealt = table.deal()  # the big blind comes to seat 5
    assert only(dealt, "hand_started").big_blind_seat == 5
    status = only(dealt, "seat_status_changed")
    assert (status.seat, status.status) == (5, view.SEAT_STATUS_PLAYING)


def test_3_5_nobody_waits_when_waiting_would_leave_fewer_than_two() -> None:
    table = Driver(500, 500)
    table.deal()
    table.fold_out()
    table.leave(1)
    table.seat(4, 500)
    dealt = table.deal()
    assert {player.seat for player in only(dealt, "hand_started").players} == {2, 4}


def test_10_3_between_hands_a_player_leaves_at_once() -> None:
    table = Driver(500, 500)
    decision = table.leave(1)
    assert told(decision) == ["player_left", "next_deal_scheduled"]
    assert (decision.answer.final_stack, decision.answer.last_hand_number, decision.answer.had_begun) == (500, 0, True)
    assert decision.ended == (decision.answer,)


def test_10_3_a_player_not_in_the_hand_leaves_at_once() -> None:
    table = Driver(500, 500)
    table.deal()
    table.seat(3, 700)
    assert table.leave(3).answer.final_stack == 700


def test_10_3_a_player_whose_turn_it_is_folds_and_leaves_when_the_hand_ends() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    seat = table.turn.seat
    decision = table.leave(seat)
    assert decision.answer is None
    assert only(decision, "action_taken").cause == view.ACTION_CAUSE_ABSENT
    assert not table.leave(seat).changes
    ended = table.fold_out()
    assert only(ended, "player_left").seat == seat
    assert ended.ended[0].final_stack == 500


def test_10_3_a_player_who_waits_for_their_turn_folds_when_it_comes() -> None:
    table = Driver(500, 500, 500)
    table.deal()  # seat 1 acts, then the small blind on seat 2
    assert table.leave(2).answer is None
    assert table.at(2).is_leaving
    decision = table.act(FOLD)
    assert told(decision)[:2] == ["action_taken", "action_taken"]
    assert only(decision, "player_left").seat == 2
    assert decision.ended[0].final_stack == 490


def test_10_3_the_last_opponent_who_leaves_ends_the_hand_in_the_same_answer() -> None:
    table = Driver(500, 500)
    table.deal()
    seat = table.turn.seat
    decision = table.leave(seat)
    assert decision.answer.final_stack == 490
    assert decision.answer.last_hand_number == 1


def test_10_3_an_all_in_player_stays_to_the_end_and_keeps_what_they_win() -> None:
    table = Driver(500, 500, 500)
    table.deal()
    seat = table.turn.seat
    table.act(view.ACTION_KIND_RAISE, 500)
    assert table.leave(seat).answer is None
    ended = table.fold_out()
    assert ended.ended[0].final_stack == 530


def test_a_seating_that_never_began_is_ended_before_it_begins() -> None:
    table = Driver(500)
    before = table.state.version
    decision = table.do(do.EndSeating("never"))
    assert not decision.events
    assert not decision.ended[0].had_begun
    assert decision.changes
    assert table.state.version == before + 1


def test_who_has_no_chips_cannot_come_back() -> None:
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    table.act(view.ACTION_KIND_CALL)
    assert table.state.hand is None
    assert refusal(table, do.ComeBack(player_id(1))) == "OUT_OF_CHIPS"


def test_a_time_bank_told_late_is_ignored() -> None:
    table = Driver(500)
    assert table.do(do.SetTimeBank(player_id(1), 12_000, 2)).answer is False
    assert table.do(do.SetTimeBank(player_id(1), 9_000, 1)).answer is True
    assert table.do(do.SetTimeBank(player_id(7), 9_000, 9)).answer is True
    assert table.at(1).time_bank_ms == 12_000
