"""WalletService: what a player may ask about their own chips."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from cardroom.chassis import auth
from cardroom.contracts.wallet.v1 import wallet_pb2 as pb
from cardroom.wallet.api import calls, pages, replies
from cardroom.wallet.domain import names, sources
from cardroom.wallet.errors import Refused
from cardroom.wallet.posting import Poster, Request

if TYPE_CHECKING:
    from cardroom.wallet.domain.books import BalanceAfter
    from cardroom.wallet.store.history import History


class WalletService:
    """Serves players. The player is the token's subject, and no one else."""

    def __init__(self, poster: Poster, history: History) -> None:
        self._poster = poster
        self._history = history

    @calls.answers
    async def GetBalance(self, request: pb.GetBalanceRequest, _context: Any) -> pb.GetBalanceResponse:  # noqa: N802
        """Show the player's chips."""
        player_id, currency = _player(), names.check_currency(request.currency)
        account = names.player_account(player_id, currency)
        balance = await self._opened(player_id, account)
        reply = pb.GetBalanceResponse(
            balance=replies.balance(balance), at_tables=await self._history.at_tables(player_id, currency)
        )
        again = await self._history.next_refill(account) if currency == names.PLAY else None
        if again is not None:
            reply.next_refill_time.CopyFrom(replies.timestamp(again))
        return reply

    @calls.answers
    async def Refill(self, request: pb.RefillRequest, _context: Any) -> bytes:  # noqa: N802
        """Fill the player up to 2,000."""
        player_id = _player()
        if not request.request_id:
            request.request_id = str(uuid.uuid4())
        return await calls.write(self._poster, request, sources.Refill(player_id, player_id), replies.refilled)

    @calls.answers
    async def ListEntries(self, request: pb.ListEntriesRequest, _context: Any) -> pb.ListEntriesResponse:  # noqa: N802
        """Show a page of the player's statement."""
        player_id, currency = _player(), names.check_currency(request.currency)
        account = names.player_account(player_id, currency)
        span = pages.span(request, account)
        if span.after is None:
            await self._opened(player_id, account)
        found, ended = await self._history.entries(account, span)
        return pb.ListEntriesResponse(
            entries=[replies.entry(it) for it in found], next_page_token=pages.token(request, account, ended)
        )

    async def _opened(self, player_id: str, account: str) -> BalanceAfter:
        """Return the account; the first touch opens the player's Play Chips."""
        play = account == names.player_account(player_id)
        try:
            found = await self._history.balance(account)
        except Refused:
            if not play:
                raise
        else:
            if found.version or not play:
                return found
        await self._poster.post(Request(sources.OpenPlayer(player_id, player_id)))
        return await self._history.balance(account)


def _player() -> str:
    player_id = auth.caller().player_id
    return names.check_uuid(player_id, "the token's subject")
