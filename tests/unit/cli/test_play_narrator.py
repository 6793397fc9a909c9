"""A hand as sentences."""

from __future__ import annotations

from typing import Any

from cardroom.cli.play.narrator import Narrator, pretty
from cardroom.client import Update
from cardroom.contracts.table.v1 import view_pb2 as pb

VIEW = pb.PublicView(
    seats=[pb.SeatView(seat=1, display_name="Ann", stack=100), pb.SeatView(seat=2, display_name="Bo", stack=90)]
)


def told(narrator: Narrator, *events: dict[str, Any], view: pb.PublicView = VIEW) -> list[str]:
    return narrator.lines(view, Update(1, [pb.TableEvent(**event) for event in events], is_snapshot=False))


def acts(seat: int, kind: pb.ActionKind.ValueType, **facts: Any) -> dict[str, Any]:
    return {"action_taken": pb.ActionTaken(seat=seat, kind=kind, **facts)}


def test_cards_are_written_with_their_suits() -> None:
    assert pretty("AhTd2c9s") == "A♥ T♦ 2♣ 9♠"
    assert pretty("") == ""


def test_a_first_wager_is_a_bet_after_the_flop_and_a_raise_before_it() -> None:
    narrator = Narrator()
    lines = told(
        narrator,
        {"hand_started": pb.HandStarted(hand_number=3)},
        {"posted": pb.Posted(seat=2, kind=pb.POST_KIND_BIG_BLIND, amount=10)},
        acts(1, pb.ACTION_KIND_RAISE, street_total=30, added=30),
        acts(2, pb.ACTION_KIND_CALL, street_total=30, added=20),
        {"street_dealt": pb.StreetDealt(street=pb.STREET_FLOP, cards="AhTd2c")},
        acts(2, pb.ACTION_KIND_RAISE, street_total=40, added=40),
        acts(1, pb.ACTION_KIND_RAISE, street_total=970, added=970, is_all_in=True),
        acts(2, pb.ACTION_KIND_FOLD, cause=pb.ACTION_CAUSE_TIMEOUT),
    )
    assert lines == [
        "Hand 3 begins.",
        "Bo posts the big blind 10.",
        "Ann raises to 30.",
        "Bo calls 20.",
        "Flop: A♥ T♦ 2♣",
        "Bo bets 40.",
        "Ann raises to 970 and is all-in.",
        "Bo folds (out of time).",
    ]


def test_the_end_of_a_hand_says_who_wins_what() -> None:
    win = pb.PotAwarded(pot_index=0, amount=61, wins=[pb.PotAwarded.Win(seat=1, amount=61)])
    side = pb.PotAwarded(pot_index=1, amount=20, wins=[pb.PotAwarded.Win(seat=2, amount=20)])
    lines = told(
        Narrator(),
        {"uncalled_returned": pb.UncalledReturned(seat=1, amount=1900)},
        {"cards_shown": pb.CardsShown(seat=1, cards="AhAd")},
        {"cards_mucked": pb.CardsMucked(seat=2)},
        {"pot_awarded": win},
        {"pot_awarded": side},
    )
    assert lines == [
        "1,900 go back to Ann, uncalled.",
        "Ann shows A♥ A♦.",
        "Bo mucks.",
        "Ann wins 61 from the pot.",
        "Bo wins 20 from side pot 1.",
    ]


def test_who_has_left_is_still_called_by_name() -> None:
    narrator = Narrator()
    told(narrator)
    left = pb.PublicView(seats=VIEW.seats[1:])
    assert told(narrator, {"player_left": pb.PlayerLeft(seat=1)}, view=left) == ["Ann leaves."]


def test_joining_in_the_middle_of_a_street_the_next_wager_is_a_raise() -> None:
    narrator = Narrator()
    view = pb.PublicView(seats=VIEW.seats)
    view.hand.players.add(seat=2, street_total=10)
    narrator.lines(view, Update(4, [], is_snapshot=True))
    lines = told(narrator, acts(1, pb.ACTION_KIND_RAISE, street_total=30, added=30), view=view)
    assert lines == ["Ann raises to 30."]


def test_14_4_a_void_hand_is_told_as_such() -> None:
    lines = told(Narrator(), {"hand_ended": pb.HandEnded(hand_number=3, is_void=True)})
    assert lines == ["The hand could not be completed and is void: every chip put in is back."]


def test_who_is_sat_out_is_told_why() -> None:
    out, reasons = pb.SEAT_STATUS_SITTING_OUT, (pb.STATUS_REASON_PLAYER, pb.STATUS_REASON_TIMEOUTS)
    events = [
        {"seat_status_changed": pb.SeatStatusChanged(seat=2, status=out, reason=reason)}
        for reason in (*reasons, pb.STATUS_REASON_CONNECTION_LOST, pb.STATUS_REASON_OUT_OF_CHIPS)
    ]
    assert told(Narrator(), *events) == [
        "Bo sits out.",
        "Bo sits out after two timeouts.",
        "Bo sits out: the connection was lost.",
        "Bo sits out: no chips left.",
    ]


def test_9_1_when_a_time_bank_begins_to_run_it_is_told_how_much_is_in_it() -> None:
    token, next_token = pb.TurnToken(hand_number=3, action_number=4), pb.TurnToken(hand_number=3, action_number=5)
    view = pb.PublicView(seats=VIEW.seats)
    view.hand.turn.CopyFrom(pb.TurnView(token=token, seat=2, time_bank_left_ms=25_000))
    started = {"time_bank_started": pb.TimeBankStarted(token=token, seat=2)}
    assert told(Narrator(), started, view=view) == ["Bo's time bank runs: 25 s are left."]
    view.hand.turn.token.CopyFrom(next_token)
    assert told(Narrator(), started, view=view) == ["Bo's time bank runs."]
