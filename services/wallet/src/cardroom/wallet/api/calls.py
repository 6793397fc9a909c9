"""What every handler does: who is calling, refusals as gRPC errors, writes through the poster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar

import grpc

from cardroom.chassis import auth, errors
from cardroom.wallet.api import checks
from cardroom.wallet.domain.commands import Command, Outcome, Spending
from cardroom.wallet.errors import STATUS_OF_REASON, DatabaseAway, PostingFailed, Refused
from cardroom.wallet.posting import Poster, Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    from cardroom.wallet.settings import WalletSettings

P = ParamSpec("P")
R = TypeVar("R")

OPERATOR: Final = "operator"
READ: Final = "wallet.read"
HOLD: Final = "wallet.hold"
TRANSFER: Final = "wallet.transfer"
GRANT: Final = "wallet.grant"
ADJUST: Final = "wallet.adjust"


def translated(error: Exception) -> errors.CardroomError:
    """Return a refusal as the error that the caller gets."""
    if isinstance(error, Refused):
        code = grpc.StatusCode[STATUS_OF_REASON[error.reason]]
        return errors.make(code, error.reason, error.message, error.metadata)
    if isinstance(error, DatabaseAway):
        text = "the database does not answer at the moment, so nobody knows yet what became of it: send the same again"
        return errors.Unavailable("DATABASE_UNAVAILABLE", text)
    text = "other writes kept getting in the way: send the same request again"
    return errors.Aborted("TOO_MUCH_CONTENTION", text)


def answers(handler: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Let a unary handler raise the wallet's own exceptions."""

    async def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await handler(*args, **kwargs)
        except (Refused, PostingFailed) as error:
            raise translated(error) from error

    return answer


def caller_with(*scopes: str) -> auth.Caller:
    """Return the caller. Raises PermissionDenied/SCOPE_MISSING without one of the scopes, or `operator`."""
    caller = auth.caller()
    if OPERATOR not in caller.scopes and caller.scopes.isdisjoint(scopes):
        needed = " or ".join(scopes)
        refuse_scope(needed, caller)
    return caller


def refuse_scope(needed: str, caller: auth.Caller) -> NoReturn:
    """Raise PermissionDenied/SCOPE_MISSING."""
    has = " ".join(sorted(caller.scopes)) or "none"
    text = f"this call needs the scope {needed} (or {OPERATOR}); the token has: {has}"
    raise errors.PermissionDenied("SCOPE_MISSING", text, scope=needed)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one service may move for one purpose, per call and per day; an operator is not limited."""

    purpose: str
    call_max: int
    day_max: int

    def spending(self, caller: auth.Caller, amount: int) -> Spending | None:
        """Return what a call spends. It is judged once it is known to be no repeat: limits may have changed since."""
        return None if OPERATOR in caller.scopes else Spending(self.purpose, amount, self.call_max, self.day_max)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of every purpose."""

    hold: Limit
    transfer: Limit
    grant: Limit

    @classmethod
    def of(cls, settings: WalletSettings) -> Limits:
        """Return the limits that the settings say."""
        return cls(
            Limit("hold", settings.hold_call_max, settings.hold_day_max),
            Limit("transfer", settings.transfer_call_max, settings.transfer_day_max),
            Limit("grant", settings.grant_call_max, settings.grant_day_max),
        )


async def write(
    poster: Poster, request: Any, command: Command, render: Callable[[Outcome], bytes], weight: int = 1
) -> bytes:
    """Post a command under the request's id, and return the reply, committed. A repeat returns the first reply."""
    return await poster.post(
        Request(
            command,
            type(request).__name__,
            checks.request_id(request.request_id),
            request.SerializeToString(deterministic=True),
            render,
            _difference(request),
            weight,
        )
    )


def _difference(request: Message) -> Callable[[str, bytes], str]:
    method = type(request).__name__
    return lambda then_method, then: checks.first_difference(request, method, then_method, then)


class RawReplies:
    """Stands in for a server while generated code adds its handlers: replies that are bytes go out as they are.

    A repeat is then equal to the first reply bit for bit, and no reply is written twice.
    """

    def __init__(self, server: Any) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Ignore them: the same handlers come as registered ones, with their names."""

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Pass them on, with a serializer that lets bytes through."""
        passed = {name: it._replace(response_serializer=_to_bytes) for name, it in handlers.items()}
        self._server.add_registered_method_handlers(service, passed)


def _to_bytes(reply: Any) -> bytes:
    return reply if isinstance(reply, bytes) else bytes(reply.SerializeToString())
