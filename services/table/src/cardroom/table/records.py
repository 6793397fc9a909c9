"""The stored form of commands and tables: domain values to bytes and back (protos in table/v1/storage.proto)."""

from __future__ import annotations

from typing import Any, Final

from cardroom.contracts.table.v1 import storage_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import TurnToken
from cardroom.engine.blinds import Debt, Positions
from cardroom.table.domain import commands as do
from cardroom.table.domain.errors import ReplayMismatch
from cardroom.table.domain.state import Seat, TableState

__all__ = ["pack_command", "pack_table", "unpack_command", "unpack_table"]


def _turn(token: do.Token) -> TurnToken:
    return TurnToken(hand_number=token.hand_number, action_number=token.action_number)


def _token(turn: TurnToken) -> do.Token:
    return do.Token(turn.hand_number, turn.action_number)


def _pace(pace: do.Pace) -> pb.Pace:
    return pb.Pace(
        turn_ms=pace.turn_ms,
        pause_ms=pace.pause_ms,
        showdown_pause_ms=pace.showdown_pause_ms,
        away_ms=pace.away_ms,
        sitting_out_ms=pace.sitting_out_ms,
        no_chips_ms=pace.no_chips_ms,
    )


def pack_command(command: do.Command) -> bytes:
    """A command as the log keeps it."""
    logged = pb.LoggedCommand()
    match command:
        case do.Act(player_id, token, kind, amount):
            action = Action(kind=kind, amount=amount)
            logged.act.CopyFrom(pb.LoggedAct(player_id=player_id, turn=_turn(token), action=action))
        case do.DealHand(generation, button_draw, edition):
            logged.deal_hand.CopyFrom(
                pb.LoggedDealHand(generation=generation, button_draw=button_draw, edition=edition)
            )
        case do.EndTurn(token, generation):
            logged.end_turn.CopyFrom(pb.LoggedEndTurn(turn=_turn(token), generation=generation))
        case do.StartTimeBank(token, generation, deadline):
            logged.start_time_bank.CopyFrom(
                pb.LoggedStartTimeBank(turn=_turn(token), generation=generation, bank_deadline_ms=deadline)
            )
        case do.RestartTurn():
            logged.restart_turn.SetInParent()
        case do.TakeOver():
            logged.take_over.SetInParent()
        case do.VoidHand():
            logged.void_hand.SetInParent()
        case do.SetTimeBank(player_id, left_ms, generation):
            logged.set_time_bank.CopyFrom(
                pb.LoggedSetTimeBank(player_id=player_id, left_ms=left_ms, generation=generation)
            )
        case _:
            _pack_seating(logged, command)
    return logged.SerializeToString()


def _pack_seating(logged: pb.LoggedCommand, command: do.Command) -> None:
    match command:
        case do.OpenTable(table_id, name, stakes, pace):
            logged.open_table.CopyFrom(
                pb.LoggedOpenTable(table_id=table_id, name=name, stakes=stakes, pace=_pace(pace))
            )
        case do.CloseTable():
            logged.close_table.SetInParent()
        case do.SeatPlayer(seating_id, player_id, display_name, seat, stack, time_bank_ms, generation):
            logged.seat_player.CopyFrom(
                pb.LoggedSeatPlayer(
                    seating_id=seating_id,
                    player_id=player_id,
                    display_name=display_name,
                    seat=seat,
                    stack=stack,
                    time_bank_left_ms=time_bank_ms,
                    time_bank_generation=generation,
                )
            )
        case do.EndSeating(seating_id):
            logged.end_seating.seating_id = seating_id
        case do.TopUp(seating_id, top_up_id, amount):
            logged.top_up.CopyFrom(pb.LoggedTopUp(seating_id=seating_id, top_up_id=top_up_id, amount=amount))
        case do.SitOut(player_id, seen_version):
            logged.sit_out.CopyFrom(pb.LoggedSitOut(player_id=player_id, seen_version=seen_version))
        case do.ComeBack(player_id, seen_version):
            logged.come_back.CopyFrom(pb.LoggedComeBack(player_id=player_id, seen_version=seen_version))
        case do.SetConnected(player_id, connected):
            logged.set_connected.CopyFrom(pb.LoggedSetConnected(player_id=player_id, connected=connected))
        case do.JudgeAbsence(player_id, generation, is_present):
            logged.judge_absence.CopyFrom(
                pb.LoggedJudgeAbsence(player_id=player_id, generation=generation, is_present=is_present)
            )
        case _:
            raise TypeError(f"{type(command).__name__} has no stored form")


def _deal_hand(logged: pb.LoggedDealHand) -> do.DealHand:
    if logged.edition > do.EDITION:
        # A replica of that release can go on with it, so this one must not make it void.
        raise ReplayMismatch(f"a hand of edition {logged.edition}: this release knows them up to {do.EDITION}")
    return do.DealHand(logged.generation, logged.button_draw, logged.edition)


