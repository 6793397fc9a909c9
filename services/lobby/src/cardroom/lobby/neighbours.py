"""The lobby's way to the wallet, the tables and the clock: contracts in, the domain's words out.

Every call either answers, or raises `Refused` (a definite no) or `NotNow` (nobody knows, or patience: repeat it).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration

from cardroom.chassis.errors import CardroomError, from_rpc_error
from cardroom.contracts.clock.v1 import clock_pb2, clock_pb2_grpc
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc, view_pb2
from cardroom.contracts.wallet.v1 import ledger_pb2, ledger_pb2_grpc
from cardroom.lobby.domain.refusals import Refusal
from cardroom.lobby.domain.seating import End, Seating
from cardroom.lobby.domain.tables import Stakes, Table
from cardroom.lobby.domain.topping_up import Added, TopUp
from cardroom.lobby.errors import NotNow, Refused

if TYPE_CHECKING:
    from google.protobuf.message import Message

    Answer = TypeVar("Answer", bound=Message)

CALL_SECONDS: Final = 3.0
TIME_BANK_CALL_SECONDS: Final = 0.25
FULL_TIME_BANK_MS: Final = 30_000
# Long enough to outlast any outage: a seat that the table gave must still find its chips.
HOLD_LIFE: Final = Duration(seconds=7 * 24 * 3600)
_DEFINITE: Final = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
    }
)
_DEFINITE_REASONS: Final = frozenset({"CALL_LIMIT_EXCEEDED"})


class Wallet(Protocol):
    """What the lobby asks of the wallet. Keys are made of the seating's id: every call can be repeated."""

    async def place_hold(self, seating: Seating) -> str:
        """Set the buy-in aside; return the hold's id."""

    async def post_hold(self, seating: Seating) -> None:
        """Move the held chips into the seat's escrow."""

    async def void_hold(self, seating: Seating) -> None:
        """Give the held chips free."""

    async def hold_top_up(self, top_up: TopUp) -> str:
        """Set the chips of a top-up aside; return the hold's id."""

    async def post_top_up(self, top_up: TopUp) -> None:
        """Move what the table added into the seat's escrow; the rest of the hold becomes free."""

    async def void_top_up(self, top_up: TopUp) -> None:
        """Give the chips of a top-up free."""

    async def cash_out(self, seating: Seating) -> int:
        """Bring the chips back from the table; return how many."""


@dataclass(frozen=True, slots=True)
class TimeBank:
    """What a player's time bank holds. `generation` tells the table which of the clock's tidings are newer."""

    left_ms: int
    generation: int = 0


class Tables(Protocol):
    """What the lobby asks of the table service."""

    async def seat_player(self, seating: Seating, bank: TimeBank) -> int:
        """Put the player on the seat; return the table's version."""

    async def end_seating(self, seating: Seating) -> End:
        """Ask that the stay end; return how far that is."""

    async def top_up(self, top_up: TopUp) -> Added:
        """Bring the chips to the stay; return how far that is."""

    async def open_table(self, table: Table) -> None:
        """Make the table."""

    async def close_table(self, table: Table) -> None:
        """Close the empty table for good."""


class TimeBanks(Protocol):
    """What the lobby asks of the clock."""

    async def bank(self, player_id: str) -> TimeBank:
        """The player's time bank; a full one of no generation while the clock does not answer."""


