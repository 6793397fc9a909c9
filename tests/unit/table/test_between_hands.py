"""What happens between two hands, in the order that services/table/README.md writes down (rule 2.5); a test each."""

from __future__ import annotations

from cardroom.contracts.table.v1 import view_pb2 as view
from cardroom.table.domain import commands as do
from cardroom.table.domain.step import Decision, ToppedUp
from tests.unit.table.driver import CALL, CHECK, FOLD, RAISE, SEAT_2_WINS, Driver, only, player_id, rigged, told

SEAT_3_WINS = rigged("7c8cAs2h3hAd 4c JsTs5d 4d 6s 4h 9h")
"""Between seats 1 to 3 with the button on seat 3: aces on seat 3, and nobody improves."""


def all_in_for_three() -> tuple[Driver, Decision]:
    """Seats 1 and 2 lose all they have to seat 3; both asked for a top-up before, and seat 2 leaves after it."""
    table = Driver(100, 100, 1000)
    table.deal(SEAT_3_WINS, button_draw=2)
    table.top_up(1, 300, "first")
    table.top_up(2, 300, "second")
    table.act(RAISE, 100)
    table.act(CALL)
    table.leave(2)
    return table, table.history[-1][3]


def showdown() -> Driver:
    """Two players have just checked a hand down."""
    table = Driver(1000, 1000)
    table.deal()
    table.act(CALL)
    while table.state.hand is not None:
        table.act(CHECK)
    return table


def due_in(table: Driver) -> int:
    return table.state.next_deal_ms - table.now


def test_2_5_step_1_the_stacks_are_what_the_hand_made_of_them_before_anything_else() -> None:
    table, ended = all_in_for_three()
    assert ended.settlement is not None
    assert [(one.player_id, one.stack) for one in ended.settlement.deltas] == [
        (player_id(1), 0),
        (player_id(2), 80),
        (player_id(3), 1120),
    ]
    events = told(ended)
    assert events.index("hand_ended") < min(events.index(kind) for kind in ("player_left", "stack_changed"))


def test_2_5_step_2_who_asked_to_leave_leaves_and_gets_no_top_up() -> None:
    table, ended = all_in_for_three()
    assert only(ended, "player_left").seat == 2
    assert ended.ended[0].final_stack == 80
    assert ToppedUp("second", 0) in ended.topped_up


def test_2_5_step_2_goes_from_the_lowest_seat_to_the_highest() -> None:
    table, ended = all_in_for_three()
    assert [one.top_up_id for one in ended.topped_up] == ["first", "second"]
    events = told(ended)
    assert events.index("stack_changed") < events.index("player_left")


def test_2_5_step_3_a_top_up_goes_by_the_stack_after_the_hand() -> None:
    table = Driver(3900, 1000)
    table.deal(button_draw=1)
    table.top_up(1, 300)
    assert table.act(FOLD).topped_up == (ToppedUp("top-up", 90),)  # 3,910 after the hand, and 4,000 are the most


def test_2_5_step_4_who_gets_chips_before_does_not_sit_out() -> None:
    table, ended = all_in_for_three()
    assert table.at(1).stack == 300
    assert table.at(1).can_play


def test_2_5_step_4_who_has_none_then_sits_out() -> None:
    table = Driver(20, 500)
    table.deal(SEAT_2_WINS)
    ended = table.act(CALL)
    assert only(ended, "seat_status_changed").reason == view.STATUS_REASON_OUT_OF_CHIPS
    assert table.at(1).out_since_ms == table.now


def test_2_5_step_5_whether_a_hand_is_due_is_judged_last() -> None:
    table, ended = all_in_for_three()
    assert told(ended)[-1] == "next_deal_scheduled"  # seat 1 can play again, seat 2 has gone
    assert due_in(table) == 5000
    alone = Driver(20, 500)
    alone.deal(SEAT_2_WINS)
    assert "next_deal_scheduled" not in told(alone.act(CALL))


def test_2_5_step_6_what_happens_in_the_pause_happens_at_once_and_puts_nothing_off() -> None:
    table = showdown()
    table.now += 1000
    assert told(table.seat(3, 500)) == ["player_seated"]
    assert told(table.top_up(1, 300)) == ["stack_changed"]
    assert told(table.do(do.SitOut(player_id(1)))) == ["seat_status_changed"]
    assert told(table.do(do.ComeBack(player_id(1)))) == ["seat_status_changed"]
    assert told(table.leave(2)) == ["player_left"]
    assert due_in(table) == 4000


def test_2_5_step_7_fewer_than_two_call_the_hand_off_and_two_begin_a_new_pause() -> None:
    table = showdown()
    table.now += 4000
    off = table.do(do.SitOut(player_id(1)))
    assert not only(off, "next_deal_scheduled").HasField("at")
    table.now += 3000
    table.do(do.ComeBack(player_id(1)))
    assert due_in(table) == 2000


def test_2_5_step_7_no_hand_is_dealt_before_the_pause_after_the_last_is_over() -> None:
    table = showdown()
    table.do(do.SitOut(player_id(1)))
    table.now += 1000
    table.do(do.ComeBack(player_id(1)))
    assert due_in(table) == 4000


def test_2_5_step_7_nor_when_the_clock_forgot_it() -> None:
    table = showdown()
    table.do(do.RestartTurn())
    assert due_in(table) == 5000


def test_2_5_step_7_a_hand_of_an_earlier_release_ends_as_that_one_ended_it() -> None:
    table = Driver(1000, 1000)
    table.now = table.state.next_deal_ms
    table.do(do.DealHand(table.state.timing_generation, 0, edition=0), rigged(""))
    table.act(CALL)
    while table.state.hand is not None:
        table.act(CHECK)
    table.do(do.SitOut(player_id(1)))
    table.do(do.ComeBack(player_id(1)))
    assert due_in(table) == 2000


def test_2_5_step_8_who_is_dealt_in_is_decided_at_the_deal() -> None:
    table = showdown()
    table.seat(3, 500)
    table.do(do.SitOut(player_id(1)))
    started = only(table.deal(), "hand_started")
    assert {player.seat for player in started.players} == {2, 3}
