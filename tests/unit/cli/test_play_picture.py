"""The screen shows what a player needs, and no more than they may see."""

from __future__ import annotations

import pytest
from rich.console import Console

from cardroom.cli.play.picture import Prompt, Situation, picture, standing, summary, waiting
from cardroom.contracts.table.v1 import view_pb2 as pb


def table() -> pb.PublicView:
    view = pb.PublicView(
        name="Emerald",
        stakes=pb.Stakes(small_blind=5, big_blind=10),
        seats=[
            pb.SeatView(seat=1, player_id="me", display_name="Ann", stack=990, connected=True),
            pb.SeatView(seat=4, player_id="you", display_name="Bo", stack=960, connected=True),
            pb.SeatView(seat=5, player_id="x", display_name="Cy", stack=0, status=pb.SEAT_STATUS_SITTING_OUT),
        ],
    )
    view.hand.CopyFrom(
        pb.HandView(
            hand_number=12,
            button_seat=4,
            small_blind_seat=4,
            big_blind_seat=1,
            street=pb.STREET_FLOP,
            board="QhJhTh",
            pots=[pb.PotView(amount=50)],
            players=[
                pb.HandPlayer(seat=1, hole_card_count=2, status=pb.PLAYER_STATUS_IN),
                pb.HandPlayer(seat=4, hole_card_count=2, street_total=30, status=pb.PLAYER_STATUS_IN),
            ],
            turn=pb.TurnView(
                seat=1, player_id="me", legal=pb.LegalActions(can_fold=True, call_amount=30, all_in_total=990)
            ),
        )
    )
    view.hand.turn.base_deadline.FromSeconds(1_012)
    return view


def drawn(now: Situation, width: int = 110) -> str:
    console = Console(width=width, record=True, force_terminal=False, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(picture(now, "r 1", ["Bo bets 30."]))
        return console.export_text()


def test_the_screen_shows_seats_board_pot_cards_turn_time_and_actions() -> None:
    text = drawn(Situation(table(), "AhKh", "me", 1_000.0))
    for part in ("Emerald", "5/10", "hand 12", "Ann (you)", "Q♥ J♥ T♥", "pot 50", "A♥ K♥", "▒▒ ▒▒", "12 s", "> r 1"):
        assert part in text
    for part in ("Bo bets 30.", "f fold · c call 30", "sits out", "BB", "D SB"):
        assert part in text


def test_on_a_narrow_screen_long_names_give_way_and_nothing_else() -> None:
    view = table()
    view.seats[0].display_name = "Magnificent Nightingale"
    view.seats[0].stack = 1_234_567
    view.seats[0].status = pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND
    view.hand.turn.seat, view.hand.turn.time_bank_left_ms = 4, 30_000
    text = drawn(Situation(view, "AhKh", "me", 1_000.0), width=80)
    for part in (
        "Magnificent",
        "…",
        "BB",
        "1,234,567",
        "A♥ K♥",
        "waits for big blind",
        "12 s (+30 s bank)",
        "in front",
    ):
        assert part in text


def test_cards_of_others_are_shown_only_face_up() -> None:
    view = table()
    view.hand.players[1].shown_cards = "2c2d"
    assert "2♣ 2♦" in drawn(Situation(view, "AhKh", "me", 1_000.0))


def test_out_of_turn_the_summary_says_whom_to_wait_for() -> None:
    now = Situation(table(), "", "you", 1_000.0)
    assert summary(now) == "Ann is to act: 12 s (+0 s bank)"


def test_9_5_of_an_actor_who_is_away_only_the_base_time_is_shown() -> None:
    view = table()
    view.hand.turn.time_bank_left_ms = 30_000
    assert summary(Situation(view, "", "you", 1_000.0)) == "Ann is to act: 12 s (+30 s bank)"
    view.seats[0].connected = False
    assert summary(Situation(view, "", "you", 1_000.0)) == "Ann is to act: 12 s (+0 s bank)"


def test_without_a_connection_the_summary_says_so_and_offers_nothing() -> None:
    now = Situation(table(), "AhKh", "me", 1_000.0, is_connected=False)
    assert summary(now) == "Your cards: A♥ K♥. No connection to the card room; trying again."


def test_between_hands_it_says_why_nothing_happens() -> None:
    view = table()
    view.hand.ClearField("turn")
    view.hand.is_over = True
    assert waiting(view) == "Waiting for more players."
    view.next_deal_at.FromSeconds(1_100)
    assert waiting(view) == "The next hand comes in a moment."


@pytest.mark.parametrize(
    ("status", "stack", "said"),
    [
        (pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND, 500, "You are dealt in when the big blind reaches you. "),
        (pb.SEAT_STATUS_SITTING_OUT, 500, "You sit out: b to play again. "),
        (pb.SEAT_STATUS_SITTING_OUT, 0, "You have no chips left: t tops up, q leaves. "),
        (pb.SEAT_STATUS_PLAYING, 500, ""),
    ],
)
def test_3_4_who_has_no_cards_is_told_why_during_a_hand_and_between_hands(
    status: pb.SeatStatus.ValueType, stack: int, said: str
) -> None:
    view = table()
    view.seats[2].status, view.seats[2].stack = status, stack
    assert summary(Situation(view, "", "x", 1_000.0)) == f"{said}Ann is to act: 12 s (+0 s bank)"
    view.hand.ClearField("turn")
    view.hand.is_over = True
    assert summary(Situation(view, "", "x", 1_000.0)) == f"{said}Waiting for more players."


def test_all_in_is_not_out_of_chips() -> None:
    view = table()
    view.seats[0].stack = 0
    assert standing(view, "me") == ""


def test_9_1_lines_of_text_tell_the_time_left_when_the_turn_comes_and_do_not_tick() -> None:
    prompt, view = Prompt(), table()
    line = prompt.line(Situation(view, "AhKh", "me", 1_000.0), is_asked=True)
    assert line == "Your cards: A♥ K♥. Your turn: f fold · c call 30 · 12 s (+0 s bank)"
    assert prompt.line(Situation(view, "AhKh", "me", 1_009.0), is_asked=True) == line
    assert prompt.line(Situation(view, "AhKh", "me", 1_009.5), is_asked=False) == "", "it is answered"


def test_9_6_a_turn_that_begins_anew_is_told_anew() -> None:
    prompt, view = Prompt(), table()
    prompt.line(Situation(view, "AhKh", "me", 1_000.0), is_asked=True)
    view.hand.turn.base_deadline.FromSeconds(1_030)
    assert prompt.line(Situation(view, "AhKh", "me", 1_010.0), is_asked=True).endswith("20 s (+0 s bank)")


def test_without_a_connection_no_line_offers_what_cannot_be_done_and_afterwards_it_is_told_again() -> None:
    prompt, view = Prompt(), table()
    assert prompt.line(Situation(view, "AhKh", "me", 1_000.0, is_connected=False), is_asked=True) == ""
    assert prompt.line(Situation(view, "AhKh", "me", 1_002.0), is_asked=True).endswith("10 s (+0 s bank)")
