"""Hands per second: our engine against PokerKit, replaying the same file in the same run.

`python tests/bench/engine_replay.py [FILE.phhs] [--rounds N]` prints both rates and their ratio, for hands already read
and with reading the file included. Rounds of both take turns, so that a busy machine slows both; the best round of each
counts.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pokerkit import HandHistory

from cardroom.engine import CALL, Game, Hand, HandConfig, RaiseTo, phh

__all__ = ["main", "measure"]

_HANDS = Path(__file__).parents[1] / "unit" / "engine" / "recorded" / "nlhe-6max-1000.phhs"


def _read_ours(path: Path) -> list[phh.PhhHand]:
    return [record for _, record in phh.read(path) if isinstance(record, phh.PhhHand)]


def _replay_ours(records: list[phh.PhhHand]) -> int:
    return sum([phh.replay(record, decisions=False).matches is True for record in records])


def _read_theirs(path: Path) -> list[HandHistory]:
    with path.open("rb") as file:
        return list(HandHistory.load_all(file))


def _replay_theirs(records: list[HandHistory]) -> int:
    same = 0
    for record in records:
        *_, state = record
        same += list(state.stacks) == list(record.finishing_stacks or ())
    return same


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def _settling() -> float:
    """Best seconds from the last call of nine all-ins to the end: run-out, showdown and all pots."""
    seats = tuple((seat, 100 * seat) for seat in range(1, 10))
    config = HandConfig(Game.NO_LIMIT_HOLDEM, 5, 10, 9, 1, 2, seats)
    hand, _ = Hand.start(config, tuple(range(51, -1, -1)))
    for seat in (3, 4, 5, 6, 7, 8, 9):
        hand.advance(seat, RaiseTo(100 * seat))
    hand.advance(1, CALL)
    hands = [hand.copy() for _ in range(50)]
    return min([_seconds(partial(copy.act, 2, CALL)) for copy in hands])


def measure(path: Path, rounds: int) -> dict[str, float]:
    """Best seconds of each over so many rounds; both must find every hand's stacks equal."""
    ours, theirs = _read_ours(path), _read_theirs(path)
    assert _replay_ours(ours) == _replay_theirs(theirs) == len(ours), "not every hand's stacks agree"
    works: dict[str, Callable[[], object]] = {
        "ours": lambda: _replay_ours(ours),
        "theirs": lambda: _replay_theirs(theirs),
        "ours from file": lambda: _replay_ours(_read_ours(path)),
        "theirs from file": lambda: _replay_theirs(_read_theirs(path)),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            repeats = 1 if name.startswith("theirs") else 5
            best[name] = min(best[name], *[_seconds(work) for _ in range(repeats)])
    return {"hands": float(len(ours)), **best}


def _run_compiled(path: Path, rounds: int) -> int:
    """Compile the engine into a folder that lives as long as the measurement."""
    if shutil.which("gcc") is None and shutil.which("cc") is None:
        print("compiled: not measured, there is no gcc on this machine (apt-get install gcc)")
        return 0
    print("compiled:", flush=True)
    script = Path(__file__).parents[2] / "libs" / "engine" / "compile_engine.py"
    with TemporaryDirectory() as out:
        built = subprocess.run([sys.executable, script, out], capture_output=True, text=True, check=False)
        if built.returncode:
            print(f"no compiled engine: {built.stderr or built.stdout}")
            return built.returncode
        command = [sys.executable, __file__, str(path), "--rounds", str(rounds)]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": out}, check=False).returncode


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=_HANDS, help="a .phhs file of NT or PO hands")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compiled", action="store_true", help="measure a compiled copy of the engine")
    chosen = parser.parse_args()
    if chosen.compiled:
        sys.exit(_run_compiled(chosen.file, chosen.rounds))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure(chosen.file, chosen.rounds)
    hands = found["hands"]
    for what in ("", " from file"):
        ours, theirs = found["ours" + what], found["theirs" + what]
        print(
            f"replay{what or ' of hands read'}: ours {hands / ours:,.0f} hands/s, "
            f"PokerKit {hands / theirs:,.0f} hands/s, ratio {theirs / ours:.1f}"
        )
    print(f"a showdown of nine with eight side pots: {_settling() * 1e6:,.0f} µs from the last call to the last chip")


if __name__ == "__main__":
    main()
