"""Applying a table's changes to a snapshot gives exactly the server's next snapshot, whatever happens at the table."""

from __future__ import annotations

import uuid
from random import Random

import pytest

from cardroom.client.view import VersionGapError, apply_change, hand_player, pot_total, seat_of, seat_of_player
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.table.domain import commands as cmd
from cardroom.table.domain.decide import decide, opened
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import PassedTurn, Refused
from cardroom.table.domain.state import TableState
from cardroom.table.domain.view import public_view

GAMES = (pb.GAME_NO_LIMIT_HOLDEM, pb.GAME_POT_LIMIT_OMAHA)


class TableLife:
    """A table driven by chance through its own commands, and a client's view that hears only its events."""

    def __init__(self, seed: int, game: pb.Game.ValueType = pb.GAME_NO_LIMIT_HOLDEM) -> None:
        self.rng = Random(seed)
        self.now_ms = 1_700_000_000_000
        stakes = pb.Stakes(
            game=game,
            small_blind=5,
            big_blind=10,
            ante=self.rng.choice([0, 0, 1]),
            min_buy_in=10,
            max_buy_in=2000,
            seats=self.rng.randint(2, 9),
        )
        command = cmd.OpenTable("t", "Table", stakes, cmd.Pace())
        self.state: TableState = decide(opened(command), command, self.now_ms).state
        self.view = public_view(self.state)
        self.kinds: set[str] = set()

    def run(self, command: cmd.Command) -> None:
        """Decides a command and lets the client's view hear of it."""
        self.now_ms += self.rng.randint(1, 9_000)
        try:
            decision = decide(self.state, command, self.now_ms, Deck.shuffled(self.rng.randrange))
        except (Refused, PassedTurn):
            return
        self.state = decision.state
        if not decision.changes:
            return
        self.kinds.update(event.WhichOneof("event") or "" for event in decision.events)
        apply_change(self.view, self.state.version, decision.events)
        assert self.view == public_view(self.state)

    def step(self) -> None:
        """Something happens."""
        chance = self.rng.random()
        if chance < 0.7 and self.state.turn is not None:
            self.run(self._action())
        elif chance < 0.85 and self.state.next_deal_ms:
            self.run(cmd.DealHand(self.state.timing_generation, self.rng.randrange(1 << 30)))
        else:
            self.run(self._life())

    def _action(self) -> cmd.Command:
        now = self.state.turn
        assert now is not None
        legal = now.view.legal
        if self.rng.random() < 0.1:
            deadline = now.base_deadline_ms + 10_000
            return cmd.StartTimeBank(now.token, self.state.timing_generation, deadline)
        if self.rng.random() < 0.05:
            self.now_ms = (now.bank_deadline_ms or now.base_deadline_ms) + 1_000
            return cmd.EndTurn(now.token, self.state.timing_generation)
        kind, amount = self.rng.choice([(pb.ACTION_KIND_FOLD, 0), (pb.ACTION_KIND_CALL, 0), (pb.ACTION_KIND_CALL, 0)])
        if legal.can_check:
            kind = pb.ACTION_KIND_CHECK
        if legal.HasField("raise_min") and self.rng.random() < 0.3:
            choices = [legal.raise_min, legal.raise_max, legal.preset_half_pot]
            kind, amount = pb.ACTION_KIND_RAISE, self.rng.choice(choices)
        return cmd.Act(now.player_id, now.token, kind, amount)

    def _life(self) -> cmd.Command:
        rng, seats = self.rng, list(self.state.seats.values())
        free = [n for n in range(1, self.state.stakes.seats + 1) if n not in self.state.seats]
        if not seats or (free and rng.random() < 0.5):
            player = str(uuid.UUID(int=rng.getrandbits(128)))
            stack = rng.choice([10, 15, 200, 1000, 2000])
            return cmd.SeatPlayer(
                str(uuid.UUID(int=rng.getrandbits(128))), player, "Ann", rng.choice(free or [1]), stack, 30_000
            )
        seat = rng.choice(seats)
        choices: list[cmd.Command] = [
            cmd.SitOut(seat.player_id),
            cmd.ComeBack(seat.player_id),
            cmd.ComeBack(seat.player_id),
            cmd.EndSeating(seat.seating_id),
            cmd.SetTimeBank(seat.player_id, rng.randint(0, 30_000), seat.time_bank_generation + 1),
            cmd.RestartTurn(),
            cmd.VoidHand(),
        ]
        return rng.choice(choices)


@pytest.mark.parametrize("seed", range(12))
def test_changes_applied_to_a_snapshot_give_the_servers_next_snapshot(seed: int) -> None:
    life = TableLife(seed, GAMES[seed % 2])
    for _ in range(400):
        life.step()


def test_the_random_tables_show_every_kind_of_event_that_a_table_tells() -> None:
    kinds: set[str] = set()
    for seed in range(100, 110):
        life = TableLife(seed)
        for _ in range(300):
            life.step()
        kinds |= life.kinds
    told = {field.name for field in pb.TableEvent.DESCRIPTOR.oneofs_by_name["event"].fields}
    assert told - kinds <= {"connection_changed", "stack_changed"}


def test_a_change_that_does_not_follow_is_refused_and_changes_nothing() -> None:
    view = pb.PublicView(version=4, seats=[pb.SeatView(seat=1, stack=10)])
    event = pb.TableEvent(stack_changed=pb.StackChanged(seat=1, stack=99))
    for version in (3, 4, 6):
        with pytest.raises(VersionGapError):
            apply_change(view, version, [event])
    assert (view.version, view.seats[0].stack) == (4, 10)
    apply_change(view, 5, [event])
    assert (view.version, view.seats[0].stack) == (5, 99)


def test_an_event_of_a_later_release_is_left_out() -> None:
    view = pb.PublicView(version=1)
    apply_change(view, 2, [pb.TableEvent()])
    assert view == pb.PublicView(version=2)


def test_seats_players_and_pots_are_found() -> None:
    view = pb.PublicView(seats=[pb.SeatView(seat=2, player_id="p")])
    view.hand.players.add(seat=2)
    view.hand.pots.extend([pb.PotView(amount=30), pb.PotView(amount=12)])
    assert seat_of(view, 2) is seat_of_player(view, "p") is not None
    assert (seat_of(view, 3), seat_of_player(view, "q"), hand_player(view, 5)) == (None, None, None)
    assert hand_player(view, 2) == view.hand.players[0]
    assert pot_total(view) == 42
