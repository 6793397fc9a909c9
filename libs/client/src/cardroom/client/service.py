"""What other teams' services and operators can do: the ledger, and the tables on offer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from cardroom.client.connection import Connection
from cardroom.client.player import new_request_id
from cardroom.contracts.lobby.v1.lobby_pb2 import CloseTableRequest, CreateTableRequest, Table
from cardroom.contracts.lobby.v1.lobby_pb2_grpc import LobbyAdminServiceStub
from cardroom.contracts.table.v1.view_pb2 import Stakes
from cardroom.contracts.wallet.v1.ledger_pb2 import (
    AdjustRequest,
    AdjustResponse,
    CreateLinkedTransfersRequest,
    CreateLinkedTransfersResponse,
    CreateTransferRequest,
    CreateTransferResponse,
    GetAccountRequest,
    GetTransferRequest,
    GrantRequest,
    GrantResponse,
    ListAccountEntriesRequest,
    PlaceHoldRequest,
    PlaceHoldResponse,
    PostHoldRequest,
    PostHoldResponse,
    RunAuditRequest,
    RunAuditResponse,
    TransferInstruction,
    VoidHoldRequest,
    VoidHoldResponse,
)
from cardroom.contracts.wallet.v1.ledger_pb2_grpc import LedgerServiceStub
from cardroom.contracts.wallet.v1.types_pb2 import ENTRY_ORDER_NEWEST_FIRST, Balance, Entry, Transfer


class ServiceClient:
    """A service or an operator. What it may do is in its token's scopes.

    Every write takes a `request_id` that makes it safe to repeat; where none is given one is made, once per call, and
    kept through the call's own repeats. Give your own where you may have to repeat after a crash.
    """

    def __init__(self, connection: Connection) -> None:
        """Made by `Client.service`."""
        self._connection = connection
        self._ledger = LedgerServiceStub(connection.channel)
        self._admin = LobbyAdminServiceStub(connection.channel)

    async def create_table(self, name: str, stakes: Stakes, *, request_id: str | None = None) -> Table:
        """Opens a public table (scope `operator`). Zero buy-in limits mean 40 and 100 big blinds."""
        request = CreateTableRequest(name=name, stakes=stakes, request_id=request_id or new_request_id())
        return (await self._connection.call(self._admin.CreateTable, request)).table

    async def close_table(self, table_id: str) -> None:
        """Takes an empty table off the offer (scope `operator`). Raises TABLE_OCCUPIED."""
        await self._connection.call(self._admin.CloseTable, CloseTableRequest(table_id=table_id))

    async def balance(self, account: str, *, at: datetime | None = None) -> Balance:
        """An account's balance, now or at a past moment."""
        request = GetAccountRequest(account=account)
        if at is not None:
            request.at_time.FromDatetime(at)
        return (await self._connection.call(self._ledger.GetAccount, request)).balance

    async def transfer(
        self, instruction: TransferInstruction, *, request_id: str | None = None
    ) -> CreateTransferResponse:
        """Moves chips between two accounts of one currency."""
        request = CreateTransferRequest(instruction=instruction, request_id=request_id or new_request_id())
        return await self._connection.call(self._ledger.CreateTransfer, request)

    async def transfer_linked(
        self, instructions: Sequence[TransferInstruction], *, request_id: str | None = None
    ) -> CreateLinkedTransfersResponse:
        """Makes up to 100 transfers, all or none."""
        request = CreateLinkedTransfersRequest(instructions=instructions, request_id=request_id or new_request_id())
        return await self._connection.call(self._ledger.CreateLinkedTransfers, request)

    async def grant(self, account: str, amount: int, reason: str, *, request_id: str | None = None) -> GrantResponse:
        """Makes new chips for an account."""
        request = GrantRequest(account=account, amount=amount, reason=reason, request_id=request_id or new_request_id())
        return await self._connection.call(self._ledger.Grant, request)

    async def adjust(self, account: str, amount: int, reason: str, *, request_id: str | None = None) -> AdjustResponse:
        """Corrects an account by new entries, with a reason (scope `operator`)."""
        request = AdjustRequest(
            account=account, amount=amount, reason=reason, request_id=request_id or new_request_id()
        )
        return await self._connection.call(self._ledger.Adjust, request)

    async def place_hold(
        self, account: str, amount: int, time_to_live: timedelta, reason: str, *, request_id: str | None = None
    ) -> PlaceHoldResponse:
        """Sets chips aside until they are posted, voided, or the hold expires."""
        request = PlaceHoldRequest(
            account=account, amount=amount, reason=reason, request_id=request_id or new_request_id()
        )
        request.time_to_live.FromTimedelta(time_to_live)
        return await self._connection.call(self._ledger.PlaceHold, request)

    async def post_hold(
        self, hold_id: str, to_account: str, *, amount: int = 0, reason: str = "", request_id: str | None = None
    ) -> PostHoldResponse:
        """Moves held chips to another account; amount 0 means all of them, the rest is released."""
        request = PostHoldRequest(
            hold_id=hold_id,
            to_account=to_account,
            amount=amount,
            reason=reason,
            request_id=request_id or new_request_id(),
        )
        return await self._connection.call(self._ledger.PostHold, request)

    async def void_hold(self, hold_id: str, *, reason: str = "", request_id: str | None = None) -> VoidHoldResponse:
        """Releases held chips."""
        request = VoidHoldRequest(hold_id=hold_id, reason=reason, request_id=request_id or new_request_id())
        return await self._connection.call(self._ledger.VoidHold, request)

    async def transfer_by_id(self, transfer_id: str) -> Transfer:
        """One transfer with its entries. Raises TRANSFER_NOT_FOUND."""
        request = GetTransferRequest(transfer_id=transfer_id)
        return (await self._connection.call(self._ledger.GetTransfer, request)).transfer

    async def entries(self, account: str, *, page_size: int = 100) -> AsyncIterator[Entry]:
        """An account's entries, newest first, fetched page by page as you iterate."""
        request = ListAccountEntriesRequest(account=account, page_size=page_size, order=ENTRY_ORDER_NEWEST_FIRST)
        while True:
            page = await self._connection.call(self._ledger.ListAccountEntries, request)
            for entry in page.entries:
                yield entry
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def audit(self, *, from_start: bool = False) -> RunAuditResponse:
        """Proves the ledger: sums, versions, balances, holds, escrow. Names the first thing wrong."""
        return await self._connection.call(self._ledger.RunAudit, RunAuditRequest(from_start=from_start))
