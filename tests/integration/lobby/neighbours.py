"""The lobby's neighbours as their contracts describe them, in memory, over real gRPC."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import grpc

from cardroom.chassis.errors import CardroomError, FailedPrecondition, NotFound, Unavailable, to_status
from cardroom.contracts.clock.v1 import clock_pb2, clock_pb2_grpc
from cardroom.contracts.table.v1 import internal_pb2, internal_pb2_grpc
from cardroom.contracts.wallet.v1 import ledger_pb2, ledger_pb2_grpc, types_pb2

GRANT = 10_000


@dataclass
class Stay:
    """What the table knows of a seating."""

    table_id: str
    player_id: str
    seat: int
    stack: int
    is_over: bool = False
    last_hand_number: int = 0
    time_bank_left_ms: int = 0
    time_bank_generation: int = 0
    display_name: str = ""
    waiting: dict[str, int] = field(default_factory=dict)


@dataclass
class Neighbours:
    """Wallet, table and clock in one. `failing` names methods that answer UNAVAILABLE; `lost` acts, then fails;
    `hanging` does not answer."""

    version: int = 100
    hand_running: bool = False
    tables: dict[str, set[str]] = field(default_factory=dict)
    stays: dict[str, Stay | None] = field(default_factory=dict)
    topped_up: dict[str, int] = field(default_factory=dict)
    max_buy_in: int = 2000
    answers: dict[str, Any] = field(default_factory=dict)
    balances: dict[str, int] = field(default_factory=dict)
    holds: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    escrow: dict[tuple[str, str], int] = field(default_factory=dict)
    unsettled: bool = False
    bank_ms: int = 21_000
    failing: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    hanging: set[str] = field(default_factory=set)
    refusing: dict[str, CardroomError] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    address: str = ""

    def be_well(self) -> None:
        """Stop failing, and count calls from now on."""
        self.hand_running = self.unsettled = False
        self.failing.clear()
        self.lost.clear()
        self.hanging.clear()
        self.refusing.clear()
        self.calls.clear()

    def balance(self, player_id: str) -> int:
        """The player's Play Chips, held ones included."""
        return self.balances.setdefault(player_id, GRANT)

    def held(self, player_id: str) -> int:
        """The player's chips under a pending hold."""
        return sum(amount for who, amount, state in self.holds.values() if who == player_id and state == "PENDING")

    def all_chips(self, player_id: str) -> int:
        """Everything the player has, wherever it is."""
        return self.balance(player_id) + sum(chips for (_, who), chips in self.escrow.items() if who == player_id)

    def seated(self, player_id: str) -> list[Stay]:
        """The player's stays that are on."""
        return [stay for stay in self.stays.values() if stay and stay.player_id == player_id and not stay.is_over]

    def add_chips(self, stay: Stay) -> None:
        """The hand is over, or none was on: what waits for a seat comes to it, unless the player has left."""
        for top_up_id, amount in stay.waiting.items():
            added = 0 if stay.is_over else max(0, min(amount, self.max_buy_in - stay.stack))
            stay.stack += added
            self.topped_up[top_up_id] = added
        stay.waiting.clear()

    async def answer(self, method: str, work: Any, context: Any) -> Any:
        """Answer as the services do: errors with their details, failures on demand."""
        self.calls[method] += 1
        while method in self.hanging:  # noqa: ASYNC110 - until the test or the caller's patience ends
            await asyncio.sleep(0.01)
        try:
            if method in self.failing:
                raise Unavailable("DOWN", "down")
            if method in self.refusing:
                raise self.refusing[method]
            answer = work()
            if method in self.lost:
                raise Unavailable("LOST", "the answer was lost")
        except CardroomError as error:
            status = to_status(error)
            details = (("grpc-status-details-bin", status.SerializeToString()),)
            await context.abort(error.code, error.message, details)
        return answer


