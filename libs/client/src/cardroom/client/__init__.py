"""The Python client of cardroom: players, wallet users, watchers, and bots built on it.

>>> async with Client.connect("localhost:8080") as client:
...     player = await client.sign_in_as_guest("Ann")
...     seating = await player.sit_down((await player.tables())[0].table_id, buy_in=1000)
...     async with player.play(seating.table_id) as table:
...         async for _update in table:
...             if table.turn is not None:
...                 await table.act(check() if table.turn.legal.can_check else fold())

Amounts are whole chips. Tables, views and events are the protobuf messages of `cardroom.contracts`: their comments are
the reference. Everything that fails raises a `CardroomError`.
"""

from cardroom.client.client import Client
from cardroom.client.credentials import SignedIn
from cardroom.client.errors import (
    AbortedError,
    AlreadyExistsError,
    CardroomError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    NotYourTurnError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
)
from cardroom.client.following import Update
from cardroom.client.lobby import ListUpdate, LobbySession
from cardroom.client.player import PlayerClient, new_request_id
from cardroom.client.service import ServiceClient
from cardroom.client.sessions import TableSession, WatchSession, call, check, fold, raise_to
from cardroom.client.transport import Backoff, CallPolicy
from cardroom.client.waiting import WaitingSession, wanted_stakes

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Backoff",
    "CallPolicy",
    "CardroomError",
    "Client",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "ListUpdate",
    "LobbySession",
    "NotFoundError",
    "NotYourTurnError",
    "PermissionDeniedError",
    "PlayerClient",
    "ResourceExhaustedError",
    "ServiceClient",
    "SignedIn",
    "TableSession",
    "UnauthenticatedError",
    "UnavailableError",
    "Update",
    "WaitingSession",
    "WatchSession",
    "call",
    "check",
    "fold",
    "new_request_id",
    "raise_to",
    "wanted_stakes",
]
