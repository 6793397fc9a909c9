"""A player's session at a table, and a watcher's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import grpc

from cardroom.client import errors
from cardroom.client.connection import Connection
from cardroom.client.following import FollowedTable, Update
from cardroom.client.owner import Owner
from cardroom.client.view import seat_of_player
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchRequest, WatchResponse
from cardroom.contracts.spectator.v1.spectator_pb2_grpc import SpectatorServiceStub
from cardroom.contracts.table.v1.table_pb2 import (
    Action,
    ActRequest,
    ActResponse,
    ComeBackRequest,
    ComeBackResponse,
    OwnCards,
    PlayRequest,
    PlayResponse,
    SitOutRequest,
    SitOutResponse,
)
from cardroom.contracts.table.v1.table_pb2_grpc import TableServiceStub
from cardroom.contracts.table.v1.view_pb2 import (
    ACTION_KIND_CALL,
    ACTION_KIND_CHECK,
    ACTION_KIND_FOLD,
    ACTION_KIND_RAISE,
    SeatView,
    TurnToken,
    TurnView,
)


def fold() -> Action:
    """Gives up the hand."""
    return Action(kind=ACTION_KIND_FOLD)


def check() -> Action:
    """Passes, with nothing to call."""
    return Action(kind=ACTION_KIND_CHECK)


def call() -> Action:
    """Matches the wager, or goes all-in for less."""
    return Action(kind=ACTION_KIND_CALL)


def raise_to(total: int) -> Action:
    """Bets or raises to a total for the street (rule 5.1)."""
    return Action(kind=ACTION_KIND_RAISE, amount=total)


class TableSession(FollowedTable[PlayResponse]):
    """A seated player's live table: iterate over it for updates, and act when `turn` is set.

    Iterating ends when the player has left the table.
    """

    def __init__(self, connection: Connection, table_id: str, player_id: str) -> None:
        """Opens nothing yet; iterating does."""
        super().__init__(connection)
        self._table = TableServiceStub(connection.channel)
        self._owner = Owner()
        self._own = OwnCards()
        self._answered: TurnToken | None = None
        self._was_seated = False
        self._answered_version = 0
        self.table_id = table_id
        self.player_id = player_id

    @property
    def seat(self) -> SeatView | None:
        """The player's own seat."""
        return seat_of_player(self.view, self.player_id)

    @property
    def own_cards(self) -> str:
        """The player's hole cards in the view's hand, as text ("AhKd"); empty when not dealt in."""
        return self._own.cards if self._own.hand_number == self.view.hand.hand_number else ""

    @property
    def turn(self) -> TurnView | None:
        """The turn that waits for this player, with what is legal; None while there is none, or once it is answered."""
        if not self.view.hand.HasField("turn"):
            return None
        turn = self.view.hand.turn
        return turn if turn.player_id == self.player_id and turn.token != self._answered else None

    async def act(self, action: Action) -> ActResponse:
        """Takes the player's turn. Returns when the action is committed; repeats itself safely until an answer comes.

        Raises NotYourTurnError where `turn` is None, and otherwise what the server refuses with: LATE_TURN,
        ILLEGAL_ACTION, ILLEGAL_AMOUNT (metadata: `nearest_below`, `nearest_above`), ...
        """
        turn = self.turn
        if turn is None:
            raise errors.NotYourTurnError("NOT_YOUR_TURN", "It is not your turn; wait until the session's turn is set.")
        # A copy: the view may move on while the answer is on its way.
        token = TurnToken(hand_number=turn.token.hand_number, action_number=turn.token.action_number)
        answer = await self._connection.call(
            self._table.Act,
            ActRequest(table_id=self.table_id, turn=token, action=action),
            along=self._owner.metadata,
        )
        self._answered = token
        return answer

    async def sit_out(self) -> SitOutResponse:
        """Sits out from the next hand on (rule 10.1). Held up on its way, a repeat undoes no later `come_back`."""
        request = SitOutRequest(table_id=self.table_id, seen_version=self._seen_version)
        answer = await self._connection.call(self._table.SitOut, request, along=self._owner.metadata)
        self._answered_version = max(self._answered_version, answer.version)
        return answer

    async def come_back(self) -> ComeBackResponse:
        """Plays again after sitting out, by rule 3.4. Held up on its way, a repeat undoes no later `sit_out`."""
        request = ComeBackRequest(table_id=self.table_id, seen_version=self._seen_version)
        answer = await self._connection.call(self._table.ComeBack, request, along=self._owner.metadata)
        self._answered_version = max(self._answered_version, answer.version)
        return answer

    @property
    def _seen_version(self) -> int:
        """The newest version heard of: an answer may be ahead of the stream. 0 before the first of either."""
        return max(self.view.version, self._answered_version)

    async def _open_stream(self) -> grpc.aio.UnaryStreamCall[Any, PlayResponse]:
        request = PlayRequest(table_id=self.table_id)
        return await self._connection.open_stream(self._table.Play, request, along=self._owner.metadata)

    def _sent_away(self) -> None:
        self._owner.forget()

    async def _takes_a_detour(self, call: grpc.aio.UnaryStreamCall[Any, PlayResponse]) -> bool:
        return await self._owner.learn(call)

    def _take(self, message: PlayResponse) -> Update | None:
        content = message.WhichOneof("content")
        if content == "snapshot":
            self._own = message.snapshot.own_cards
            update = self._snapshot(message.version, message.snapshot.view)
        elif content == "change":
            if message.change.HasField("own_cards"):
                self._own = message.change.own_cards
            update = self._change(message.version, message.change.events)
        else:
            return None
        is_seated = self.seat is not None
        self._is_over = self._was_seated and not is_seated
        self._was_seated |= is_seated
        return update

    def _is_the_end(self, error: errors.CardroomError) -> bool:
        return self._was_seated and error.reason == "NOT_SEATED"


class WatchSession(FollowedTable[WatchResponse]):
    """A public table as it was 30 s ago (rule 10.6): iterate over it for updates."""

    def __init__(self, connection: Connection, table_id: str) -> None:
        """Opens nothing yet; iterating does."""
        super().__init__(connection)
        self._spectator = SpectatorServiceStub(connection.channel)
        self.table_id = table_id
        self.occurred_at = datetime.fromtimestamp(0, UTC)
        """When what the view shows was true at the table."""

    async def _open_stream(self) -> grpc.aio.UnaryStreamCall[Any, WatchResponse]:
        return await self._connection.open_stream(self._spectator.Watch, WatchRequest(table_id=self.table_id))

    def _take(self, message: WatchResponse) -> Update | None:
        content = message.WhichOneof("content")
        if content == "snapshot":
            update = self._snapshot(message.version, message.snapshot)
        elif content == "change":
            update = self._change(message.version, message.change.events)
        else:
            return None
        self.occurred_at = message.occurred_at.ToDatetime(UTC)
        return update