class FakeTables(internal_pb2_grpc.TableSeatServiceServicer):
    """TableSeatService."""

    def __init__(self, state: Neighbours) -> None:
        self.state = state

    async def OpenTable(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            self.state.tables.setdefault(request.table_id, set())
            return internal_pb2.OpenTableResponse(version=1)

        return await self.state.answer("OpenTable", work, context)

    async def CloseTable(self, request: Any, context: Any) -> Any:
        return await self.state.answer("CloseTable", internal_pb2.CloseTableResponse, context)

    async def SeatPlayer(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            state = self.state
            if request.seating_id in state.stays:
                stay = state.stays[request.seating_id]
                if stay is None or stay.is_over:
                    raise FailedPrecondition("SEATING_OVER", "over")
                return internal_pb2.SeatPlayerResponse(version=state.version)
            place = (request.table_id, request.seat)
            if any(stay and not stay.is_over and (stay.table_id, stay.seat) == place for stay in state.stays.values()):
                raise FailedPrecondition("SEAT_TAKEN", "taken")
            state.version += 1
            state.stays[request.seating_id] = Stay(
                request.table_id,
                request.player_id,
                request.seat,
                request.stack,
                time_bank_left_ms=request.time_bank_left_ms,
                time_bank_generation=request.time_bank_generation,
                display_name=request.display_name,
            )
            return internal_pb2.SeatPlayerResponse(version=state.version)

        return await self.state.answer("SeatPlayer", work, context)

    async def EndSeating(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            stay = self.state.stays.setdefault(request.seating_id, None)
            if stay is None:
                return internal_pb2.EndSeatingResponse(is_over=True)
            if not self.state.hand_running and not stay.is_over:
                stay.is_over = True
                self.state.add_chips(stay)
                self.state.version += 1
            return internal_pb2.EndSeatingResponse(
                is_over=stay.is_over,
                had_begun=True,
                final_stack=stay.stack if stay.is_over else 0,
                last_hand_number=stay.last_hand_number if stay.is_over else 0,
            )

        return await self.state.answer("EndSeating", work, context)

    async def TopUpSeating(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            state, stay = self.state, self.state.stays[request.seating_id]
            assert stay is not None
            if request.top_up_id not in state.topped_up:
                stay.waiting[request.top_up_id] = request.amount
                if not state.hand_running or stay.is_over:
                    state.add_chips(stay)
            added = state.topped_up.get(request.top_up_id)
            return internal_pb2.TopUpSeatingResponse(is_over=added is not None, added=added or 0)

        return await self.state.answer("TopUpSeating", work, context)


class FakeWallet(ledger_pb2_grpc.LedgerServiceServicer):
    """The part of LedgerService that the lobby uses. Every answer is kept under its request id, as the wallet does."""

    def __init__(self, state: Neighbours) -> None:
        self.state = state

    async def _once(self, method: str, request: Any, work: Any, context: Any) -> Any:
        def first() -> Any:
            known = self.state.answers.get(request.request_id)
            if known is None:
                try:
                    known = work()
                except CardroomError as error:
                    if error.reason == "SETTLEMENT_PENDING":
                        raise
                    known = error
                self.state.answers[request.request_id] = known
            if isinstance(known, CardroomError):
                raise known
            return known

        return await self.state.answer(method, first, context)

    async def PlaceHold(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            player_id = request.account.split("/")[1]
            available = self.state.balance(player_id) - self.state.held(player_id)
            if available < request.amount:
                raise FailedPrecondition("INSUFFICIENT_CHIPS", "too few", available=available, needed=request.amount)
            hold_id = str(uuid4())
            self.state.holds[hold_id] = (player_id, request.amount, "PENDING")
            return ledger_pb2.PlaceHoldResponse(hold=types_pb2.Hold(hold_id=hold_id, amount=request.amount))

        return await self._once("PlaceHold", request, work, context)

    async def PostHold(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            player_id, held = self._pending(request.hold_id, "POSTED")
            amount = request.amount or held
            assert amount <= held
            _, table_id, owner = request.to_account.split("/")
            assert owner == player_id
            self.state.balances[player_id] -= amount
            self.state.escrow[table_id, player_id] = self.state.escrow.get((table_id, player_id), 0) + amount
            return ledger_pb2.PostHoldResponse()

        return await self._once("PostHold", request, work, context)

    async def VoidHold(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            self._pending(request.hold_id, "VOIDED")
            return ledger_pb2.VoidHoldResponse()

        return await self._once("VoidHold", request, work, context)

    def _pending(self, hold_id: str, becomes: str) -> tuple[str, int]:
        if hold_id not in self.state.holds:
            raise NotFound("HOLD_NOT_FOUND", "no such hold")
        player_id, amount, state = self.state.holds[hold_id]
        if state != "PENDING":
            raise FailedPrecondition("HOLD_NOT_PENDING", "not pending", hold_id=hold_id, state=state)
        self.state.holds[hold_id] = (player_id, amount, becomes)
        return player_id, amount

    async def CashOut(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            if self.state.unsettled:
                raise FailedPrecondition("SETTLEMENT_PENDING", "wait", settled_hand_number=0)
            chips = self.state.escrow.pop((request.table_id, request.player_id), 0)
            if chips != request.expected_amount:
                raise FailedPrecondition("ESCROW_MISMATCH", "differs", escrow=chips, expected=request.expected_amount)
            self.state.balances[request.player_id] += chips
            return ledger_pb2.CashOutResponse(amount=chips)

        return await self._once("CashOut", request, work, context)


class FakeClock(clock_pb2_grpc.ClockServiceServicer):
    """ClockService."""

    def __init__(self, state: Neighbours) -> None:
        self.state = state

    async def GetTimeBank(self, request: Any, context: Any) -> Any:
        def work() -> Any:
            return clock_pb2.GetTimeBankResponse(left_ms=self.state.bank_ms, full_ms=30_000, generation=7)

        return await self.state.answer("GetTimeBank", work, context)


async def serve(state: Neighbours) -> tuple[grpc.aio.Server, str]:
    """Serve all three on one port; return the server and its address."""
    server = grpc.aio.server()
    internal_pb2_grpc.add_TableSeatServiceServicer_to_server(FakeTables(state), server)  # type: ignore[abstract]
    ledger_pb2_grpc.add_LedgerServiceServicer_to_server(FakeWallet(state), server)  # type: ignore[abstract]
    clock_pb2_grpc.add_ClockServiceServicer_to_server(FakeClock(state), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, f"127.0.0.1:{port}"