_UNPACK: Final[dict[str, Any]] = {
    "open_table": lambda m: do.OpenTable(m.table_id, m.name, m.stakes, _unpack_pace(m.pace)),
    "close_table": lambda _: do.CloseTable(),
    "seat_player": lambda m: do.SeatPlayer(
        m.seating_id, m.player_id, m.display_name, m.seat, m.stack, m.time_bank_left_ms, m.time_bank_generation
    ),
    "end_seating": lambda m: do.EndSeating(m.seating_id),
    "act": lambda m: do.Act(m.player_id, _token(m.turn), m.action.kind, m.action.amount),
    "top_up": lambda m: do.TopUp(m.seating_id, m.top_up_id, m.amount),
    "sit_out": lambda m: do.SitOut(m.player_id, m.seen_version),
    "come_back": lambda m: do.ComeBack(m.player_id, m.seen_version),
    "start_time_bank": lambda m: do.StartTimeBank(_token(m.turn), m.generation, m.bank_deadline_ms),
    "end_turn": lambda m: do.EndTurn(_token(m.turn), m.generation),
    "deal_hand": _deal_hand,
    "set_time_bank": lambda m: do.SetTimeBank(m.player_id, m.left_ms, m.generation),
    "restart_turn": lambda _: do.RestartTurn(),
    "set_connected": lambda m: do.SetConnected(m.player_id, m.connected),
    "judge_absence": lambda m: do.JudgeAbsence(m.player_id, m.generation, m.is_present),
    "take_over": lambda _: do.TakeOver(),
    "void_hand": lambda _: do.VoidHand(),
}


def unpack_command(stored: bytes) -> do.Command:
    """The command that `pack_command` wrote. Raises ReplayMismatch for one that this release does not know."""
    logged = pb.LoggedCommand.FromString(stored)
    kind = logged.WhichOneof("command")
    if kind is None:
        raise ReplayMismatch("a logged command of a kind that this release does not know")
    command: do.Command = _UNPACK[kind](getattr(logged, kind))
    return command


def _unpack_pace(pace: pb.Pace) -> do.Pace:
    usual = do.Pace()
    return do.Pace(
        pace.turn_ms,
        pace.pause_ms,
        pace.showdown_pause_ms,
        pace.away_ms or usual.away_ms,
        pace.sitting_out_ms or usual.sitting_out_ms,
        pace.no_chips_ms or usual.no_chips_ms,
    )


def pack_table(state: TableState) -> bytes:
    """A table between two hands."""
    assert state.hand is None, "a snapshot is taken between hands"
    places = state.positions
    return pb.TableSnapshot(
        table_id=state.table_id,
        name=state.name,
        stakes=state.stakes,
        pace=_pace(state.pace),
        version=state.version,
        hand_number=state.hand_number,
        is_closed=state.is_closed,
        timing_generation=state.timing_generation,
        next_deal_ms=state.next_deal_ms,
        rest_until_ms=state.rest_until_ms,
        seats=[_pack_seat(seat) for seat in state.seats.values()],
        positions=pb.PositionsRecord(
            button_seat=places.button or 0,
            small_blind_seat=places.small_blind or 0,
            big_blind_seat=places.big_blind or 0,
            debts={seat: debt.value for seat, debt in places.debts.items()},
        ),
        last_hand=state.last_hand,
    ).SerializeToString(deterministic=True)


def _pack_seat(seat: Seat) -> pb.SeatRecord:
    return pb.SeatRecord(
        seat=seat.number,
        seating_id=seat.seating_id,
        player_id=seat.player_id,
        display_name=seat.display_name,
        stack=seat.stack,
        is_sitting_out=seat.is_sitting_out,
        timeouts=seat.timeouts,
        time_bank_left_ms=seat.time_bank_ms,
        time_bank_generation=seat.time_bank_generation,
        last_hand_number=seat.last_hand_number,
        is_disconnected=not seat.connected,
        unseen_since_ms=seat.unseen_since_ms,
        out_since_ms=seat.out_since_ms,
        absence_generation=seat.absence_generation,
        is_out_of_chips=seat.is_out_of_chips,
        status_version=seat.status_version,
    )


def unpack_table(stored: bytes) -> TableState:
    """The table that `pack_table` wrote."""
    record = pb.TableSnapshot.FromString(stored)
    return TableState(
        table_id=record.table_id,
        name=record.name,
        stakes=record.stakes,
        pace=_unpack_pace(record.pace),
        version=record.version,
        hand_number=record.hand_number,
        is_closed=record.is_closed,
        timing_generation=record.timing_generation,
        next_deal_ms=record.next_deal_ms,
        rest_until_ms=record.rest_until_ms,
        seats={seat.seat: _unpack_seat(seat) for seat in record.seats},
        positions=_unpack_positions(record.positions),
        last_hand=record.last_hand if record.HasField("last_hand") else None,
    )


def _unpack_seat(record: pb.SeatRecord) -> Seat:
    return Seat(
        number=record.seat,
        seating_id=record.seating_id,
        player_id=record.player_id,
        display_name=record.display_name,
        stack=record.stack,
        time_bank_ms=record.time_bank_left_ms,
        time_bank_generation=record.time_bank_generation,
        is_sitting_out=record.is_sitting_out,
        timeouts=record.timeouts,
        last_hand_number=record.last_hand_number,
        connected=not record.is_disconnected,
        unseen_since_ms=record.unseen_since_ms,
        out_since_ms=record.out_since_ms,
        absence_generation=record.absence_generation,
        is_out_of_chips=record.is_out_of_chips,
        status_version=record.status_version,
    )


def _unpack_positions(record: pb.PositionsRecord) -> Positions:
    return Positions(
        button=record.button_seat or None,
        small_blind=record.small_blind_seat or None,
        big_blind=record.big_blind_seat or None,
        debts={seat: Debt(bits) for seat, bits in record.debts.items()},
    )
