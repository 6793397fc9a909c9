"""The table as a picture of text: seats, board, pot, your cards, whose turn, time left, what you may do. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cardroom.cli.play.clock import TimeLeft, seconds, time_left
from cardroom.cli.play.commands import offer
from cardroom.cli.play.narrator import STREETS, pretty
from cardroom.client.view import hand_player, pot_total, seat_of_player
from cardroom.contracts.table.v1 import view_pb2 as pb

_STATUSES = {
    pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND: "waits for big blind",
    pb.SEAT_STATUS_SITTING_OUT: "sits out",
    pb.SEAT_STATUS_LEAVING: "leaving",
}
_RED_SUITS = "♥♦"


@dataclass(frozen=True, slots=True)
class Situation:
    """What a player sees at one moment."""

    view: pb.PublicView
    own_cards: str
    player_id: str
    server_now: float
    """Seconds since 1970 by the server's clock."""
    is_connected: bool = True
    """Whether this is the table as it is now, or as it was when the connection was lost."""


def picture(now: Situation, typed: str, log: list[str]) -> RenderableType:
    """The whole screen."""
    stakes = now.view.stakes
    title = f"{now.view.name} · {stakes.small_blind:,}/{stakes.big_blind:,}"
    if now.view.HasField("hand"):
        title += f" · hand {now.view.hand.hand_number}"
    parts: list[RenderableType] = [_seats(now), _middle(now.view), Text("\n".join(log), style="dim")]
    parts += [Text(summary(now), style="bold"), Text(f"> {typed}▏")]
    return Panel(Group(*parts), title=title, box=box.ROUNDED)


def summary(now: Situation) -> str:
    """The situation of the player in a line or two: their cards, and what they may do or whom they wait for."""
    mine = f"Your cards: {pretty(now.own_cards)}. " if now.own_cards else standing(now.view, now.player_id)
    if not now.is_connected:
        return f"{mine}No connection to the card room; trying again."
    if not now.view.hand.HasField("turn"):
        return mine + waiting(now.view)
    turn = now.view.hand.turn
    if turn.player_id != now.player_id:
        actor = seat_of_player(now.view, turn.player_id)
        name = f"seat {turn.seat}" if actor is None else actor.display_name
        return f"{mine}{name} is to act: {_time_of_turn(now)}"
    return f"{mine}Your turn: {offer(turn.legal)} · {_time_of_turn(now)}"


class Prompt:
    """The player's turn as one line of text, with the time that it had left when it came: lines do not tick."""

    def __init__(self) -> None:
        """Nothing told yet."""
        self._told: tuple[int, int, float] | None = None
        self._line = ""

    def line(self, now: Situation, *, is_asked: bool) -> str:
        """The same line while the turn waits for an answer (`is_asked`); a turn that begins anew is told anew."""
        if not is_asked or not now.is_connected:
            self._told = None
            return ""
        turn = now.view.hand.turn
        asked = (turn.token.hand_number, turn.token.action_number, seconds(turn.base_deadline))
        if asked != self._told:
            self._told, self._line = asked, summary(now)
        return self._line


def _time_of_turn(now: Situation) -> TimeLeft:
    turn = now.view.hand.turn
    actor = seat_of_player(now.view, turn.player_id)
    return time_left(turn, now.server_now, is_connected=actor is None or actor.connected)


def standing(view: pb.PublicView, player_id: str) -> str:
    """Why the player has no cards, whoever acts, and what would change it (rules 3.4, 10.1, 10.2); empty otherwise."""
    seat = seat_of_player(view, player_id)
    if seat is None:
        return ""
    if seat.stack == 0 and not _is_dealt_in(view, seat.seat):
        return "You have no chips left: t tops up, q leaves. "
    if seat.status == pb.SEAT_STATUS_SITTING_OUT:
        return "You sit out: b to play again. "
    if seat.status == pb.SEAT_STATUS_WAITING_FOR_BIG_BLIND:
        return "You are dealt in when the big blind reaches you. "
    return ""


def _is_dealt_in(view: pb.PublicView, seat: int) -> bool:
    return not view.hand.is_over and hand_player(view, seat) is not None


def waiting(view: pb.PublicView) -> str:
    """Why nobody acts now."""
    if view.HasField("next_deal_at"):
        return "The next hand comes in a moment."
    return "Waiting for more players."


def position(view: pb.PublicView, seat: int) -> str:
    """D for the button, SB and BB for the blinds of the running hand."""
    hand = view.hand
    marks = [("D", hand.button_seat), ("SB", hand.small_blind_seat), ("BB", hand.big_blind_seat)]
    return " ".join(mark for mark, at in marks if at == seat)


def _seats(now: Situation) -> Table:
    view = now.view
    table = Table(box=None, expand=True, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True, width=1)
    for name in ("seat", "player", "", "stack", "in front", "cards", ""):
        # On a narrow terminal names give way, and nothing else.
        table.add_column(name, justify="right" if name in {"stack", "in front"} else "left", no_wrap=name != "player")
    for seat in view.seats:
        is_me, player = seat.player_id == now.player_id, hand_player(view, seat.seat)
        is_actor = view.hand.HasField("turn") and view.hand.turn.seat == seat.seat
        is_out = player is None or player.status == pb.PLAYER_STATUS_FOLDED
        table.add_row(
            "▶" if is_actor else "",
            str(seat.seat),
            Text(f"{seat.display_name} (you)" if is_me else seat.display_name, no_wrap=True, overflow="ellipsis"),
            position(view, seat.seat),
            f"{seat.stack:,}",
            f"{player.street_total:,}" if player is not None and player.street_total else "",
            _cards(player, now.own_cards if is_me else ""),
            str(_time_of_turn(now)) if is_actor else _state(seat, player),
            style="dim" if is_out else ("bold" if is_actor or is_me else ""),
        )
    return table


def _cards(player: pb.HandPlayer | None, own_cards: str) -> Text:
    if player is None:
        return Text("")
    face_up = player.shown_cards or own_cards
    if face_up:
        return coloured(pretty(face_up))
    return Text("" if player.status == pb.PLAYER_STATUS_FOLDED else "▒▒ " * player.hole_card_count)


def _state(seat: pb.SeatView, player: pb.HandPlayer | None) -> str:
    if player is not None and player.status == pb.PLAYER_STATUS_ALL_IN:
        return "all-in"
    if player is not None and player.status == pb.PLAYER_STATUS_FOLDED:
        return "folded"
    return _STATUSES.get(seat.status, "" if seat.connected else "connection lost")


def _middle(view: pb.PublicView) -> Text:
    if not view.HasField("hand"):
        return Text("\nNo hand yet.\n", justify="center")
    pots = " + ".join(f"{pot.amount:,}" for pot in view.hand.pots)
    pot = f"pot {pot_total(view):,}" + (f" ({pots})" if len(view.hand.pots) > 1 else "")
    board = coloured(pretty(view.hand.board)) if view.hand.board else Text("—")
    line = Text.assemble("\n", STREETS.get(view.hand.street, ""), "  ", board, "  ", pot, "\n")
    line.justify = "center"
    return line


def coloured(cards: str) -> Text:
    """Cards with red hearts and diamonds."""
    text = Text(cards)
    for at, suit in enumerate(cards):
        if suit in _RED_SUITS:
            text.stylize("red", at - 1, at + 1)
    return text
