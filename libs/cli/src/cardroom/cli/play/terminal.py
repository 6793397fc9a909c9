"""Where a person reads and types: plain lines for pipes, or a screen that is drawn anew."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import termios
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live

_BACKSPACES: Final = {"\x7f", "\b"}
_ENTERS: Final = {"\r", "\n"}
_LAST_LINES: Final = 3
_CTRL_C, _CTRL_D, _ESCAPE = "\x03", "\x04", "\x1b"


class EndOfInputError(Exception):
    """Nothing more will be typed."""


class Terminal(Protocol):
    """What the game needs of a terminal."""

    def __enter__(self) -> Self:
        """Begins."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the terminal as it was."""
        ...

    def say(self, line: str) -> None:
        """Tells something."""
        ...

    def show(self, table: Callable[[str, list[str]], RenderableType], text: str) -> None:
        """Shows the table: `table(typed, log)` draws it for a screen, `text` says it in a line, "" for nothing."""
        ...

    def hide(self) -> None:
        """Shows no table any more: what comes next is talk."""
        ...

    async def read(self) -> str | None:
        """The next line typed; None at the end of the input."""
        ...


class _Reader:
    """Reads standard input in a thread of its own: works for keyboards, pipes and files alike."""

    def __init__(self, one: Callable[[], str]) -> None:
        self._one = one
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    async def read(self) -> str:
        """The next piece; "" at the end."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            # Not joined at the end: a blocked read cannot be interrupted.
            threading.Thread(target=self._run, args=(self._loop,), daemon=True).start()
        return await self._queue.get()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            piece = self._one()
            try:
                loop.call_soon_threadsafe(self._queue.put_nowait, piece)
            except RuntimeError:
                return
            if not piece:
                return


class _Lines:
    """Lines from standard input, read past Python's own buffer: a thread that waits in it could not be ended."""

    def __init__(self) -> None:
        self._rest = b""

    def next(self) -> str:
        """A line with its end; "" at the end of the input."""
        while b"\n" not in self._rest:
            piece = os.read(sys.stdin.fileno(), 4096)
            if not piece:
                line, self._rest = self._rest, b""
                return line.decode(errors="replace")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace") + "\n"


class PlainTerminal:
    """Lines in, lines out."""

    def __init__(self) -> None:
        """Uses standard input and output."""
        self._reader = _Reader(_Lines().next)
        self._last = ""

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to restore."""

    def say(self, line: str) -> None:
        """Prints a line at once."""
        print(line, flush=True)

    def show(self, table: Callable[[str, list[str]], RenderableType], text: str) -> None:
        """Prints the line when it is another one than last time."""
        if text and text != self._last:
            self.say(text)
        self._last = text

    def hide(self) -> None:
        """Nothing to take away."""

    async def read(self) -> str | None:
        """The next line."""
        line = await self._reader.read()
        return line.rstrip("\n") if line else None


class ScreenTerminal:
    """The table drawn in place, with what happened below it, and the line being typed."""

    def __init__(self, log_lines: int = 9) -> None:
        """Shows the last `log_lines` lines of what happened."""
        self._log_lines = log_lines
        self._log: list[str] = []
        self._typed = ""
        self._draw: Callable[[str, list[str]], RenderableType] | None = None
        self._console = Console()
        self._live: Live | None = None
        self._before: list[Any] | None = None
        decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._reader = _Reader(lambda: self._one_key(decoder))

    def __enter__(self) -> Self:
        """Takes the keyboard key by key."""
        self._before = termios.tcgetattr(sys.stdin.fileno())
        tty.setcbreak(sys.stdin.fileno())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives the keyboard back."""
        self.hide()
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    def say(self, line: str) -> None:
        """Adds a line to what happened; before there is a table, prints it."""
        self._log.append(line)
        if self._live is None:
            self._console.print(line, markup=False, highlight=False)
        else:
            self._refresh()

    def show(self, table: Callable[[str, list[str]], RenderableType], text: str) -> None:
        """Draws the table."""
        if self._draw is None:
            self._log.clear()
        self._draw = table
        self._refresh()

    def hide(self) -> None:
        """Leaves the screen; what was said last stays."""
        if self._live is not None:
            self._live.stop()
            # The screen takes what it showed with it.
            for line in self._log[-_LAST_LINES:]:
                self._console.print(line, markup=False, highlight=False)
        self._live = self._draw = None

    async def read(self) -> str | None:
        """The next line, drawn while it is typed."""
        while True:
            key = await self._reader.read()
            if not key or key == _CTRL_D:
                return None
            if key == _CTRL_C:
                raise KeyboardInterrupt
            if key in _ENTERS:
                typed, self._typed = self._typed, ""
                if self._live is None:
                    self._console.print()
                self._refresh()
                return typed
            self._edit(key)

    def _edit(self, key: str) -> None:
        if key in _BACKSPACES:
            self._typed = self._typed[:-1]
        elif key.isprintable():
            self._typed += key
        if self._live is None:
            # Past the console, which takes control characters out.
            self._console.file.write(f"\r\x1b[K> {self._typed}")
            self._console.file.flush()
        self._refresh()

    def _refresh(self) -> None:
        if self._draw is None:
            return
        picture = self._draw(self._typed, self._log[-self._log_lines :])
        if self._live is None:
            self._live = Live(picture, console=self._console, auto_refresh=False, screen=True)
            self._live.start(refresh=True)
        else:
            self._live.update(picture, refresh=True)

    @staticmethod
    def _one_key(decoder: codecs.IncrementalDecoder) -> str:
        while True:
            raw = os.read(sys.stdin.fileno(), 1)
            if not raw:
                return ""
            key = decoder.decode(raw)
            if key == _ESCAPE:
                # Arrow keys and the like come as several bytes; none of them means anything here.
                os.read(sys.stdin.fileno(), 8)
            elif key:
                return key
