"""A table held in the middle of a hand, to send bad input to: what is sent, and what must not change."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from cardroom.contracts.lobby.v1.lobby_pb2 import GetTableRequest, QuickSeatRequest, SitDownRequest, Table
from cardroom.contracts.lobby.v1.waiting_pb2 import GetMyWaitingRequest, JoinWaitingListRequest, WantedStakes
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest, PlayRequest
from cardroom.contracts.wallet.v1.wallet_pb2 import GetBalanceRequest
from tests.e2e.door import Call, Caller, Door
from tests.party import Party, open_table, party

TABLE = "cardroom.table.v1.TableService"
LOBBY = "cardroom.lobby.v1.LobbyService"
WAITING = "cardroom.lobby.v1.WaitingService"
WALLET = "cardroom.wallet.v1.WalletService"


@dataclass
class Room:
    """The held table, a full one, one for the rich, and a guest who sits nowhere."""

    door: Door
    at: Party
    seated: dict[str, Caller]
    full: Table
    dear: Table
    guest: Caller

    @property
    def table_id(self) -> str:
        """The held table."""
        return self.at.table.table_id

    @property
    def turn(self) -> pb.TurnView:
        """The turn that waits there."""
        return self.at.view.hand.turn

    @property
    def actor(self) -> Caller:
        """Whose turn it is."""
        return self.seated[self.turn.player_id]

    @property
    def other(self) -> Caller:
        """Somebody else at the same table."""
        return next(caller for player, caller in self.seated.items() if player != self.turn.player_id)

    def act(self, kind: pb.ActionKind.ValueType, amount: int = 0, turn: pb.TurnToken | None = None) -> Call:
        """An action at the held table, for the turn that is on unless told otherwise."""
        action = Action(kind=kind, amount=amount)
        token = self.turn.token if turn is None else turn
        return Call.of(f"{TABLE}/Act", ActRequest(table_id=self.table_id, turn=token, action=action))

    def sit(self, table: Table | None = None, buy_in: int = 400, **changes: Any) -> Call:
        """A request for a seat; a new one each time."""
        table_id = (table or self.at.table).table_id
        fields: dict[str, Any] = {"table_id": table_id, "buy_in": buy_in, "request_id": str(uuid.uuid4())} | changes
        return Call.of(f"{LOBBY}/SitDown", SitDownRequest(**fields))

    def stakes(self, **changes: Any) -> WantedStakes:
        """Those of the held table and the full one."""
        stakes = self.at.table.stakes
        fields: dict[str, Any] = {
            "game": stakes.game,
            "small_blind": stakes.small_blind,
            "big_blind": stakes.big_blind,
        }
        return WantedStakes(**fields | changes)

    def quick(self, buy_in: int = 400, request_id: str | None = None, **changes: Any) -> Call:
        """A request for a quick seat; a new one each time."""
        key = str(uuid.uuid4()) if request_id is None else request_id
        request = QuickSeatRequest(stakes=self.stakes(**changes), buy_in=buy_in, request_id=key)
        return Call.of(f"{LOBBY}/QuickSeat", request)

    def join(self, **fields: Any) -> Call:
        """A request for a place in line; a new one each time."""
        return Call.of(
            f"{WAITING}/JoinWaitingList", JoinWaitingListRequest(**{"request_id": str(uuid.uuid4())} | fields)
        )

    async def state(self) -> tuple[object, ...]:
        """What must not change: the held table as its players see it, who sits where, and everyone's chips."""
        played: Any = await self.actor.grpc(Call.of(f"{TABLE}/Play", PlayRequest(table_id=self.table_id)))
        seats = []
        for table in (self.at.table, self.full, self.dear):
            found: Any = await self.guest.grpc(Call.of(f"{LOBBY}/GetTable", GetTableRequest(table_id=table.table_id)))
            seats.append(list(found.table.free_seats))
        balance = Call.of(f"{WALLET}/GetBalance", GetBalanceRequest())
        callers = (*self.seated.values(), self.guest)
        chips = [await caller.grpc(balance) for caller in callers]
        waiting = [await caller.grpc(Call.of(f"{WAITING}/GetMyWaiting", GetMyWaitingRequest())) for caller in callers]
        return played.snapshot.view, seats, chips, waiting


@asynccontextmanager
async def held_room(door: Door) -> AsyncIterator[Room]:
    """The hand goes on to its flop, and everyone waits there while the gate of `at` is closed."""
    callers = [await door.guest(f"Guest {number}") for number in range(3)]
    async with party(door.stack, players=[await door.player(caller) for caller in callers]) as at:
        await at.hold_in_the_middle_of_a_hand()
        # No other table of the session has three seats: a quick seat there finds none.
        full = await open_table(door.client, door.stack, seats=3, name="Full")
        dear = await open_table(door.client, door.stack, 2000, name="Dear")
        for _ in range(3):
            sitter = await door.player(await door.guest("Sitter"))
            await sitter.sit_down(full.table_id, 200)
        yield Room(door, at, {caller.player_id: caller for caller in callers}, full, dear, await door.guest("Ann"))
