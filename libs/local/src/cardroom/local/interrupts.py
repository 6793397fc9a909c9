"""Ending in order when told to: Ctrl-C and SIGTERM become one cancellation, and a second one does not break the end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """While inside, the first SIGINT, SIGTERM or SIGHUP cancels the current task; later ones do nothing."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None, "only a task can be cancelled"
    told = False

    def stop() -> None:
        nonlocal told
        if not told:
            told = True
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