class GrpcWallet:
    """The wallet over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = ledger_pb2_grpc.LedgerServiceStub(channel)

    async def place_hold(self, seating: Seating) -> str:
        """See `Wallet`."""
        request = ledger_pb2.PlaceHoldRequest(
            request_id=f"{seating.seating_id}/hold",
            account=f"player/{seating.player_id}/play",
            amount=seating.buy_in,
            time_to_live=HOLD_LIFE,
            reason=f"buy-in at table {seating.table_id}",
        )
        return (await _answer(self._stub.PlaceHold, request)).hold.hold_id

    async def post_hold(self, seating: Seating) -> None:
        """See `Wallet`."""
        request = ledger_pb2.PostHoldRequest(
            request_id=f"{seating.seating_id}/post",
            hold_id=seating.hold_id or "",
            to_account=f"escrow/{seating.table_id}/{seating.player_id}",
        )
        await _answer(self._stub.PostHold, request)

    async def void_hold(self, seating: Seating) -> None:
        """See `Wallet`."""
        request = ledger_pb2.VoidHoldRequest(
            request_id=f"{seating.seating_id}/void", hold_id=seating.hold_id or "", reason="not seated"
        )
        await _answer(self._stub.VoidHold, request)

    async def hold_top_up(self, top_up: TopUp) -> str:
        """See `Wallet`."""
        request = ledger_pb2.PlaceHoldRequest(
            request_id=f"{top_up.top_up_id}/hold",
            account=f"player/{top_up.player_id}/play",
            amount=top_up.amount,
            time_to_live=HOLD_LIFE,
            reason=f"top-up at table {top_up.table_id}",
        )
        return (await _answer(self._stub.PlaceHold, request)).hold.hold_id

    async def post_top_up(self, top_up: TopUp) -> None:
        """See `Wallet`."""
        request = ledger_pb2.PostHoldRequest(
            request_id=f"{top_up.top_up_id}/post",
            hold_id=top_up.hold_id or "",
            to_account=f"escrow/{top_up.table_id}/{top_up.player_id}",
            amount=top_up.added,
        )
        await _answer(self._stub.PostHold, request)

    async def void_top_up(self, top_up: TopUp) -> None:
        """See `Wallet`."""
        request = ledger_pb2.VoidHoldRequest(
            request_id=f"{top_up.top_up_id}/void", hold_id=top_up.hold_id or "", reason="nothing added"
        )
        await _answer(self._stub.VoidHold, request)

    async def cash_out(self, seating: Seating) -> int:
        """See `Wallet`."""
        request = ledger_pb2.CashOutRequest(
            request_id=f"{seating.seating_id}/cash-out",
            table_id=seating.table_id,
            player_id=seating.player_id,
            last_hand_number=seating.last_hand_number,
            expected_amount=seating.final_stack,
        )
        return (await _answer(self._stub.CashOut, request)).amount


class GrpcTables:
    """The table service over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = internal_pb2_grpc.TableSeatServiceStub(channel)

    async def seat_player(self, seating: Seating, bank: TimeBank) -> int:
        """See `Tables`."""
        request = internal_pb2.SeatPlayerRequest(
            table_id=seating.table_id,
            seating_id=seating.seating_id,
            player_id=seating.player_id,
            display_name=seating.display_name,
            seat=seating.seat,
            stack=seating.buy_in,
            time_bank_left_ms=bank.left_ms,
            time_bank_generation=bank.generation,
        )
        return (await _answer(self._stub.SeatPlayer, request)).version

    async def end_seating(self, seating: Seating) -> End:
        """See `Tables`."""
        request = internal_pb2.EndSeatingRequest(table_id=seating.table_id, seating_id=seating.seating_id)
        answer = await _answer(self._stub.EndSeating, request)
        return End(answer.is_over, answer.had_begun, answer.final_stack, answer.last_hand_number)

    async def top_up(self, top_up: TopUp) -> Added:
        """See `Tables`."""
        request = internal_pb2.TopUpSeatingRequest(
            table_id=top_up.table_id, seating_id=top_up.seating_id, top_up_id=top_up.top_up_id, amount=top_up.amount
        )
        answer = await _answer(self._stub.TopUpSeating, request)
        return Added(answer.is_over, answer.added)

    async def open_table(self, table: Table) -> None:
        """See `Tables`."""
        request = internal_pb2.OpenTableRequest(
            table_id=table.table_id, name=table.name, stakes=stakes_message(table.stakes)
        )
        await _answer(self._stub.OpenTable, request)

    async def close_table(self, table: Table) -> None:
        """See `Tables`."""
        request = internal_pb2.CloseTableRequest(table_id=table.table_id)
        await _answer(self._stub.CloseTable, request)


class GrpcTimeBanks:
    """The clock over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = clock_pb2_grpc.ClockServiceStub(channel)

    async def bank(self, player_id: str) -> TimeBank:
        """See `TimeBanks`."""
        request = clock_pb2.GetTimeBankRequest(player_id=player_id)
        try:
            answer = await _answer(self._stub.GetTimeBank, request, TIME_BANK_CALL_SECONDS)
        except (NotNow, Refused):
            # Nobody is kept from a seat by a clock that is down; it corrects the table when it is back.
            return TimeBank(FULL_TIME_BANK_MS)
        return TimeBank(answer.left_ms, answer.generation)


def stakes_message(stakes: Stakes) -> view_pb2.Stakes:
    """Return the stakes as the contract has them."""
    return view_pb2.Stakes(
        game=view_pb2.Game.ValueType(stakes.game),
        small_blind=stakes.small_blind,
        big_blind=stakes.big_blind,
        ante=stakes.ante,
        min_buy_in=stakes.min_buy_in,
        max_buy_in=stakes.max_buy_in,
        seats=stakes.seats,
    )


async def _answer(method: Callable[..., Awaitable[Answer]], request: Message, seconds: float = CALL_SECONDS) -> Answer:
    try:
        return await method(request, timeout=seconds)
    except grpc.RpcError as error:
        raise _no(from_rpc_error(error)) from error
    except CardroomError as error:
        # The call was not even made: there is no token for it yet.
        raise NotNow(str(error)) from error


def _no(error: CardroomError) -> Refused | NotNow:
    if error.code in _DEFINITE or error.reason in _DEFINITE_REASONS:
        return Refused(Refusal(error.code.name, error.reason, error.message, error.metadata))
    return NotNow(str(error))
