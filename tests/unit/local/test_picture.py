"""What a demo shows of a table."""

from __future__ import annotations

import io

from rich.console import Console

from cardroom.contracts.table.v1 import view_pb2 as v
from cardroom.local.demo import words
from cardroom.local.demo.screen import picture


def _view() -> v.PublicView:
    view = v.PublicView(name="Maple", stakes=v.Stakes(small_blind=5, big_blind=10))
    view.seats.add(seat=1, display_name="Ada", stack=970, status=v.SEAT_STATUS_PLAYING)
    view.seats.add(seat=2, display_name="Bela", stack=1000, status=v.SEAT_STATUS_PLAYING)
    hand = view.hand
    hand.hand_number, hand.button_seat, hand.board = 7, 1, "QhTd2c"
    hand.pots.add(amount=60)
    hand.players.add(seat=1, street_total=30, hole_card_count=2, status=v.PLAYER_STATUS_IN)
    hand.players.add(seat=2, hole_card_count=2, status=v.PLAYER_STATUS_FOLDED)
    hand.turn.seat = 1
    hand.turn.base_deadline.FromSeconds(1_000_012)
    return view


def _text(view: v.PublicView) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(picture(view, ["Bela folds"], now=1_000_000))
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def test_the_picture_says_who_acts_and_how_long_they_have() -> None:
    text = _text(_view())
    assert "Maple · no-limit hold'em 5/10 · hand 7" in text
    assert "Q♥ T♦ 2♣" in text
    assert "to act, 12 s" in text
    assert "Bela folds" in text


def test_cards_are_backs_until_they_are_shown() -> None:
    view = _view()
    assert "▒▒" in _text(view)
    view.hand.players[0].shown_cards = "AhKd"
    assert "A♥ K♦" in _text(view)


def test_events_read_like_a_commentary() -> None:
    events = [
        v.TableEvent(action_taken=v.ActionTaken(seat=1, kind=v.ACTION_KIND_RAISE, street_total=60, is_all_in=True)),
        v.TableEvent(action_taken=v.ActionTaken(seat=2, kind=v.ACTION_KIND_FOLD, cause=v.ACTION_CAUSE_TIMEOUT)),
        v.TableEvent(street_dealt=v.StreetDealt(street=v.STREET_FLOP, cards="QhTd2c")),
        v.TableEvent(connection_changed=v.ConnectionChanged(seat=1)),
        v.TableEvent(pot_awarded=v.PotAwarded(wins=[v.PotAwarded.Win(seat=1, amount=90)])),
    ]
    view = _view()
    assert next(iter(words.sentences(view, events))) == "Ada bets 60, all-in"
    view.hand.players[1].street_total = 20
    assert list(words.sentences(view, events)) == [
        "Ada raises to 60, all-in",
        "Bela folds (time is up)",
        "flop: Q♥ T♦ 2♣",
        "Ada wins 90",
    ]
