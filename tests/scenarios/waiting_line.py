"""Tells who gets which seat while players wait: the lobby's domain on a virtual clock.

rules: ["10.5"]
title: a free seat is kept for who joined first
tables: {Amber: [Ann, Bo]}
line:
  - Cy waits for Amber
  - Ann leaves Amber
  - seat 1 of Amber is kept for Cy for 60 s
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cardroom.lobby.domain.refusals import Refusal, already_seated, stakes_full
from cardroom.lobby.domain.rooms import Room, Wanted, rooms_for, wanted_of
from cardroom.lobby.domain.tables import Stakes
from cardroom.lobby.domain.waiting import (
    KEPT_FOR,
    Ended,
    Entry,
    Facts,
    Stay,
    looked_at,
    next_reservations,
    places,
    seat_to_take,
)

__all__ = ["WaitingLine"]

KEYS = {"rules", "title", "blinds", "tables", "seats", "line"}
BUY_IN = 1000


class WaitingLine:
    """One story of tables and of those who wait, ready to run."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        unknown = set(told) - KEYS
        assert not unknown, f"unknown keys {sorted(unknown)}: a line has {sorted(KEYS)}"
        self.told = told
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        small, big = (int(blind) for blind in told.get("blinds", "10/20").split("/"))
        self.wanted = Wanted(1, small, big)
        self.sitting: dict[str, dict[int, str]] = {}
        self.stakes: dict[str, Stakes] = {}
        for name, players in told["tables"].items():
            seats = told.get("seats", max(2, len(players)))
            self.stakes[name] = Stakes(1, small, big, 0, BUY_IN, BUY_IN, seats)
            self.sitting[name] = {seat: who for seat, who in enumerate(players, 1) if who}
        self.entries: list[Entry] = []
        self.lines: tuple[tuple[str, Callable[..., None]], ...] = (
            (r"(\d+) s pass", self._pass),
            (r"(\w+) waits for (\w+)(?: with (\d+) seats)?", self._wait),
            (r"(\w+) waits for (\d+/\d+)(?: with (\d+) seats)?", self._wait),
            (r"(\w+) waits no more", self._quit),
            (r"(\w+) leaves (\w+)", self._leave),
            (r"(\w+) is closed", self._close),
            (r"(\w+) sits down at (\w+) and has too few chips", self._fail),
            (r"(\w+) sits down at (\w+)", self._sit),
            (r"(\w+) sits down anywhere", self._sit_anywhere),
            (r"(\w+) cannot sit down at (\w+): (\w+)", self._cannot_sit),
            (r"(\w+) cannot sit down anywhere: (\w+)", self._cannot_sit_anywhere),
            (r"(\w+) is number (\d+)(?: for (\S+))?", self._number),
            (r"seat (\d+) of (\w+) is kept for (\w+) for (\d+) s", self._kept),
            (r"seat (\d+) of (\w+) is free", self._free),
            (r"no seat is kept for (\w+)", self._not_kept),
            (r"the wait of (\w+) is over: (\w+)", self._over),
            (r"(\w+) sits on seat (\d+) of (\w+)", self._sits),
        )

    def run(self) -> None:
        """Take line after line; an AssertionError names the one that does not hold."""
        for number, line in enumerate(self.told["line"], 1):
            try:
                self._take(str(line))
            except AssertionError as problem:
                raise AssertionError(f"line {number}, {line!r}: {problem}") from problem

    def _take(self, line: str) -> None:
        for pattern, do in self.lines:
            match = re.fullmatch(pattern, line)
            if match:
                do(*match.groups())
                self._serve()
                return
        raise AssertionError("not understood; write like one of: " + ", ".join(pattern for pattern, _ in self.lines))

    # What happens

    def _pass(self, seconds: str) -> None:
        for _ in range(int(seconds)):
            self.now += timedelta(seconds=1)
            self._serve()

    def _wait(self, who: str, where: str, seats: str | None = None) -> None:
        at_table = where in self.stakes
        wanted = wanted_of(self.stakes[where]) if at_table else replace(self.wanted, seats=int(seats or 0))
        number = len(self.entries) + 1
        self.entries.append(Entry(f"{number}", number, who, where if at_table else None, wanted, self.now))

    def _quit(self, who: str) -> None:
        self._change(who, lambda entry: replace(entry, ended=Ended.LEFT))

    def _leave(self, who: str, table: str) -> None:
        seat = next(seat for seat, whose in self.sitting[table].items() if whose == who)
        del self.sitting[table][seat]

    def _close(self, table: str) -> None:
        assert not self.sitting[table], "somebody sits there"
        del self.sitting[table], self.stakes[table]

    def _sit(self, who: str, table: str) -> None:
        seat = self._seat(who, table)
        assert not isinstance(seat, Refusal), seat.message
        self.sitting[table][seat] = who
        self._judge(who, Stay.SAT, table, seat)

    def _sit_anywhere(self, who: str) -> None:
        for room in rooms_for(who, BUY_IN, self._rooms()):
            if not isinstance(self._seat(who, room.table_id), Refusal):
                self._sit(who, room.table_id)
                return
        raise AssertionError("no seat anywhere")

    def _fail(self, who: str, table: str) -> None:
        seat = self._seat(who, table)
        assert not isinstance(seat, Refusal), seat.message
        self._judge(who, Stay.BEGUN, table, seat)
        self._judge(who, Stay.REFUSED, table, seat)

    def _seat(self, who: str, table: str) -> int | Refusal:
        for name, sitting in self.sitting.items():
            if who in sitting.values():
                return already_seated(name, 0, is_leaving=False)
        room = next(room for room in self._rooms() if room.table_id == table)
        return seat_to_take(0, who, room, self.entries) or stakes_full("for the line")

    def _judge(self, who: str, stay: Stay, table: str, seat: int) -> None:
        def judged(entry: Entry) -> Entry:
            kept = entry.reservation
            same = kept is not None and (kept.table_id, kept.seat) == (table, seat)
            return looked_at(entry, Facts(stay, "stay", sits_on_the_kept_seat=same), self.now)

        self._change(who, judged)

    def _change(self, who: str, change: Callable[[Entry], Entry]) -> None:
        self.entries = [change(one) if one.player_id == who and not one.ended else one for one in self.entries]

    def _serve(self) -> None:
        """What a lobby does after each of these: judge every entry, then keep free seats for the next in line."""
        self.entries = [looked_at(entry, self._facts(entry), self.now) for entry in self.entries]
        kept = {one.entry_id: one for one in next_reservations(self.entries, self._rooms(), self.now + KEPT_FOR)}
        self.entries = [kept.get(entry.entry_id, entry) for entry in self.entries]

    def _facts(self, entry: Entry) -> Facts:
        return Facts(
            list_is_closed=entry.table_id is not None and entry.table_id not in self.stakes,
            kept_seats_table_is_open=entry.reservation is None or entry.reservation.table_id in self.stakes,
        )

    def _rooms(self) -> list[Room]:
        rooms = []
        for name, stakes in self.stakes.items():
            kept = dict(self.sitting[name])
            for entry in self.entries:
                if entry.ended is None and entry.reservation is not None and entry.reservation.table_id == name:
                    kept[entry.reservation.seat] = entry.player_id
            rooms.append(Room(name, stakes, self.now, kept))
        return rooms

    # What holds

    def _cannot_sit(self, who: str, table: str, reason: str) -> None:
        seat = self._seat(who, table)
        assert isinstance(seat, Refusal), f"seat {seat} is there for them"
        # The free seats are for the line: players hear that the table is full.
        assert {"STAKES_FULL": "TABLE_FULL"}.get(seat.reason, seat.reason) == reason, seat.reason

    def _cannot_sit_anywhere(self, who: str, reason: str) -> None:
        seats = [self._seat(who, room.table_id) for room in rooms_for(who, BUY_IN, self._rooms())]
        assert all(isinstance(seat, Refusal) for seat in seats), f"seats {seats} are there for them"
        assert reason == "STAKES_FULL", "nothing else can be said of stakes without a seat"

    def _number(self, who: str, number: str, where: str | None = None) -> None:
        place = places(self.entries)
        mine = [
            place[entry.entry_id]
            for entry in self.entries
            if entry.player_id == who and entry.entry_id in place and where in {None, entry.table_id or "stakes"}
        ]
        assert mine == [int(number)], f"it is {mine}"

    def _kept(self, seat: str, table: str, who: str, seconds: str) -> None:
        found = [one.reservation for one in self.entries if one.player_id == who and one.reservation and not one.ended]
        assert len(found) == 1, f"{len(found)} seats are kept for {who}"
        left = (found[0].until - self.now).total_seconds()
        assert (found[0].table_id, found[0].seat, left) == (table, int(seat), int(seconds)), f"it is {found[0]}"

    def _not_kept(self, who: str) -> None:
        assert not [one for one in self.entries if one.player_id == who and one.reservation and not one.ended]

    def _free(self, seat: str, table: str) -> None:
        room = next(room for room in self._rooms() if room.table_id == table)
        assert int(seat) in room.free_seats, f"it is that of {room.kept[int(seat)]}"

    def _over(self, who: str, how: str) -> None:
        ends = [entry.ended for entry in self.entries if entry.player_id == who]
        assert ends
        assert set(ends) == {Ended(how)}, f"it is {ends}"

    def _sits(self, who: str, seat: str, table: str) -> None:
        assert self.sitting[table].get(int(seat)) == who, f"there sits {self.sitting[table].get(int(seat))}"
