"""What a demo shows: a live picture of one table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cardroom.contracts.table.v1 import view_pb2 as v
from cardroom.local.demo import words
from cardroom.local.demo.totals import Reading

_SENTENCES_MAX = 8
_STATUS = {
    v.SEAT_STATUS_WAITING_FOR_BIG_BLIND: "waits for the big blind",
    v.SEAT_STATUS_SITTING_OUT: "sits out",
    v.SEAT_STATUS_LEAVING: "leaves",
}


class Screen(Protocol):
    """Where a demo is shown."""

    def __enter__(self) -> Self:
        """Take the terminal."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back."""
        ...

    def table(self, view: v.PublicView, events: Sequence[v.TableEvent]) -> None:
        """The shown table has moved on."""
        ...

    def totals(self, reading: Reading) -> None:
        """A second has passed."""
        ...


class PlainScreen:
    """A line a second."""

    def __init__(self, console: Console) -> None:
        """Write to `console`."""
        self._console = console

    def __enter__(self) -> Self:
        """Nothing to take."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to give back."""

    def table(self, view: v.PublicView, events: Sequence[v.TableEvent]) -> None:
        """Not shown: a log is no place for every action."""

    def totals(self, reading: Reading) -> None:
        """Write the line."""
        self._console.print(reading.line(), highlight=False, soft_wrap=True)


class LiveScreen:
    """One table, what happened at it last, and the totals, redrawn in place."""

    def __init__(self, console: Console, about: Sequence[str]) -> None:
        """Draw on `console`; `about` are the lines that stay below the picture."""
        self._about = about
        self._view = v.PublicView()
        self._sentences: deque[str] = deque(maxlen=_SENTENCES_MAX)
        self._reading: Reading | None = None
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self._draw, transient=False)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing; the last picture stays."""
        self._live.stop()

    def table(self, view: v.PublicView, events: Sequence[v.TableEvent]) -> None:
        """Keep the view (it is drawn a few times a second) and the sentences."""
        self._view.CopyFrom(view)
        self._sentences.extend(words.sentences(view, events))

    def totals(self, reading: Reading) -> None:
        """Keep the totals."""
        self._reading = reading

    def _draw(self) -> RenderableType:
        totals = Text(self._reading.line() if self._reading else "", style="bold")
        about = Text("\n".join(self._about), style="dim")
        return Group(picture(self._view, list(self._sentences), time.time()), totals, about)


def picture(view: v.PublicView, sentences: Sequence[str], now: float) -> Panel:
    """One table as everyone may see it; `now` is the time since the epoch, for the clock."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(6):
        grid.add_column()
    for seat in view.seats:
        grid.add_row(*_row(view, seat, now))
    hand = view.hand
    pots = " + ".join(str(pot.amount) for pot in hand.pots) or "0"
    board = Text.assemble("board  ", (words.cards(hand.board) or "—", "bold"), f"    pot {pots}")
    said = Text("\n".join(sentences), style="italic")
    said.append("\n" * (_SENTENCES_MAX - len(sentences)))
    blinds = f"{view.stakes.small_blind}/{view.stakes.big_blind}"
    title = f"{view.name} · no-limit hold'em {blinds} · hand {hand.hand_number}"
    return Panel(Group(grid, Text(), board, Text(), said), title=title, title_align="left")


def _row(view: v.PublicView, seat: v.SeatView, now: float) -> tuple[RenderableType, ...]:
    hand = view.hand
    player = next((dealt for dealt in hand.players if dealt.seat == seat.seat), None)
    acts = hand.HasField("turn") and hand.turn.seat == seat.seat
    folded = player is not None and player.status == v.PLAYER_STATUS_FOLDED
    style = "bold green" if acts else "dim" if folded or player is None else ""
    button = "●" if hand.button_seat == seat.seat else " "
    wager = str(player.street_total) if player is not None and player.street_total else ""
    note = _clock(hand.turn, now) if acts else _STATUS.get(seat.status, "")
    if player is not None and player.status == v.PLAYER_STATUS_ALL_IN and not hand.is_over:
        note = "all-in"
    return (
        Text(f"{seat.seat} {button}"),
        Text(seat.display_name, style=style),
        Text(f"{seat.stack:>7}", style=style),
        Text(_hole_cards(player), style=style),
        Text(f"{wager:>6}", style=style),
        Text(note, style=style),
    )


def _hole_cards(player: v.HandPlayer | None) -> str:
    if player is None or (player.status == v.PLAYER_STATUS_FOLDED and not player.shown_cards):
        return ""
    return words.cards(player.shown_cards) if player.shown_cards else "▒▒ " * player.hole_card_count


def _clock(turn: v.TurnView, now: float) -> str:
    deadline = turn.bank_deadline if turn.HasField("bank_deadline") else turn.base_deadline
    left = max(0.0, deadline.seconds + deadline.nanos / 1e9 - now)
    return f"to act, {left:.0f} s" + (" (time bank)" if turn.HasField("bank_deadline") else "")
