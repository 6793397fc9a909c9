"""Bad input, over gRPC, gRPC-Web and JSON alike: each kind gets its own clear error, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from cardroom.contracts.clock.v1.clock_pb2 import GetTimeBankRequest
from cardroom.contracts.identity.v1 import identity_pb2 as identity
from cardroom.contracts.lobby.v1 import lobby_pb2 as lobby
from cardroom.contracts.lobby.v1 import waiting_pb2 as waiting
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest
from cardroom.contracts.table.v1 import table_pb2 as table
from cardroom.contracts.table.v1.view_pb2 import (
    ACTION_KIND_CALL,
    ACTION_KIND_CHECK,
    ACTION_KIND_FOLD,
    ACTION_KIND_RAISE,
    GAME_UNSPECIFIED,
    TurnToken,
)
from cardroom.contracts.wallet.v1.ledger_pb2 import GrantRequest
from cardroom.contracts.wallet.v1.wallet_pb2 import RefillRequest
from cardroom.local import Stack
from tests.e2e.door import Call, Caller, Refused
from tests.e2e.room import LOBBY, TABLE, WAITING, WALLET, Room
from tests.party import assert_books_hold

NOBODY = "5e1c1c0e-6f0a-4a9e-9d0b-0d3b9a6b4c11"
IDENTITY = "cardroom.identity.v1.IdentityService"
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
}
Sent = Callable[[Room], tuple[Caller, Call]]


@dataclass(frozen=True)
class Case:
    """One kind of bad input: who sends what, and what they are told."""

    name: str
    code: str
    reason: str
    metadata: dict[str, str | Callable[[Room], object]]
    sent: Sent


CASES: list[Case] = []


def refused(code: str, reason: str, **metadata: str | Callable[[Room], object]) -> Callable[[Sent], Sent]:
    """Add a case: the function says who sends what."""

    def add(sent: Sent) -> Sent:
        CASES.append(Case(sent.__name__.replace("_", " ").strip(), code, reason, metadata, sent))
        return sent

    return add


@pytest.mark.parametrize("way", ["gRPC", "gRPC-Web", "JSON"])
async def test_each_kind_of_bad_input_gets_its_own_error_and_changes_nothing(room: Room, way: str) -> None:
    before = await room.state()
    wrong = []
    for case in CASES:
        caller, call = case.sent(room)
        if way == "JSON" and not call.has_json:
            continue
        with pytest.raises(Refused) as raised:
            await caller.ways[way](call)
        told = raised.value
        metadata = {key: str(value(room)) if callable(value) else value for key, value in case.metadata.items()}
        if (
            told.says != (case.code, case.reason, "cardroom")
            or not metadata.items() <= dict(told.info.metadata).items()
        ):
            wrong.append(f"{case.name}: {told} {dict(told.info.metadata)}, not {case.code}/{case.reason} {metadata}")
        assert len(told.message) > 15, f"{case.name}: a sentence that says what would be right"
        assert way != "JSON" or told.http_status == HTTP_STATUS[case.code], case.name
    assert not wrong, "\n".join(wrong)
    assert await room.state() == before


async def test_after_all_that_the_table_plays_on_and_the_books_hold(room: Room, stack: Stack) -> None:
    room.at.gate.set()
    await room.at.until_hands(1)
    assert [guest.refusals for guest in room.at.guests] == [[], [], []]
    await room.at.leave()
    await assert_books_hold(stack)


# Tables and seats


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def an_unknown_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{LOBBY}/GetTable", lobby.GetTableRequest(table_id=NOBODY))


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def a_table_id_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{LOBBY}/GetTable", lobby.GetTableRequest(table_id="table one"))


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def an_action_at_an_unknown_table(room: Room) -> tuple[Caller, Call]:
    action = table.ActRequest(table_id=NOBODY, turn=TurnToken(hand_number=1, action_number=1))
    return room.guest, Call.of(f"{TABLE}/Act", action)


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def a_stream_of_an_unknown_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{TABLE}/Play", table.PlayRequest(table_id=NOBODY))


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def watching_an_unknown_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of("cardroom.spectator.v1.SpectatorService/Watch", WatchRequest(table_id=NOBODY))


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def a_seat_at_an_unknown_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(table_id=NOBODY)


@refused("FAILED_PRECONDITION", "TABLE_FULL")
def a_full_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(room.full, 200)


@refused("FAILED_PRECONDITION", "SEAT_TAKEN")
def a_seat_that_is_taken(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(seat=1)


@refused("INVALID_ARGUMENT", "INVALID_SEAT")
def a_seat_that_does_not_exist(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(seat=7)


@refused("INVALID_ARGUMENT", "INVALID_SEAT")
def a_seat_below_none(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(seat=-1)


@refused("INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", min="200", max="2000")
def a_buy_in_below_the_limits(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(buy_in=199)


@refused("INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", min="200", max="2000")
def a_buy_in_above_the_limits(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(buy_in=2001)


@refused("INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", min="200", max="2000")
def a_buy_in_below_nothing(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(buy_in=-(2**63))


@refused("FAILED_PRECONDITION", "TOO_FEW_CHIPS", available="10000")
def too_few_chips(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(room.dear, 40_000)


@refused("FAILED_PRECONDITION", "ALREADY_SEATED", table_id=lambda room: room.table_id)
def a_second_seat_at_the_table(room: Room) -> tuple[Caller, Call]:
    return room.other, room.sit()


@refused("FAILED_PRECONDITION", "ALREADY_SEATED", table_id=lambda room: room.table_id)
def a_second_seat_at_another_table(room: Room) -> tuple[Caller, Call]:
    return room.other, room.sit(room.dear, 40_000)


@refused("INVALID_ARGUMENT", "REQUEST_ID_MISSING")
def a_seat_without_a_request_id(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.sit(request_id="")


@refused("FAILED_PRECONDITION", "NOT_SEATED")
def leaving_a_table_without_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{LOBBY}/LeaveTable", lobby.LeaveTableRequest(table_id=room.table_id))


@refused("FAILED_PRECONDITION", "NOT_SEATED")
def leaving_a_table_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.other, Call.of(f"{LOBBY}/LeaveTable", lobby.LeaveTableRequest(table_id="table one"))


@refused("INVALID_ARGUMENT", "INVALID_PAGE_SIZE")
def a_page_below_nothing(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{LOBBY}/ListTables", lobby.ListTablesRequest(page_size=-1))


@refused("INVALID_ARGUMENT", "INVALID_PAGE_TOKEN")
def a_page_token_of_ones_own(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{LOBBY}/ListTables", lobby.ListTablesRequest(page_token="next"))


def a_list(**asked: object) -> Call:
    return Call.of(f"{LOBBY}/ListTables", lobby.ListTablesRequest(**asked))  # type: ignore[arg-type]


@refused("INVALID_ARGUMENT", "INVALID_ORDER_BY", field="stake")
def an_order_by_a_field_that_there_is_not(room: Room) -> tuple[Caller, Call]:
    return room.guest, a_list(order_by="seats_taken desc, stake")


@refused("INVALID_ARGUMENT", "INVALID_ORDER_BY")
def an_order_that_goes_sideways(room: Room) -> tuple[Caller, Call]:
    return room.guest, a_list(order_by="name sideways")


@refused("INVALID_ARGUMENT", "INVALID_FILTER", field="games")
def a_filter_for_no_game(room: Room) -> tuple[Caller, Call]:
    return room.guest, a_list(filter=lobby.TableFilter(games=[GAME_UNSPECIFIED]))


@refused("INVALID_ARGUMENT", "INVALID_FILTER", field="small_blind_min")
def a_filter_that_nothing_can_pass(room: Room) -> tuple[Caller, Call]:
    return room.guest, a_list(filter=lobby.TableFilter(small_blind_min=10, small_blind_max=5))


@refused("INVALID_ARGUMENT", "INVALID_FILTER", field="players_max")
def watching_tables_with_fewer_players_than_none(room: Room) -> tuple[Caller, Call]:
    request = lobby.WatchTablesRequest(filter=lobby.TableFilter(players_max=-1))
    return room.guest, Call.of(f"{LOBBY}/WatchTables", request)


@refused("FAILED_PRECONDITION", "STAKES_FULL")
def a_quick_seat_where_all_are_taken(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.quick(seats=3)


@refused("NOT_FOUND", "STAKES_UNKNOWN")
def a_quick_seat_at_stakes_that_there_are_not(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.quick(small_blind=777_777, big_blind=1_555_554)


@refused("INVALID_ARGUMENT", "INVALID_STAKES")
def a_quick_seat_at_stakes_that_there_cannot_be(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.quick(big_blind=15)


@refused("INVALID_ARGUMENT", "BUY_IN_OUT_OF_RANGE", min="200", max="2000")
def a_quick_seat_with_too_much(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.quick(buy_in=2001)


@refused("FAILED_PRECONDITION", "ALREADY_SEATED", table_id=lambda room: room.table_id)
def a_quick_seat_beside_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.other, room.quick()


@refused("INVALID_ARGUMENT", "REQUEST_ID_MISSING")
def a_quick_seat_without_a_request_id(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.quick(request_id="")


# Waiting


@refused("INVALID_ARGUMENT", "WAITING_LIST_MISSING")
def waiting_for_nothing(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.join()


@refused("NOT_FOUND", "TABLE_UNKNOWN")
def waiting_at_an_unknown_table(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.join(table_id=NOBODY)


@refused("NOT_FOUND", "STAKES_UNKNOWN")
def waiting_for_stakes_that_there_are_not(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.join(stakes=room.stakes(small_blind=777_777, big_blind=1_555_554))


@refused("INVALID_ARGUMENT", "INVALID_STAKES")
def waiting_for_stakes_that_there_cannot_be(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.join(stakes=room.stakes(seats=10))


@refused("FAILED_PRECONDITION", "ALREADY_SEATED", table_id=lambda room: room.table_id)
def waiting_beside_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.other, room.join(table_id=room.full.table_id)


@refused("INVALID_ARGUMENT", "REQUEST_ID_MISSING")
def waiting_without_a_request_id(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.join(table_id=room.full.table_id, request_id="now")


@refused("NOT_FOUND", "WAITING_ENTRY_UNKNOWN")
def leaving_a_list_without_an_entry(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{WAITING}/LeaveWaitingList", waiting.LeaveWaitingListRequest(entry_id=NOBODY))


@refused("NOT_FOUND", "WAITING_ENTRY_UNKNOWN")
def leaving_a_list_with_an_entry_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{WAITING}/LeaveWaitingList", waiting.LeaveWaitingListRequest(entry_id="mine"))


# Turns and amounts


@refused("FAILED_PRECONDITION", "NOT_YOUR_TURN")
def another_players_turn(room: Room) -> tuple[Caller, Call]:
    return room.other, room.act(ACTION_KIND_FOLD)


@refused("FAILED_PRECONDITION", "NOT_YOUR_TURN")
def a_turn_that_has_not_come(room: Room) -> tuple[Caller, Call]:
    token = room.turn.token
    return room.actor, room.act(
        ACTION_KIND_FOLD, turn=TurnToken(hand_number=token.hand_number, action_number=token.action_number + 1)
    )


@refused("FAILED_PRECONDITION", "LATE_TURN")
def a_turn_that_has_passed(room: Room) -> tuple[Caller, Call]:
    token = TurnToken(hand_number=room.turn.token.hand_number, action_number=room.turn.token.action_number - 1)
    return room.actor, room.act(ACTION_KIND_FOLD, turn=token)


@refused("INVALID_ARGUMENT", "TURN_MISSING")
def an_action_without_a_turn(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_FOLD, turn=TurnToken())


@refused("INVALID_ARGUMENT", "TURN_MISSING")
def a_turn_below_the_first(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_FOLD, turn=TurnToken(hand_number=-1, action_number=-1))


@refused("INVALID_ARGUMENT", "ILLEGAL_AMOUNT", nearest_below="10", nearest_above="15")
def an_amount_between_two_units(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_RAISE, 13)


@refused("INVALID_ARGUMENT", "ILLEGAL_AMOUNT", nearest_above="10")
def an_amount_below_the_smallest(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_RAISE, 3)


@refused("INVALID_ARGUMENT", "ILLEGAL_AMOUNT", nearest_above="10")
def an_amount_below_nothing(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_RAISE, -(2**63))


@refused("INVALID_ARGUMENT", "ILLEGAL_AMOUNT", nearest_below=lambda room: room.turn.legal.raise_max)
def an_amount_above_the_stack(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_RAISE, 2**63 - 1)


@refused("INVALID_ARGUMENT", "ILLEGAL_AMOUNT")
def an_amount_with_a_check(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_CHECK, 10)


@refused("INVALID_ARGUMENT", "ILLEGAL_ACTION")
def a_call_of_nothing(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(ACTION_KIND_CALL)


@refused("INVALID_ARGUMENT", "ILLEGAL_ACTION")
def an_action_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.actor, room.act(0)  # type: ignore[arg-type]


# Another player's seat


@refused("PERMISSION_DENIED", "NOT_SEATED")
def an_action_without_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.guest, room.act(ACTION_KIND_FOLD)


@refused("PERMISSION_DENIED", "NOT_SEATED")
def a_players_stream_without_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{TABLE}/Play", table.PlayRequest(table_id=room.table_id))


@refused("PERMISSION_DENIED", "NOT_SEATED")
def sitting_out_without_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{TABLE}/SitOut", table.SitOutRequest(table_id=room.table_id))


@refused("PERMISSION_DENIED", "NOT_SEATED")
def coming_back_without_a_seat(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{TABLE}/ComeBack", table.ComeBackRequest(table_id=room.table_id))


@refused("INVALID_ARGUMENT", "VERSION_UNKNOWN")
def sitting_out_at_a_version_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.actor, Call.of(f"{TABLE}/SitOut", table.SitOutRequest(table_id=room.table_id, seen_version=-1))


@refused("INVALID_ARGUMENT", "VERSION_UNKNOWN")
def coming_back_at_a_version_that_has_not_come(room: Room) -> tuple[Caller, Call]:
    return room.actor, Call.of(f"{TABLE}/ComeBack", table.ComeBackRequest(table_id=room.table_id, seen_version=2**62))


@refused("PERMISSION_DENIED", "NOT_YOUR_TIME_BANK")
def another_players_time_bank(room: Room) -> tuple[Caller, Call]:
    request = GetTimeBankRequest(player_id=room.actor.player_id)
    return room.guest, Call.of("cardroom.clock.v1.ClockService/GetTimeBank", request)


@refused("PERMISSION_DENIED", "SCOPE_MISSING", scope="operator")
def a_table_of_ones_own(room: Room) -> tuple[Caller, Call]:
    request = lobby.CreateTableRequest(name="Mine", stakes=room.at.table.stakes, request_id=NOBODY)
    return room.guest, Call.of("cardroom.lobby.v1.LobbyAdminService/CreateTable", request)


@refused("PERMISSION_DENIED", "SCOPE_MISSING", scope="wallet.grant")
def chips_for_oneself(room: Room) -> tuple[Caller, Call]:
    request = GrantRequest(request_id="gift", account=f"player/{room.guest.player_id}/play", amount=1, reason="gift")
    return room.guest, Call.of("cardroom.wallet.v1.LedgerService/Grant", request)


# Chips and signing in


@refused("FAILED_PRECONDITION", "NOT_BELOW_REFILL", total="10000")
def a_refill_for_the_rich(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{WALLET}/Refill", RefillRequest())


@refused("INVALID_ARGUMENT", "REQUEST_ID_INVALID")
def a_request_id_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.guest, Call.of(f"{WALLET}/Refill", RefillRequest(request_id="no spaces, please"))


@refused("INVALID_ARGUMENT", "INVALID_DISPLAY_NAME")
def a_name_that_is_none(room: Room) -> tuple[Caller, Call]:
    request = identity.SignInAsGuestRequest(display_name="<script>")
    return room.door.nobody(), Call.of(f"{IDENTITY}/SignInAsGuest", request)


@refused("UNAUTHENTICATED", "REFRESH_TOKEN_INVALID")
def a_refresh_token_that_is_none(room: Room) -> tuple[Caller, Call]:
    return room.door.nobody(), Call.of(f"{IDENTITY}/RefreshToken", identity.RefreshTokenRequest(refresh_token="again"))


@refused("UNAUTHENTICATED", "CLIENT_UNKNOWN")
def a_service_with_a_wrong_secret(room: Room) -> tuple[Caller, Call]:
    request = identity.IssueServiceTokenRequest(client_id="operator", client_secret="guess")
    return room.door.nobody(), Call.of(f"{IDENTITY}/IssueServiceToken", request)


def test_each_wrong_seat_buy_in_turn_and_amount_is_among_them_once() -> None:
    named = {"TABLE_UNKNOWN", "TABLE_FULL", "SEAT_TAKEN", "BUY_IN_OUT_OF_RANGE", "TOO_FEW_CHIPS", "ALREADY_SEATED"}
    named |= {"NOT_YOUR_TURN", "LATE_TURN", "ILLEGAL_AMOUNT", "NOT_SEATED"}
    assert named <= {case.reason for case in CASES}
    assert len({case.name for case in CASES}) == len(CASES)
