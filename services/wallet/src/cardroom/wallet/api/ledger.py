"""LedgerService: transfers, holds, grants, statements, the stream of entries, the audit, for services and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cardroom.contracts.wallet.v1 import ledger_pb2 as pb
from cardroom.wallet.api import calls, checks, pages, replies
from cardroom.wallet.api.calls import ADJUST, GRANT, HOLD, READ, TRANSFER, Limits, answers, caller_with, translated
from cardroom.wallet.domain import commands, names, settlement, sources
from cardroom.wallet.domain.names import Kind
from cardroom.wallet.errors import Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cardroom.wallet.auditing import Auditor
    from cardroom.wallet.posting import Poster
    from cardroom.wallet.store.history import History
    from cardroom.wallet.watching import Watching

OWNERS: Final = (Kind.PLAYER, Kind.HOUSE)


class LedgerService:
    """Serves other services and operators."""

    def __init__(self, poster: Poster, history: History, watching: Watching, auditor: Auditor, limits: Limits) -> None:
        self._poster = poster
        self._history = history
        self._watching = watching
        self._auditor = auditor
        self._limits = limits

    @answers
    async def PlaceHold(self, request: pb.PlaceHoldRequest, _context: Any) -> bytes:  # noqa: N802
        """Set chips aside."""
        caller = caller_with(HOLD)
        command = commands.PlaceHold(
            caller.subject,
            checks.account(request.account, OWNERS).text,
            checks.amount(request.amount),
            checks.time_to_live(request),
            checks.reason(request.reason),
            spending=self._limits.hold.spending(caller, request.amount),
        )
        return await calls.write(self._poster, request, command, replies.placed)

    @answers
    async def PostHold(self, request: pb.PostHoldRequest, _context: Any) -> bytes:  # noqa: N802
        """Move held chips."""
        command = commands.PostHold(
            caller_with(HOLD).subject,
            checks.id_number(request.hold_id, "hold_id", "HOLD_NOT_FOUND"),
            checks.account(request.to_account, (*OWNERS, Kind.ESCROW), "to_account").text,
            checks.amount(request.amount, least=0),
            checks.reason(request.reason),
        )
        return await calls.write(self._poster, request, command, replies.posted)

    @answers
    async def VoidHold(self, request: pb.VoidHoldRequest, _context: Any) -> bytes:  # noqa: N802
        """Give held chips free."""
        hold_id = checks.id_number(request.hold_id, "hold_id", "HOLD_NOT_FOUND")
        command = commands.VoidHold(caller_with(HOLD).subject, hold_id, checks.reason(request.reason))
        return await calls.write(self._poster, request, command, replies.voided)

    @answers
    async def GetHold(self, request: pb.GetHoldRequest, _context: Any) -> pb.GetHoldResponse:  # noqa: N802
        """Show a hold."""
        caller_with(READ, HOLD)
        hold = await self._history.hold(checks.id_number(request.hold_id, "hold_id", "HOLD_NOT_FOUND"))
        return pb.GetHoldResponse(hold=replies.hold(hold))

    @answers
    async def CashOut(self, request: pb.CashOutRequest, _context: Any) -> bytes:  # noqa: N802
        """Bring a player's chips back from a table."""
        command = settlement.CashOut(
            caller_with(HOLD).subject,
            names.check_uuid(request.table_id, "table_id"),
            names.check_uuid(request.player_id, "player_id"),
            checks.amount(request.last_hand_number, "last_hand_number", least=0),
            checks.amount(request.expected_amount, "expected_amount", least=0),
        )
        return await calls.write(self._poster, request, command, replies.cashed_out)

    @answers
    async def CreateTransfer(self, request: pb.CreateTransferRequest, _context: Any) -> bytes:  # noqa: N802
        """Move chips."""
        caller = caller_with(TRANSFER)
        step = _instruction(request.instruction)
        spending = self._limits.transfer.spending(caller, step.amount)
        command = commands.MoveChips(caller.subject, [step], spending=spending)
        return await calls.write(self._poster, request, command, replies.moved_one)

    @answers
    async def CreateLinkedTransfers(  # noqa: N802
        self, request: pb.CreateLinkedTransfersRequest, _context: Any
    ) -> bytes:
        """Move chips by transfers that happen all or not at all."""
        caller = caller_with(TRANSFER)
        count = len(request.instructions)
        if not 1 <= count <= checks.LINKED_MAX:
            text = f"there are {count} instructions, not 1 to {checks.LINKED_MAX}"
            raise Refused("FIELD_INVALID", text, field="instructions")
        steps = [_instruction(it, index) for index, it in enumerate(request.instructions)]
        spending = self._limits.transfer.spending(caller, sum(it.amount for it in steps))
        command = commands.MoveChips(caller.subject, steps, spending=spending)
        return await calls.write(self._poster, request, command, replies.moved_linked, weight=count)

    @answers
    async def Grant(self, request: pb.GrantRequest, _context: Any) -> bytes:  # noqa: N802
        """Give new chips."""
        caller = caller_with(GRANT)
        command = sources.Grant(
            caller.subject,
            checks.account(request.account, OWNERS).text,
            checks.amount(request.amount),
            checks.reason(request.reason, needed=True),
            spending=self._limits.grant.spending(caller, request.amount),
        )
        return await calls.write(self._poster, request, command, replies.granted)

    @answers
    async def Adjust(self, request: pb.AdjustRequest, _context: Any) -> bytes:  # noqa: N802
        """Correct an account by new entries."""
        caller = caller_with(ADJUST)
        if request.amount == 0:
            raise Refused("AMOUNT_INVALID", "amount is 0: say how many to add or take", field="amount", amount=0)
        command = sources.Adjust(
            caller.subject,
            checks.account(request.account, (*OWNERS, Kind.ESCROW)).text,
            checks.amount(request.amount, least=-checks.AMOUNT_MAX),
            checks.reason(request.reason, needed=True),
        )
        return await calls.write(self._poster, request, command, replies.adjusted)

    @answers
    async def OpenHouseAccount(self, request: pb.OpenHouseAccountRequest, _context: Any) -> bytes:  # noqa: N802
        """Open a house account."""
        command = sources.OpenHouse(caller_with(TRANSFER).subject, checks.account(request.account, (Kind.HOUSE,)).text)
        return await calls.write(self._poster, request, command, replies.house_opened)

    @answers
    async def OpenLeagueAccounts(self, request: pb.OpenLeagueAccountsRequest, _context: Any) -> bytes:  # noqa: N802
        """Open a private game's accounts with the starting stack."""
        caller = caller_with(GRANT)
        players = [names.check_uuid(it, "player_ids") for it in request.player_ids]
        if not 1 <= len(players) <= checks.LINKED_MAX or len(set(players)) != len(players):
            text = f"player_ids has {len(players)} ids, not 1 to {checks.LINKED_MAX} different ones"
            raise Refused("FIELD_INVALID", text, field="player_ids")
        stack = checks.amount(request.starting_stack, "starting_stack")
        command = sources.OpenLeague(
            caller.subject,
            names.check_uuid(request.game_id, "game_id"),
            players,
            stack,
            spending=self._limits.grant.spending(caller, stack * len(players)),
        )
        return await calls.write(self._poster, request, command, replies.league_opened, weight=len(players))

    @answers
    async def CloseLeague(self, request: pb.CloseLeagueRequest, _context: Any) -> bytes:  # noqa: N802
        """Close a private game's accounts."""
        command = sources.CloseLeague(caller_with(GRANT).subject, names.check_uuid(request.game_id, "game_id"))
        return await calls.write(self._poster, request, command, replies.league_closed)

    @answers
    async def GetAccount(self, request: pb.GetAccountRequest, _context: Any) -> pb.GetAccountResponse:  # noqa: N802
        """Show an account now or at a past moment."""
        caller_with(READ, HOLD)
        name = names.parse(request.account).text
        balance = await self._history.balance(name, checks.moment(request, "at_time"))
        return pb.GetAccountResponse(balance=replies.balance(balance))

    @answers
    async def ListAccountEntries(  # noqa: N802
        self, request: pb.ListAccountEntriesRequest, _context: Any
    ) -> pb.ListAccountEntriesResponse:
        """Show a page of an account's statement."""
        caller_with(READ)
        name = names.parse(request.account).text
        found, ended = await self._history.entries(name, pages.span(request, name))
        return pb.ListAccountEntriesResponse(
            entries=[replies.entry(it) for it in found], next_page_token=pages.token(request, name, ended)
        )

    @answers
    async def GetTransfer(self, request: pb.GetTransferRequest, _context: Any) -> pb.GetTransferResponse:  # noqa: N802
        """Show a transfer."""
        caller_with(READ)
        id_ = checks.id_number(request.transfer_id, "transfer_id", "TRANSFER_NOT_FOUND")
        found = await self._history.transfers(id_)
        if not found:
            text = f"there is no transfer {request.transfer_id}"
            raise Refused("TRANSFER_NOT_FOUND", text, transfer_id=request.transfer_id)
        return pb.GetTransferResponse(transfer=replies.transfer(found[0]))

    @answers
    async def FindTransfers(  # noqa: N802
        self, request: pb.FindTransfersRequest, _context: Any
    ) -> pb.FindTransfersResponse:
        """Find what a request of the caller, or a settled hand, moved."""
        if request.WhichOneof("by") == "hand":
            caller_with(READ)
            table_id = names.check_uuid(request.hand.table_id, "hand.table_id")
            number = checks.amount(request.hand.hand_number, "hand.hand_number")
            found = await self._history.transfers_of_hand(table_id, number)
        else:
            caller = caller_with(READ, HOLD, TRANSFER, GRANT, ADJUST)
            id_ = checks.request_id(request.request_id)
            found = await self._history.transfers_of_request(caller.subject, id_)
        return pb.FindTransfersResponse(transfers=[replies.transfer(it) for it in found])

    async def WatchEntries(  # noqa: N802
        self, request: pb.WatchEntriesRequest, _context: Any
    ) -> AsyncIterator[pb.WatchEntriesResponse]:
        """Stream entries from a position on."""
        caller_with(READ)
        try:
            async for response in self._watching.entries(request.after_position, request.account_prefix):
                yield response
        except Refused as refused:
            raise translated(refused) from refused

    @answers
    async def GetTableSettlements(  # noqa: N802
        self, request: pb.GetTableSettlementsRequest, _context: Any
    ) -> pb.GetTableSettlementsResponse:
        """Show how far a table's hands are settled."""
        caller_with(READ, HOLD)
        settled, waiting = await self._history.settled(names.check_uuid(request.table_id, "table_id"))
        return pb.GetTableSettlementsResponse(settled_hand_number=settled, waiting_hand_numbers=waiting)

    @answers
    async def RunAudit(self, request: pb.RunAuditRequest, _context: Any) -> pb.RunAuditResponse:  # noqa: N802
        """Check the books."""
        caller_with(READ)
        return replies.audit(await self._auditor.run(from_start=request.from_start))


def _instruction(message: pb.TransferInstruction, index: int | None = None) -> commands.Instruction:
    where = "instruction" if index is None else f"instructions[{index}]"
    try:
        commands.check_pair(message.debit_account, message.credit_account)
        return commands.Instruction(
            message.debit_account, message.credit_account, checks.amount(message.amount), checks.reason(message.reason)
        )
    except Refused as refused:
        if "field" in refused.metadata:
            refused.metadata["field"] = f"{where}.{refused.metadata['field']}"
        if index is not None:
            refused.metadata["index"] = str(index)
        raise
