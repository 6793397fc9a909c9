"""Everything that a player can do: the lobby, their chips, and tables."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Final

from cardroom.client.connection import Connection
from cardroom.client.errors import FailedPreconditionError
from cardroom.client.lobby import LobbySession
from cardroom.client.sessions import TableSession, WatchSession
from cardroom.client.waiting import WaitingSession
from cardroom.contracts.lobby.v1.lobby_pb2 import (
    SEATING_STATE_OVER,
    GetMySeatRequest,
    GetTableRequest,
    LeaveTableRequest,
    LeaveTableResponse,
    ListTablesRequest,
    QuickSeatRequest,
    Seating,
    SitDownRequest,
    Table,
    TableFilter,
    TopUpRequest,
    TopUpResponse,
)
from cardroom.contracts.lobby.v1.lobby_pb2_grpc import LobbyServiceStub
from cardroom.contracts.lobby.v1.waiting_pb2 import (
    GetMyWaitingRequest,
    JoinWaitingListRequest,
    LeaveWaitingListRequest,
    WaitingEntry,
    WantedStakes,
)
from cardroom.contracts.lobby.v1.waiting_pb2_grpc import WaitingServiceStub
from cardroom.contracts.wallet.v1.types_pb2 import ENTRY_ORDER_NEWEST_FIRST, Entry
from cardroom.contracts.wallet.v1.wallet_pb2 import (
    GetBalanceRequest,
    GetBalanceResponse,
    ListEntriesRequest,
    RefillRequest,
    RefillResponse,
)
from cardroom.contracts.wallet.v1.wallet_pb2_grpc import WalletServiceStub

_PAGE_SIZE: Final = 100


def new_request_id() -> str:
    """A key for one logical write: made once, sent with every repeat of it."""
    return str(uuid.uuid4())


class PlayerClient:
    """A signed-in player. Every call repeats itself safely while the edge cannot answer, and raises CardroomError."""

    def __init__(self, connection: Connection, player_id: str, display_name: str) -> None:
        """Made by `Client.sign_in_as_guest` and its sisters."""
        self._connection = connection
        self._lobby = LobbyServiceStub(connection.channel)
        self._waiting = WaitingServiceStub(connection.channel)
        self._wallet = WalletServiceStub(connection.channel)
        self.player_id = player_id
        self.display_name = display_name

    async def tables(self, wanted: TableFilter | None = None, *, order_by: str = "") -> list[Table]:
        """The open public tables that the filter lets through: by small blind, then name, or in another order.

        `order_by` is like "stakes.small_blind desc, seats_taken". Raises INVALID_FILTER, INVALID_ORDER_BY (metadata:
        `field`).
        """
        found: list[Table] = []
        request = ListTablesRequest(page_size=_PAGE_SIZE, filter=wanted, order_by=order_by)
        while True:
            page = await self._connection.call(self._lobby.ListTables, request)
            found.extend(page.tables)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    def watch_tables(self, wanted: TableFilter | None = None) -> LobbySession:
        """The same list, live. Iterate over it; it opens its stream then."""
        return LobbySession(self._connection, wanted or TableFilter())

    async def table(self, table_id: str) -> Table:
        """One table. Raises NotFoundError/TABLE_UNKNOWN."""
        answer = await self._connection.call(self._lobby.GetTable, GetTableRequest(table_id=table_id))
        return answer.table

    async def sit_down(self, table_id: str, buy_in: int, *, seat: int = 0, request_id: str | None = None) -> Seating:
        """Takes a seat (0: any free one) with chips from the player's Play Chips.

        Raises TABLE_FULL, SEAT_TAKEN, ALREADY_SEATED (metadata: `table_id`, `seat`), BUY_IN_OUT_OF_RANGE (metadata:
        `min`, `max`), TOO_FEW_CHIPS (metadata: `available`). Pass a `request_id` of your own to repeat across restarts.
        """
        request = SitDownRequest(table_id=table_id, seat=seat, buy_in=buy_in, request_id=request_id or new_request_id())
        answer = await self._connection.call(self._lobby.SitDown, request)
        return answer.seating

    async def quick_seat(self, stakes: WantedStakes, buy_in: int, *, request_id: str | None = None) -> Seating:
        """Takes a seat at the fullest table of some stakes that has one: `quick_seat(wanted_stakes(10, 20), 1000)`.

        A seat that is kept for the player comes first. Raises STAKES_FULL (join the waiting list), STAKES_UNKNOWN,
        INVALID_STAKES, and what `sit_down` raises. Pass a `request_id` of your own to repeat across restarts.
        """
        request = QuickSeatRequest(stakes=stakes, buy_in=buy_in, request_id=request_id or new_request_id())
        answer = await self._connection.call(self._lobby.QuickSeat, request)
        return answer.seating

    async def join_waiting_list(self, where: str | WantedStakes, *, request_id: str | None = None) -> WaitingEntry:
        """Waits for a seat at a table (its id), or at any table of some stakes.

        A free seat is kept for 60 s for whoever joined first: take it with `sit_down` or `quick_seat`. On the list
        already: the entry as it is.

        Raises TABLE_UNKNOWN, STAKES_UNKNOWN, INVALID_STAKES, ALREADY_SEATED (metadata: `table_id`, `seat`),
        TOO_MANY_WAITING_LISTS and WAITING_LIST_FULL (metadata: `max`). Pass a `request_id` of your own to repeat across
        restarts.
        """
        request = JoinWaitingListRequest(request_id=request_id or new_request_id())
        if isinstance(where, str):
            request.table_id = where
        else:
            request.stakes.CopyFrom(where)
        answer = await self._connection.call(self._waiting.JoinWaitingList, request)
        return answer.entry

    async def leave_waiting_list(self, entry_id: str) -> WaitingEntry:
        """Waits no more; a seat that is kept goes to the next in line. Raises WAITING_ENTRY_UNKNOWN."""
        request = LeaveWaitingListRequest(entry_id=entry_id)
        answer = await self._connection.call(self._waiting.LeaveWaitingList, request)
        return answer.entry

    async def my_waiting(self) -> list[WaitingEntry]:
        """What the player waits for: the place in each line, the seat that is kept, what ended in the last 2 min."""
        answer = await self._connection.call(self._waiting.GetMyWaiting, GetMyWaitingRequest())
        return list(answer.waiting.entries)

    def watch_my_waiting(self) -> WaitingSession:
        """The same, live. Iterate over it; it opens its stream then."""
        return WaitingSession(self._connection)

    async def top_up(self, table_id: str, amount: int, *, request_id: str | None = None) -> TopUpResponse:
        """Brings more chips to the table, between hands and up to its biggest buy-in (10.4); the answer says how far.

        Raises NOT_SEATED, TOP_UP_OUT_OF_RANGE (metadata: `min`, `max` where you sit), TOP_UP_PENDING, TOO_FEW_CHIPS
        (metadata: `available`). Pass a `request_id` of your own to repeat across restarts.
        """
        request = TopUpRequest(table_id=table_id, amount=amount, request_id=request_id or new_request_id())
        return await self._connection.call(self._lobby.TopUp, request)

    async def leave(self, table_id: str, *, seating_id: str = "") -> LeaveTableResponse:
        """Leaves the table, at once or when the running hand ends (rule 10.3); the answer says which.

        With the `seating_id` of your stay, from `sit_down` or `my_seat`, a repeat that comes late ends no later stay.
        """
        request = LeaveTableRequest(table_id=table_id, seating_id=seating_id)
        return await self._connection.call(self._lobby.LeaveTable, request)

    async def leave_and_wait(self, table_id: str, *, poll_seconds: float = 0.5) -> int:
        """Leaves and waits until the seat is free and the chips are back. Returns the chips that went back."""
        # Named, so that a repeat which is held up on its way cannot end the stay that comes after this one.
        stay = await self.my_seat()
        seating_id = stay.seating_id if stay is not None and stay.table_id == table_id else ""
        while True:
            try:
                answer = await self.leave(table_id, seating_id=seating_id)
            except FailedPreconditionError as error:
                if error.reason == "NOT_SEATED":
                    return 0
                raise
            if answer.seating.state == SEATING_STATE_OVER:
                return answer.cashed_out
            await asyncio.sleep(poll_seconds)

    async def my_seat(self) -> Seating | None:
        """Where the player sits now; None when nowhere."""
        answer = await self._connection.call(self._lobby.GetMySeat, GetMySeatRequest())
        return answer.seating if answer.HasField("seating") else None

    async def balance(self) -> GetBalanceResponse:
        """The player's Play Chips: posted, held, available, and what is at tables."""
        return await self._connection.call(self._wallet.GetBalance, GetBalanceRequest())

    async def refill(self, *, request_id: str | None = None) -> RefillResponse:
        """Fills Play Chips up to 2,000, once in 24 h. Raises NOT_BELOW_REFILL, REFILL_TOO_SOON."""
        return await self._connection.call(
            self._wallet.Refill, RefillRequest(request_id=request_id or new_request_id())
        )

    async def statement(self, *, page_size: int = _PAGE_SIZE) -> AsyncIterator[Entry]:
        """The entries of the player's Play Chips, newest first, fetched page by page as you iterate."""
        request = ListEntriesRequest(page_size=page_size, order=ENTRY_ORDER_NEWEST_FIRST)
        while True:
            page = await self._connection.call(self._wallet.ListEntries, request)
            for entry in page.entries:
                yield entry
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def play(self, table_id: str) -> TableSession:
        """The live table where the player sits. Iterate over it; it opens its stream then."""
        return TableSession(self._connection, table_id, self.player_id)

    def watch(self, table_id: str) -> WatchSession:
        """Any public table, 30 s behind."""
        return WatchSession(self._connection, table_id)
