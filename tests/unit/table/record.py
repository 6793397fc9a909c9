"""Records a table's log as this release writes it: `python -m tests.unit.table.record NAME`.

A record is made once for each release that changes what is stored, and never changed afterwards: every later release
must still read it.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table.domain import commands as do
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.replay import Entry
from cardroom.table.records import pack_command, pack_table, unpack_command
from tests.unit.table.driver import Driver, player_id
from tests.unit.table.play import some_action

FOLDER = Path(__file__).parent / "recorded"


def played() -> Driver:
    """A table with every kind of command in its life, and a hand on at the end."""
    chance = random.Random(11)
    table = Driver(1000, 600, 400, 2000)
    table.do(do.SetTimeBank(player_id(2), 12_000, 4))
    for number in range(6):
        table.deal(Deck.shuffled(chance.randrange), chance.randrange(1 << 30))
        if number == 1:
            table.do(
                do.StartTimeBank(table.turn.token, table.state.timing_generation, table.turn.base_deadline_ms + 9_000)
            )
            table.time_out()
            table.time_out()
        if number == 2:
            table.do(do.TakeOver())
            table.leave(table.turn.seat)
            table.seat(6, 500)
        if number == 3:
            table.act(*some_action(table.turn.view.legal, chance))
            table.do(do.VoidHand())
        if number == 4:
            table.do(do.SetConnected(table.turn.player_id, False))
            table.absent(table.turn.seat)
            table.do(do.SetConnected(table.turn.player_id, True))
        while table.state.hand is not None and number < 5:
            table.act(*some_action(table.turn.view.legal, chance))
        for seat in list(table.state.seats.values()):
            if seat.is_sitting_out and seat.stack:
                table.do(do.ComeBack(seat.player_id, table.state.version))
            elif not seat.stack and number < 5:
                table.leave(seat.number)
        if number == 2:
            table.top_up(min(table.state.seats), 100)
        if number == 3:
            first = min(seat.player_id for seat in table.state.seats.values())
            table.do(do.SitOut(first, table.state.version))
    return table


def written(table: Driver) -> dict[str, Any]:
    """What the database would hold: the whole log, the decks, and the last snapshot."""
    between = [decision.state for _, _, _, decision in table.history if decision.state.hand is None]
    return {
        "log": [
            [
                decision.state.version,
                now,
                pack_command(command).hex(),
                LoggedChange(events=decision.events).SerializeToString().hex(),
            ]
            for command, now, _, decision in table.history
        ],
        "decks": {one.state.hand_number: one.deck.to_bytes().hex() for *_, one in table.history if one.deck},
        "snapshot": pack_table(between[-1]).hex(),
    }


def entries(record: dict[str, Any]) -> list[Entry]:
    """A record's log."""
    return [
        Entry(version, now, unpack_command(bytes.fromhex(command)), LoggedChange.FromString(bytes.fromhex(change)))
        for version, now, command, change in record["log"]
    ]


if __name__ == "__main__":
    (FOLDER / f"{sys.argv[1]}.json").write_text(json.dumps(written(played()), indent=0) + "\n")
